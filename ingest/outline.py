"""Lines that differ in their digits only are looked at once.

What a line that tells of no step is (text, a rule, noise of a library) hangs on its words and not
on its digits. The outline of a line is the line with every digit a zero.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np

from .arrays import Marks, Whole
from .candidates import candidates_of
from .dialect import Dialect
from .digits import outline
from .finder import Finder
from .lines import BOM, PIECE_LIMIT, peel
from .log import RULE
from .measuring import METRIC_WORDS, measures
from .pattern import Pattern

# Lines that may be more than text of no format: of a table, wrapped, redrawn, coloured, damaged,
# with what Python takes for blanks, and with letters that are an s or a k where case is no matter.
ODD = ("|", "iteration", "\r", "\x1b", "\0", "\x1c", "\x1d", "\x1e", "\x1f", "\u017f", "\u212a")
# How what launchers put in front of a line may end: such a line may be blank behind it.
PREFIX_END = (
    r"(?:[:\]>]|/\d+|:\d+(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?| std(?:out|err) [FP]|=[\d.]+\)"
    r"| - [\w.]+| \[?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL))$"
)
# The only digits that a prefix wants are those of a year.
# Of a pattern: how often a part may stand, and what one letter may be.
COUNT, CLASS = re.compile(r"\{\d*,?\d*\}"), re.compile(r"(?<!\\)\[[^\]]*\]")
YEAR, YEARS = "0000-", ("0000-", "2000-")
MOST_YEARS = 3
LONG = PIECE_LIMIT - len(BOM)  # bytes of a line that is read in pieces
FEW_OUTLINES = 256  # outlines that are looked at one by one
MOST_LETTERS = 16 << 20  # of outlines that are remembered


@dataclass(frozen=True, slots=True)
class LineKind:
    """What a line of an outline is."""

    careful: bool = False  # to be read line by line
    known: bool = False  # carries nothing
    text: bool = True  # is not blank
    measures: bool = False  # looks like a measurement
    formats: frozenset[str] = frozenset()  # that read it, and state nothing


CAREFUL = LineKind(careful=True)


def wants_digits(pattern: str) -> bool:
    """Whether a regular expression may tell one digit from another."""
    plain = CLASS.sub(lambda found: found[0].replace("0-9", ""), COUNT.sub("", pattern))
    return re.search(r"\d|\(\?P=|\\N", plain) is not None


class Outlines:
    """What the lines of a log are, by outline; `kinds` lists them, codes are places in it."""

    def __init__(self, formats: Sequence[Dialect]) -> None:
        outside = [dialect for dialect in formats if dialect.within is None]
        self._formats = formats
        self._finder, self.candidates = Finder(formats), candidates_of(tuple(formats))
        hints = {hint for dialect in outside for hint in dialect.hints}
        self._hints = sorted({outline(hint) for hint in hints})
        self._counted = [outline(hint) for hint in hints if outline(hint) != hint]
        self.kinds: list[LineKind] = []
        self._places: dict[LineKind, int] = {}
        self._known: dict[str, int] = {}
        self._letters = 0
        self._lock = Lock()  # several blocks are looked at side by side

    def codes(self, distinct: list[str]) -> Whole:
        """The codes of some outlines."""
        with self._lock:
            return np.array(self._codes(distinct), dtype=np.int64)

    def _codes(self, distinct: list[str]) -> list[int]:
        if self._letters > MOST_LETTERS:
            self._known.clear()
            self._letters = 0
        new = [outline for outline in distinct if outline not in self._known]
        if new:
            self._known.update(zip(new, self._looked_at(new), strict=True))
            self._letters += sum(map(len, new))
        return [self._known[outline] for outline in distinct]

    def careful(self, codes: Whole) -> Marks:
        """Which lines have to be read line by line."""
        return np.array([kind.careful for kind in self.kinds], dtype=bool)[codes]

    def _looked_at(self, outlines: list[str]) -> list[int]:
        if len(outlines) > FEW_OUTLINES:
            return [self._code(kind) for kind in self._sifted(outlines)]
        return [self._code(self._kind_with_care(text)) for text in outlines]

    def _kind_with_care(self, outline: str) -> LineKind:
        odd = any(word in outline for word in ODD) or len(outline.encode()) >= LONG
        return CAREFUL if odd else self._any_year(outline)

    def _sifted(self, outlines: list[str]) -> Iterator[LineKind]:
        """The same of many: those that may be of a format are found all at once."""
        import polars as pl

        line = pl.col("line")
        rest = line.str.strip_chars("".join(RULE))
        hot = (
            line.str.contains_any([*self._hints, *ODD])
            | (line.str.len_bytes() >= LONG)
            | rest.str.contains(PREFIX_END)
            | line.str.contains_any(list(METRIC_WORDS), ascii_case_insensitive=True)
        )
        table = pl.DataFrame({"line": outlines}, schema={"line": pl.String})
        told = table.select(hot.alias("hot"), known=rest == "", text=line.str.strip_chars() != "")
        for text, (is_hot, is_known, is_text) in zip(outlines, told.iter_rows(), strict=True):
            if is_hot:
                yield self._kind_with_care(text)
            else:
                yield LineKind(known=is_known, text=is_text)

    def _code(self, kind: LineKind) -> int:
        if kind not in self._places:
            self._places[kind] = len(self.kinds)
            self.kinds.append(kind)
        return self._places[kind]

    def _any_year(self, outline: str) -> LineKind:
        """What lines of an outline are, where that is the same for all of them."""
        kinds = {self._kind(text) for text in _with_years(outline)}
        return kinds.pop() if len(kinds) == 1 else CAREFUL

    def _kind(self, outline: str) -> LineKind:
        _, text = peel(outline)
        if any(hint in text for hint in self._counted):
            return CAREFUL
        tried = (self._formats[order] for order in self.candidates.of(text))
        if any(_tells_digits(dialect) for dialect in tried if dialect.within is None):
            return CAREFUL
        formats = set()
        for dialect, _ in self._finder.records(text, lambda: None):
            if dialect.reads != "noise":
                return CAREFUL
            formats.add(dialect.name)
        if self._finder.left_over:
            return CAREFUL
        if formats:
            return LineKind(formats=frozenset(formats))
        known = RULE.issuperset(text)
        return LineKind(False, known, bool(outline.strip()), not known and measures(text))


@functools.lru_cache(maxsize=4)
def outlines_of(formats: tuple[Dialect, ...]) -> Outlines:
    """What lines are to these formats; logs have many outlines in common."""
    return Outlines(formats)


def _with_years(outline: str) -> Iterator[str]:
    parts = outline.split(YEAR)
    if len(parts) > MOST_YEARS + 1:
        return
    for years in itertools.product(YEARS, repeat=len(parts) - 1):
        yield parts[0] + "".join(map("".join, zip(years, parts[1:], strict=True)))


def _tells_digits(dialect: Dialect) -> bool:
    reader = dialect.reader
    return not isinstance(reader, Pattern) or wants_digits(reader.pattern.pattern)
