"""A parsed cell of a table."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from .cell_pieces import Piece, format_pieces
from .settings import Setting

# `42,5` and `1.234,56`: a number in another notation, no remark.
_DECIMAL_COMMA = re.compile(r"\d{1,3}(?:\.\d{3}){0,4},\d{1,2}|\d{1,9},(?:\d{1,2}|\d{4,9})")
# A batch of millions is in tokens.
_IN_TOKENS = re.compile(r"^[\d.,]++\s*+(?:[MBT]\b|[KMG]i\b|(?:[kKMB]\s*+)?tok)")


@dataclass(frozen=True, slots=True)
class Cell:
    """A parsed cell; `value` is in the unit printed, `half` is half its last printed digit."""

    raw: str
    kind: str
    value: float | None = None
    decimals: int | None = None
    half: float | None = None
    unit: str | None = None
    text: str | None = None
    marks: tuple[str, ...] = ()
    invalid: str | None = None
    settings: tuple[Setting, ...] = ()
    pieces: tuple[Piece, ...] = field(default=())

    def rebuilt(self) -> str | None:
        """The cell's text formatted from its typed pieces; None if that differs from the
        original."""
        text = format_pieces(self.pieces)
        return text if text == self.raw else None


def of_text(raw: str) -> Cell:
    """A cell with unparsed text, or an empty one."""
    return Cell(
        raw, "text" if raw else "missing", text=raw or None, pieces=(["word", raw],) if raw else ()
    )


def in_words(cell: Cell) -> bool:
    """Whether a cell under a heading of numbers has words instead: `auto`, `>32`, `67.7+73.1`."""
    if _DECIMAL_COMMA.fullmatch(cell.raw.strip("*` ")):
        return False
    return (cell.invalid or "").startswith(("no number under", "more than a number under"))


def as_words(cell: Cell) -> Cell:
    """Such a cell as a remark of its row: none of its numbers is used."""
    return replace(cell, kind="words", invalid=None, value=None, half=None, text=cell.raw)


def in_tokens(cell: Cell) -> bool:
    """Whether a cell under a batch counts tokens: `4M`, `2048 tokens`."""
    return bool(_IN_TOKENS.match(cell.raw))
