"""Which formats may read a line: those of whose hints one stands on it, and words they need."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence

from .dialect import Dialect
from .digits import outline
from .segments import Segments

SIZE = 3
NUMBER = re.compile(r"\d+")
SHORT = 150  # longer lines are searched hint by hint, which costs less there
LONG = 2000  # the formats of longer lines are not remembered
MOST_KNOWN = 4096


class Candidates:
    """An index of hints by three letters each: a line is cut once and not searched often."""

    def __init__(self, dialects: Sequence[Dialect]) -> None:
        self._dialects = dialects
        self._hints = [(hint, order) for order, d in enumerate(dialects) for hint in d.hints]
        self._counted = [(hint, order) for hint, order in self._hints if NUMBER.search(hint)]
        told = ((hint, NUMBER.sub("0", hint), order) for hint, order in self._counted)
        self._any_number = [(zero, order) for hint, zero, order in told if zero != hint]
        self._known: dict[str, list[int]] = {}  # formats by line, with every digit a zero
        parts = [(hint, order, _parts(hint)) for hint, order in self._hints]
        common = Counter(part for _, _, own in parts for part in own)
        self._always = [(hint, order) for hint, order, own in parts if not own]
        self._words = [_words(dialect) for dialect in dialects]
        self._index: dict[str, list[tuple[str, int]]] = {}
        for hint, order, own in parts:
            if own:
                rarest = min(own, key=lambda part: (common[part], part))
                self._index.setdefault(rarest, []).append((hint, order))

    def of(self, text: str) -> list[int]:
        """The places of the formats in the order of trying."""
        if len(text) > LONG:
            return self._among(text)
        # Lines that differ in their digits alone have the same formats, but for hints with digits.
        plain = outline(text)
        found = self._known.get(plain)
        if found is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            found = self._known[plain] = self._among(plain)
        counted = [order for hint, order in self._counted if hint in text]
        return sorted({*found, *counted}) if counted else found

    def _among(self, text: str) -> list[int]:
        if len(text) > SHORT:
            found = {order for hint, order in self._hints if hint in text}
        else:
            found = {order for hint, order in self._always if hint in text}
            for part in self._index.keys() & _parts(text):
                found.update(order for hint, order in self._index[part] if hint in text)
        return sorted(order for order in found if self._has_words(text, order))

    def _has_words(self, text: str, order: int) -> bool:
        return all(any(word in text for word in group) for group in self._words[order])

    def only(self, text: str, dialect: Dialect) -> bool:
        """Whether no other format outside of blocks may read a line, whatever its numbers are."""
        plain = NUMBER.sub("0", text)
        for hint, order in self._any_number:
            if hint in plain and self._dialects[order].within is None:
                return False
        own = [self._dialects[order] for order in self.of(text)]
        return [other for other in own if other.within is None] == [dialect]


@functools.lru_cache(maxsize=4)
def candidates_of(dialects: tuple[Dialect, ...]) -> Candidates:
    """The index of these formats."""
    return Candidates(dialects)


def _words(dialect: Dialect) -> list[frozenset[str]]:
    """Groups of words of which one each stands on every line, whatever its numbers are."""
    reader = dialect.reader
    groups = reader.requires if isinstance(reader, Segments) else ()
    return [group for group in groups if not any(NUMBER.search(word) for word in group)]


def _parts(text: str) -> set[str]:
    return {text[start : start + SIZE] for start in range(len(text) - SIZE + 1)}
