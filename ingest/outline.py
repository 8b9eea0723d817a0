"""Lines that differ in their digits only are looked at once.

What a line that tells of no step is (text, a rule, noise of a library) hangs on its words and not
on its digits. The outline of a line is the line with every digit a zero.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from .candidates import Candidates
from .dialect import Dialect
from .finder import Finder
from .lines import BOM, PIECE_LIMIT, peel
from .log import RULE
from .measuring import METRIC_WORDS, measures
from .pattern import Pattern

ZEROS = bytes(ord("0") if chr(byte).isdigit() and byte < 128 else byte for byte in range(256))
# Lines that may be more than text of no format: of a table, wrapped, redrawn, coloured, damaged.
ODD = ("|", "iteration", "\r", "\x1b", "\0", "\x1c", "\x1d", "\x1e", "\x1f", "\u017f", "\u212a")
# How what launchers put in front of a line may end: such a line may be blank behind it.
PREFIX_END = r"(?:[:\]>]|/\d+| - [A-Z]+)$"
# The only digits that a prefix wants are those of a year.
YEAR, YEARS = "0000-", ("0000-", "2000-")
MOST_YEARS = 3
MOST_LETTERS = 16 << 20  # of outlines that are remembered
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Look:
    """What a line of an outline is."""

    careful: bool = False  # to be read line by line
    known: bool = False  # carries nothing
    text: bool = True  # is not blank
    measures: bool = False  # looks like a measurement
    formats: frozenset[str] = frozenset()  # that read it, and state nothing


CAREFUL = Look(careful=True)


def wants_digits(pattern: str) -> bool:
    """Whether a regular expression may tell one digit from another."""
    return re.search(r"\d|\(\?P=", re.sub(r"\{\d*,?\d*\}|0-9", "", pattern)) is not None


class Outlines:
    """What the lines of a log are, by outline; `looks` lists them, codes are places in it."""

    def __init__(self, formats: Sequence[Dialect]) -> None:
        outside = [dialect for dialect in formats if dialect.within is None]
        self._formats = formats
        self._finder, self._candidates = Finder(formats), Candidates(formats)
        hints = {hint for dialect in outside for hint in dialect.hints}
        self._hints = sorted({_outline(hint) for hint in hints}.union(ODD))
        self._counted = [_outline(hint) for hint in hints if _outline(hint) != hint]
        self.looks: list[Look] = []
        self._places: dict[Look, int] = {}
        self._known: dict[str, int] = {}
        self._letters = 0

    def codes(self, outlines: pl.Series) -> Codes:
        """The code of each line of a block."""
        encoded = outlines.to_arrow().dictionary_encode()
        distinct = encoded.dictionary.to_pylist()
        if self._letters > MOST_LETTERS:
            self._known.clear()
            self._letters = 0
        new = [outline for outline in distinct if outline not in self._known]
        if new:
            self._known.update(zip(new, self._looked_at(new), strict=True))
            self._letters += sum(map(len, new))
        known = [self._known[outline] for outline in distinct]
        codes: Codes = np.array(known, dtype=np.int64)[encoded.indices.to_numpy()]
        return codes

    def careful(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Which lines have to be read line by line."""
        return np.array([look.careful for look in self.looks], dtype=bool)[codes]

    def _looked_at(self, outlines: list[str]) -> list[int]:
        lines = pl.Series("line", outlines, pl.String)
        hot = lines.str.contains_any(self._hints).to_list()
        odd = lines.str.contains_any(list(ODD))
        odd |= lines.str.len_bytes() >= PIECE_LIMIT - len(BOM)
        rest = lines.str.strip_chars("".join(RULE))
        rules, prefixed = (rest == "").to_list(), rest.str.contains(PREFIX_END).to_list()
        blank = (lines.str.strip_chars() == "").to_list()
        metric = lines.str.contains_any(list(METRIC_WORDS), ascii_case_insensitive=True).to_list()
        found = []
        for place, is_odd in enumerate(odd.to_list()):
            if is_odd:
                look = CAREFUL
            elif hot[place] or prefixed[place] or metric[place]:
                look = self._any_year(outlines[place])
            else:
                look = Look(known=rules[place], text=not blank[place])
            found.append(self._code(look))
        return found

    def _code(self, look: Look) -> int:
        if look not in self._places:
            self._places[look] = len(self.looks)
            self.looks.append(look)
        return self._places[look]

    def _any_year(self, outline: str) -> Look:
        """What lines of an outline are, where that is the same for all of them."""
        looks = {self._look(text) for text in _with_years(outline)}
        return looks.pop() if len(looks) == 1 else CAREFUL

    def _look(self, outline: str) -> Look:
        _, text = peel(outline)
        if any(hint in text for hint in self._counted):
            return CAREFUL
        tried = (self._formats[order] for order in self._candidates.of(text))
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
            return Look(formats=frozenset(formats))
        known = RULE.issuperset(text)
        return Look(False, known, bool(outline.strip()), not known and measures(text))


def _outline(text: str) -> str:
    return text.encode().translate(ZEROS).decode()


def _with_years(outline: str) -> Iterator[str]:
    parts = outline.split(YEAR)
    if len(parts) > MOST_YEARS + 1:
        return
    for years in itertools.product(YEARS, repeat=len(parts) - 1):
        yield parts[0] + "".join(map("".join, zip(years, parts[1:], strict=True)))


def _tells_digits(dialect: Dialect) -> bool:
    reader = dialect.reader
    return not isinstance(reader, Pattern) or wants_digits(reader.pattern.pattern)
