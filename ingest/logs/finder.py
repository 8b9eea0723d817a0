"""All records on a line, of any format: its remaining pieces are searched until none is found.

The candidates are the formats with a hint on the line, and with their required keys.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from .dialect import Dialect
from .masks import is_digit_blind, mask_digits, may_read
from .record import Record
from .segments import Segments

TRIGRAM = 3  # letters of the parts that hints are indexed by
NUMBER = re.compile(r"\d+")
STEP_KEYS = frozenset(("iteration", "samples"))  # a step has its number, or what it has consumed
INDEXED = 1 << 16  # letters: the parts of 1 MB of any take 50 MB
LONG = 2000  # the formats of longer lines are not remembered
MOST_KNOWN = 4096
# Lines of many processes may be glued together; more records on a line are reported, not read.
MOST_RECORDS = 1024
MOST_LETTERS = 16 << 20  # searched in all pieces of a line
NONE: Final[frozenset[int]] = frozenset()
_UNKNOWN: Final = object()


class MaskReaders(dict[tuple[str | None, str], Dialect | None]):
    """By open block and mask: the one format that reads such lines, None if no format does."""

    def keep(self, key: tuple[str | None, str], reader: Dialect | None) -> None:
        """Remember the reader of a mask; a full memory begins anew."""
        if len(self) >= MOST_KNOWN:
            self.clear()
        self[key] = reader


@functools.lru_cache(maxsize=4)
def mask_readers_of(formats: tuple[Dialect, ...]) -> MaskReaders:
    """The readers of masks by these formats, which all logs of a process learn and share."""
    return MaskReaders()


class Finder:
    """Finds records of some formats; `left_over`: the number found on a line that has still more.

    Most lines repeat a mask. Where one format alone reads the lines of a mask, or none does, the
    next lines of the mask are given to it at once, and no other format is tried.
    """

    def __init__(self, formats: Sequence[Dialect], readers: MaskReaders | None = None) -> None:
        self._formats = formats
        self._candidates = candidates_of(tuple(formats))
        self._readers = mask_readers_of(tuple(formats)) if readers is None else readers
        self._unusable = False
        self.left_over = 0

    def records(
        self, text: str, block: Callable[[], str | None]
    ) -> Iterable[tuple[Dialect, Record]]:
        """The records of a line; `block` returns the open block, which a record may change."""
        self.left_over = 0
        # Long lines hardly repeat, and their masks would fill the memory.
        if len(text) > LONG:
            return self._search(text, self._candidates.of(text), block)
        key = block(), mask_digits(text)
        only = self._readers.get(key, _UNKNOWN)
        if only is None:  # no format reads such a line
            return ()
        if isinstance(only, Dialect):
            record = only.read(text)
            if record is not None and _usable(record):
                return ((only, record),)
        candidates = self._candidates.of_mask(text, key[1])
        return self._search(text, candidates, block, key)

    def _search(
        self,
        text: str,
        candidates: list[int],
        block: Callable[[], str | None],
        key: tuple[str | None, str] | None = None,
    ) -> Iterator[tuple[Dialect, Record]]:
        # Pieces of the line have no hint that the line has not.
        # A format that fails on a piece can read a part of it only where it was cut.
        waiting: list[tuple[str, frozenset[int]]] = [(text, NONE)] if candidates else []
        dialects: list[Dialect] = []
        self._unusable = False
        letters = max(MOST_LETTERS, 2 * len(text))
        parts = False
        while waiting and len(dialects) < MOST_RECORDS and letters > 0:
            piece, failed = waiting.pop()
            tried: set[int] = set()
            first = self._first(piece, candidates, block(), failed, tried)
            letters -= len(piece) if first is None or tried - failed else LONG
            if first is None:
                continue
            dialects.append(first[0])
            yield first
            dialect, record = first
            if not dialect.exclusive:
                rests = [rest for rest in (record.after, record.before) if rest.strip()]
                waiting += [(rest, failed | tried) for rest in rests]
                parts = parts or bool(rests)
        self.left_over = len(dialects) if waiting else 0
        if key is not None and self._same_for_all(key[1], candidates, dialects, parts):
            self._readers.keep(key, dialects[0] if dialects else None)

    def _same_for_all(
        self, mask: str, candidates: list[int], dialects: list[Dialect], parts: bool
    ) -> bool:
        """Whether all lines of a mask are read like this one, of which `parts` were searched."""
        if (
            len(dialects) > 1
            or self.left_over
            or self._unusable
            or self._candidates.may_have_digit_hints(mask)
        ):
            return False
        # A record that opens a block, in a run, decides which formats may read the rest of a line.
        opens = any(dialect.reads == "block" for dialect in dialects)
        tried = [self._formats[order] for order in candidates]
        blind = all(is_digit_blind(one) or not (parts or may_read(one, mask)) for one in tried)
        return blind and not opens

    def _first(
        self,
        text: str,
        candidates: Iterable[int],
        block: str | None,
        failed: frozenset[int],
        tried: set[int],
    ) -> tuple[Dialect, Record] | None:
        """The first record; `tried` gets the formats that read nothing of the text."""
        for order in candidates:
            dialect = self._formats[order]
            if dialect.within is None or dialect.within == block:
                record = (_at_ends if order in failed else Dialect.read)(dialect, text)
                if record is None or not record.raw:
                    tried.add(order)
                elif _usable(record):
                    return dialect, record
                else:
                    self._unusable = True  # other numbers on such a line may make it a step
        return None


class Candidates:
    """An index of hints by three letters each: a line is cut once and not searched often."""

    def __init__(self, dialects: Sequence[Dialect]) -> None:
        self._hints = [(hint, order) for order, d in enumerate(dialects) for hint in d.hints]
        self._hints_with_digits = [
            (h, mask_digits(h), order) for h, order in self._hints if NUMBER.search(h)
        ]
        # By mask: the formats of its lines, and the hints with digits that may be on them.
        self._known: dict[str, tuple[list[int], list[tuple[str, int]]]] = {}
        parts = [(hint, order, _parts(hint)) for hint, order in self._hints]
        common = Counter(part for _, _, own in parts for part in own)
        self._always = [(hint, order) for hint, order, own in parts if not own]
        self._dialects = dialects
        self._index: dict[str, list[tuple[str, int]]] = {}
        for hint, order, own in parts:
            if own:
                rarest = min(own, key=lambda part: (common[part], part))
                self._index.setdefault(rarest, []).append((hint, order))

    def of(self, text: str) -> list[int]:
        """The places of the formats in the order of trying."""
        if len(text) > LONG:
            return self._among(text)
        return self.of_mask(text, mask_digits(text))

    def of_mask(self, text: str, mask: str) -> list[int]:
        """The same of a text with its mask."""
        # Lines of one mask have the same formats, but for hints with digits.
        known = self._known.get(mask)
        if known is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            counted = [(h, order) for h, masked, order in self._hints_with_digits if masked in mask]
            known = self._known[mask] = self._among(mask), counted
        found, counted = known
        others = [order for hint, order in counted if hint in text]
        return sorted({*found, *others}) if others else found

    def may_have_digit_hints(self, mask: str) -> bool:
        """Whether a line of a known mask may have a hint with digits."""
        return bool(self._known.get(mask, ((), True))[1])

    def _among(self, text: str) -> list[int]:
        if len(text) > INDEXED:
            found = {order for hint, order in self._hints if hint in text}
        else:
            found = {order for hint, order in self._always if hint in text}
            for part in self._index.keys() & _parts(text):
                found.update(order for hint, order in self._index[part] if hint in text)
        return sorted(order for order in found if self._has_words(text, order))

    def _has_words(self, text: str, order: int) -> bool:
        return all(any(word in text for word in group) for group in words_of(self._dialects[order]))


@functools.lru_cache(maxsize=4)
def candidates_of(dialects: tuple[Dialect, ...]) -> Candidates:
    """The index of these formats."""
    return Candidates(dialects)


@functools.lru_cache(maxsize=1024)
def words_of(dialect: Dialect) -> list[frozenset[str]]:
    """Groups of words; each line has one word of each, whatever its numbers are."""
    reader = dialect.reader
    groups = reader.requires if isinstance(reader, Segments) else ()
    return [group for group in groups if not any(NUMBER.search(word) for word in group)]


def _at_ends(dialect: Dialect, text: str) -> Record | None:
    """What a format reads that begins or ends with the text, and does so within `LONG` letters."""
    ends = (text,) if len(text) <= 2 * LONG else (text[:LONG], text[-LONG:])
    return dialect.read(text) if any(map(dialect.read, ends)) else None


def _parts(text: str) -> set[str]:
    return {text[start : start + TRIGRAM] for start in range(len(text) - TRIGRAM + 1)}


def _usable(record: Record) -> bool:
    return record.reads != "iteration" or not STEP_KEYS.isdisjoint(record.fields)
