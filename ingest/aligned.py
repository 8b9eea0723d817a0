"""Steps in lines of one length: most of a log differ in digits that stand at the same places.

The places are those of one of the lines. Whatever is no number there has to be the same in the
others; a line that is not plainly so is left over.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .arrays import Marks, Places
from .block_lines import Lines
from .byte_table import DOUBLE_DIGITS, DOUBLE_POWER, WHOLE_DIGITS, ByteTable, Number
from .found import NOTHING, Found, in_order
from .moments import moments
from .template import LONGEST_KEPT, WHOLE, Slot, Template

NUMBER = re.compile(r" *([-+]?)([0-9]+)(?:\.([0-9]*))?(?:[eE]([-+]?)([0-9]{1,3}))?")
DIGITS = re.compile(r"[0-9]+")
MANY_ALIKE = 100  # lines that are worth it,
FEW_ALIKE = 12  # or so many, where they are half of those there are
ODD = 3  # lines of a length that may be unlike the others before it is left
SHAPES = 24  # that are looked for in a block
SMALL_DIGITS = 9  # of a number below 2**31
SECONDS, MICROS = 6, 6  # parts of a time down to its seconds, and digits behind these at most
Spans = Iterator[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Numeric:
    """A number of the lines, by the column that it is for."""

    name: str
    number: Number

    def spans(self) -> Spans:
        """The places that vary."""
        return self.number.spans()


@dataclass(frozen=True, slots=True)
class _Whole(_Numeric):
    """A whole number."""

    def read(self, table: ByteTable) -> pa.Array:
        return pa.array(self.number.whole(table))


@dataclass(frozen=True, slots=True)
class _Double(_Numeric):
    """A number, `shift` powers of ten larger."""

    shift: int

    def read(self, table: ByteTable) -> pa.Array:
        return pa.array(self.number.double(table, self.shift))


@dataclass(frozen=True, slots=True)
class _Kept(_Numeric):
    """A number as it is printed."""

    start: int
    end: int

    def read(self, table: ByteTable) -> pa.Array:
        self.number.double(table, 0)  # marks where it is none
        return table.texts(self.start, self.end)


@dataclass(frozen=True, slots=True)
class _Moment:
    """A time of the lines."""

    name: str
    runs: tuple[tuple[int, int], ...]  # of digits: from the year to the seconds, and behind these

    def spans(self) -> Spans:
        yield from self.runs

    def read(self, table: ByteTable) -> pa.Array:
        parts = [table.digits(start, end) for start, end in self.runs[:SECONDS]]
        fraction = np.zeros_like(parts[0])
        for start, end in self.runs[SECONDS:]:
            fraction = table.digits(start, end) * 10 ** (MICROS - (end - start))
        times, fits = moments([*parts, fraction])
        table.fits &= fits
        return pa.array(times)


_Value = _Whole | _Double | _Kept | _Moment


def read_aligned(template: Template, lines: Lines, places: Places) -> tuple[Found, Places]:
    """The rows of lines that are like many others, and the places of those left over.

    The rows are those of `split.read_steps`.
    """
    parts: list[Found] = []
    left: list[Places] = [places[:0]]
    shapes = SHAPES
    least = min(MANY_ALIKE, max(FEW_ALIKE, len(places) // 2))
    for group in _by_length(lines, places):
        odd = ODD
        while shapes and odd and len(group) >= least:
            found, fits = _like_the_first(template, lines, group)
            parts.append(found)
            if len(found):
                shapes -= 1
            if len(found) < least:
                odd -= 1
            left.append(group[:1][~fits[:1]])
            group = group[1:][~fits[1:]]
        left.append(group)
    return in_order(parts), np.sort(np.concatenate(left))


def _like_the_first(template: Template, lines: Lines, places: Places) -> tuple[Found, Marks]:
    """The rows of the lines of one length that are like the first one, and which these are."""
    sample = lines[int(places[0])]
    values = _values(template, sample)
    if values is None:
        return NOTHING, np.zeros(len(places), bool)
    spans = [span for value in values for span in value.spans()]
    table = ByteTable(lines.letters, lines.starts(places), sample.encode(), spans)
    rows = pa.table({value.name: value.read(table) for value in values})
    return Found(places, rows).only(table.fits), table.fits


def _by_length(lines: Lines, places: Places) -> Iterator[Places]:
    """The lines of each length, of that of most lines first."""
    lengths = lines.lengths[places]
    if len(lengths) and (lengths == lengths[0]).all():
        yield places
        return
    for length, _ in Counter(lengths.tolist()).most_common():
        yield places[lengths == length]


def _values(template: Template, line: str) -> list[_Value] | None:
    """What stands where on a line; None where it is not of the shape, or not plainly."""
    head, *pieces = line.split("|")
    found = re.match(template.head, head)
    if found is None or len(pieces) != len(template.slots) + 1 or not line.isascii():
        return None
    values = [
        _group(head, found.span(number), name, kind.type)
        for number, (name, kind) in enumerate(template.groups, 1)
    ]
    starts = np.cumsum([len(head) + 1, *(len(piece) + 1 for piece in pieces)]).tolist()
    for slot in template.slots:
        values.append(_slot(line, slot, starts[slot.piece - 1], starts[slot.piece] - 1))
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) and not pieces[-1].strip(" ") else None


def _group(head: str, span: tuple[int, int], name: str, kind: str) -> _Value | None:
    start, end = span
    if kind not in WHOLE:
        runs = [found.span() for found in DIGITS.finditer(head, start, end)]
        return _Moment(name, tuple(runs))
    most = _digits(kind)
    if end - start > most:
        return None
    # Blanks in front give way to digits, all but one: what stands in front of them stays in front.
    while start > 1 and head[start - 2 : start] == "  " and end - start < most:
        start -= 1
    return _Whole(name, Number(start, end, end))


def _digits(kind: str) -> int:
    """Of so many digits is a number below the limit of its type, and is read without error."""
    return {"integer": SMALL_DIGITS, "double": DOUBLE_DIGITS}.get(kind, WHOLE_DIGITS)


def _slot(line: str, slot: Slot, start: int, end: int) -> _Value | None:
    """The value of a piece of the line."""
    if not line.startswith(slot.lead, start, end):
        return None
    found = NUMBER.match(line, start + len(slot.lead), end)
    if found is None or line[found.end() : end].strip(" "):
        return None
    whole = slot.kind == "column" and slot.field.type in WHOLE
    shift = slot.field.shift if slot.kind == "column" else 0
    if (whole and found.end() > found.end(2)) or (shift and found[5]):
        return None
    room = _digits(slot.field.type if whole else "double") - len(found[3] or "")
    if slot.kind == "kept":
        room = min(room, LONGEST_KEPT - len(found[1]) - (found.end() - found.end(2)))
    if slot.exponent:
        room = min(room, 1)
    if len(found[2]) > room or (slot.exponent and not (found[3] and found[5])):
        return None
    if abs(shift - len(found[3] or "")) > DOUBLE_POWER:
        return None
    # Blanks in front give way to digits, where no sign stands between.
    first = found.start(2) if found[1] else max(found.start(), found.end(2) - room)
    number = Number(
        first, found.end(2), max(found.end(2), found.end(3)), found[1] == "-",
        found.span(5) if found[5] else None, found.start(4) if found[4] else None,
    )  # fmt: skip
    if whole:
        return _Whole(slot.column, number)
    if slot.kind == "kept":
        return _Kept(slot.column, number, first - len(found[1]), found.end())
    return _Double(slot.column, number, shift)
