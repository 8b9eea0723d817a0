"""The shape of the lines of a mask: unknown text, noise, records, or numbers at known places."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...vocabulary.measurement_lines import METRIC_WORDS, measures
from .blocks import Whole
from .dialect import Dialect
from .finder import Finder, candidates_of
from .line_layouts import ArgumentLayout, StepLayout, TimerLayout, layout_of
from .lines import BOM, PIECE_LIMIT, RULE, peel
from .masks import is_digit_blind, mask_digits, may_read

# Lines that are redrawn, coloured or damaged, with what Python takes for blanks, or with letters
# that are an s or a k where case does not matter: their text is not where it seems.
ODD = ("\r", "\x1b", "\0", "\x1c", "\x1d", "\x1e", "\x1f", "\u017f", "\u212a")
# Text of no format that may still be part of a record, which a page or terminal has broken in two.
WRAPPED = ("|", "iteration", "': ", "  loss:", "  grad_norm:", "  tps:", "  mfu:")
# How what launchers put in front of a line may end: the rest of such a line may be empty.
PREFIX_END = (
    r"(?:[:\]>]|/\d+|:\d+(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?| std(?:out|err) [FP]|=[\d.]+\)"
    r"| - \S+| \[?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL))[-=*_#~+ \t]*$"
)
# The only digits that the pattern of a prefix distinguishes are those of a year.
YEAR, YEARS = "0000-", ("0000-", "2000-")
MOST_YEARS = 3
LONG = PIECE_LIMIT - len(BOM)  # bytes of a line that is read in pieces
FEW_MASKS = 64  # that are matched one by one
MOST_LETTERS = 16 << 20  # of masks that are remembered
# Records that read the newest step and leave it as it is: the steps around such a line can be
# read together. Records that change the state of a run (a failure, an end, arguments) are not.
NEUTRAL = frozenset(("memory", "timers", "noise", "env", "command", "event", "evaluation",
                     "measurement"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class LineShape:
    """The shape of the lines of a mask."""

    needs_reader: bool = False  # they have values, and are read one by one
    neutral: bool = False  # that leaves the steps around them as they are
    layout: StepLayout | TimerLayout | ArgumentLayout | None = None  # values at known places
    known: bool = False  # they carry nothing
    text: bool = True  # they are not blank
    measures: bool = False  # they look like a measurement
    formats: frozenset[str] = frozenset()  # that read them, without values


BY_LINE = LineShape(needs_reader=True)


class Shapes:
    """The shapes of masks; `known` lists them, codes are places in it.

    Within a block that a line of `block` has opened, lines are what its formats make of them too.
    """

    def __init__(self, formats: Sequence[Dialect], block: Dialect | None = None) -> None:
        self._formats = formats
        self._opened = block.opens if block else None
        self._quiet = block is not None and block.quiet
        self._finder, self._candidates = Finder(formats), candidates_of(tuple(formats))
        hints = {hint for one in formats if self._in_force(one) for hint in one.hints}
        words = sorted({*map(mask_digits, hints), *ODD, *WRAPPED})
        # A line without a match has no record, and does not matter otherwise (RE2).
        self._hot = "|".join(map(re.escape, words)) + f"|{PREFIX_END}|(?i:{'|'.join(METRIC_WORDS)})"
        self.known: list[LineShape] = []
        self._places: dict[LineShape, int] = {}
        self._codes: dict[str, int] = {}
        self._letters = 0
        self._inner: dict[Dialect, Shapes] = {}
        self._lock = Lock()  # several blocks are scanned at once

    def _in_force(self, dialect: Dialect) -> bool:
        return dialect.within in (None, self._opened)

    def within(self, block: Dialect) -> Shapes:
        """The shapes within a block."""
        if block not in self._inner:
            self._inner[block] = Shapes(self._formats, block)
        return self._inner[block]

    def shape(self, mask: str) -> LineShape:
        """The shape of one mask."""
        code = self._codes.get(mask)
        return self.known[int(self.codes([mask])[0]) if code is None else code]

    def codes(self, masks: list[str]) -> Whole:
        """The codes of some masks."""
        with self._lock:
            if self._letters > MOST_LETTERS:
                self._codes.clear()
                self._letters = 0
            new = [mask for mask in masks if mask not in self._codes]
            # A mask that was forgotten gets its old code again: shapes are never forgotten.
            if new:
                self._codes.update(zip(new, map(self._code, self._of(new)), strict=True))
                self._letters += sum(map(len, new))
            return np.array([self._codes[mask] for mask in masks], dtype=np.int64)

    def _code(self, shape: LineShape) -> int:
        if shape not in self._places:
            self._places[shape] = len(self.known)
            self.known.append(shape)
        return self._places[shape]

    def _of(self, masks: list[str]) -> Iterator[LineShape]:
        """The shapes of some masks; of many, most are text that is found to be so at once."""
        if len(masks) <= FEW_MASKS:
            return map(self._of_one, masks)
        found = pc.match_substring_regex(pa.array(masks), self._hot).to_pylist()
        return (
            self._of_one(mask) if is_hot or 4 * len(mask) >= LONG else self._of_text(mask)
            for mask, is_hot in zip(masks, found, strict=True)
        )

    def _of_text(self, text: str, is_hot: bool = False) -> LineShape:
        """The shape of a line without a record."""
        known = self._quiet or RULE.issuperset(text)
        measuring = is_hot and not known and measures(text)
        return LineShape(known=known, text=bool(text.strip()), measures=measuring)

    def _of_one(self, mask: str) -> LineShape:
        """The shape of a mask, where all of its lines have the same."""
        if any(word in mask for word in ODD) or len(mask.encode()) >= LONG:
            return BY_LINE
        # The pattern of a prefix needs its year, which a mask has lost: both cases have to agree.
        shapes = {self._of_year(text) for text in _with_years(mask)}
        shape = shapes.pop() if len(shapes) == 1 else BY_LINE
        return (
            BY_LINE if not shape.needs_reader and any(word in mask for word in WRAPPED) else shape
        )

    def _of_year(self, mask: str) -> LineShape:
        _, text = peel(mask)
        tried = (self._formats[order] for order in self._candidates.of(text))
        sighted = [one for one in tried if self._in_force(one) and not is_digit_blind(one)]
        if self._candidates.may_have_digit_hints(text) or any(
            may_read(one, text) for one in sighted
        ):
            return BY_LINE
        found = list(self._finder.records(text, lambda: self._opened))
        dialects = [dialect for dialect, _ in found]
        if self._finder.left_over:
            return BY_LINE
        if not found:
            return self._of_text(text, is_hot=True)
        [(dialect, record), *others] = found
        whole = not (others or record.before.strip() or record.after.strip())
        if sighted and not whole:
            return BY_LINE  # they may read what is left of some lines
        if all(one.reads == "noise" and not record.fields for one, record in found):
            return LineShape(formats=frozenset(dialect.name for dialect in dialects))
        layout = layout_of(dialect, mask) if whole else None
        return LineShape(needs_reader=True, neutral=all(map(_is_neutral, dialects)), layout=layout)


def _is_neutral(dialect: Dialect) -> bool:
    return dialect.reads in NEUTRAL and not dialect.starts_run


@functools.lru_cache(maxsize=4)
def shapes_of(formats: tuple[Dialect, ...]) -> Shapes:
    """The shapes of lines to these formats; logs have many masks in common."""
    return Shapes(formats)


def _with_years(mask: str) -> Iterator[str]:
    parts = mask.split(YEAR)
    if len(parts) > MOST_YEARS + 1:
        return
    for years in itertools.product(YEARS, repeat=len(parts) - 1):
        yield parts[0] + "".join(map("".join, zip(years, parts[1:], strict=True)))
