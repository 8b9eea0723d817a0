"""The grammar of table cells: raw text -> kind, value, unit, marks, words; without repairs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from .cell import Cell, of_text
from .cell_numbers import measure
from .cell_pieces import Piece
from .cell_units import ANY_UNIT
from .cell_words import LINK, flag, label, notes
from .headings import LONGEST, Column

_NOT = r"not (?:supported|runnable|available|applicable|measured|reported)|unsupported"
_MISSING = re.compile(
    rf"^(?:(-+|–|—|x+|n/?a|none|null|nil|tbd|todo|{_NOT}|\?+|\.{{2,3}}|…)(\s*))?({ANY_UNIT})?$",
    re.I,
)
_IN_WORDS = ("text", "notes")  # types of column
_COUNTED = ("result", "topology", "batch")  # roles of columns
_MOST_LAYERS = 3  # of emphasis or links around a cell: ***`1.5`***
_WRAP = re.compile(r"^(\*\*|__|~~|`|\*|_)(?=\S)(.+?)(?<=\S)\1$", re.S)
_REPLACED = re.compile(r"~~[^~]{1,60}~~\s{0,4}(?:(?:→|->|=>)\s{0,4})?(?=\S)")
_BOLD_FIRST = re.compile(
    r"\*\*(?P<bold>[^*\s][^*]{0,30})\*\*(?P<rest>[^*]{1,80}|\s{0,3}\*\([^()*\d]{1,40}\)\*)"
)
STRUCK = "struck out"  # why such a cell has no value
_REMEMBERED = 1 << 14  # cells: topology, batch and labels repeat in every row of a sweep
_LARGEST = 1e30  # of any number printed; the FLOPs of a training have 26 digits


@lru_cache(_REMEMBERED)
def parse_cell(raw: str, column: Column | None) -> Cell:
    """Parse one cell by its column's grammar; an invalid cell is kept with the reason."""
    if column is None:
        return of_text(raw)
    if len(raw) > LONGEST:
        cell = of_text(raw)
        invalid = None if column.type in _IN_WORDS else f"too long under {column.title}"
        return replace(cell, kind="misfit", invalid=invalid) if invalid else cell
    inner = raw
    opened: list[Piece] = []
    closed: list[Piece] = []
    while len(opened) < _MOST_LAYERS and (layer := _layer(inner, column)):
        opened.append(["gap", layer[0]])
        inner = layer[1]
        closed.insert(0, ["gap", layer[2]])
    cell = _begun(inner, column) or _parse(inner, column)
    if ["gap", "~~"] in opened:
        cell = replace(cell, kind="misfit", invalid=STRUCK)
    if not opened:
        return cell
    return replace(cell, raw=raw, pieces=(*opened, *cell.pieces, *closed))


def _begun(raw: str, column: Column) -> Cell | None:
    """A number in bold with words behind it: `**35.9 GB** of 40`, `**4** *(default)*`."""
    found = _BOLD_FIRST.fullmatch(raw) if column.role in _COUNTED else None
    if found is None:
        return None
    whole = _parse(found["bold"] + found["rest"].replace("*", ""), column)
    number = _parse(found["bold"], column)
    if whole.kind not in ("number", "settings") or whole.invalid:
        return None
    sign: Piece = ["gap", "**"]
    return replace(whole, raw=raw, pieces=(sign, *number.pieces, sign, ["word", found["rest"]]))


def _layer(text: str, column: Column) -> tuple[str, str, str] | None:
    """The opening and closing of an emphasis or a link around a whole cell, and its content.

    What is struck out before another value opens it: `~~1.2~~ 1.1`.
    """
    if was := _REPLACED.match(text):
        return was[0], text[was.end() :], ""
    found = _WRAP.match(text)
    # `**8** / **16**` is wrapped twice, not as a whole.
    if found and (found[1][0] == "_" or found[1] not in found[2].strip(found[1])):
        return found[1], found[2], found[1]
    found = LINK.match(text) if column.type != "notes" else None
    return (found[1], found[2], found[3]) if found else None


def _parse(raw: str, column: Column) -> Cell:
    missing = _MISSING.match(raw)
    if missing and column.type not in ("text", "label", "flag"):
        return _missing(raw, missing)
    cell = _GRAMMARS.get(column.type, measure)(raw, column)
    if _is_measurable(cell):
        return cell
    return replace(of_text(raw), kind="misfit", invalid=f"too large under {column.title}")


def _is_measurable(cell: Cell) -> bool:
    """Whether formulas can compute with the numbers of a cell: `1e308B` is none."""
    pieces = [piece[1] for piece in cell.pieces if piece[0] == "number"]
    return all(abs(n) < _LARGEST for n in (cell.value, cell.half, *pieces) if n is not None)


def _missing(raw: str, match: re.Match[str]) -> Cell:
    pieces: list[Piece] = []
    if match[1]:
        pieces += [["missing", match[1]], ["gap", match[2]]]
    if match[3]:
        pieces.append(["unit", match[3]])
    return Cell(raw, "missing", unit=match[3], pieces=tuple(pieces))


_GRAMMARS: dict[str, Callable[[str, Column], Cell]] = {
    "label": label,
    "flag": flag,
    "notes": notes,
    "text": lambda raw, column: of_text(raw),
}
