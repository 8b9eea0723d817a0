"""A log in blocks: what nothing reads is counted, steps of one shape are read at once.

Every other line goes to the careful reader, which after each block is where it would be if it had
read all of them.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Sequence
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import polars as pl

from ..schema.rows import Rows
from .dialect import Dialect
from .lines import BOM, PIECE_LIMIT, long_line, peel, pieces_of
from .log import RULE, LogReader
from .measuring import METRIC_WORDS, measures
from .steps import COPIES_WITHIN, Stretch
from .template import Template, as_rows, fields_at, read, template_of

BLOCK = 8 << 20
# Lines that may be more than text of no format: of a table, wrapped, redrawn, coloured, damaged.
ODD = ("|", "iteration", "\r", "\x1b", "\0", "\x1c", "\x1d", "\x1e", "\x1f", "\u017f", "\u212a")
EDGE = 4  # steps at either end of a stretch that the careful reader reads: more than it keeps open
LEAST = 3 * EDGE  # steps that are worth it
MOST_SHAPES = 4  # looked for in one block
# How what launchers put in front of a line may end: such a line may be blank behind it.
PREFIX_END = r"(?:[:\]>]|/\d+| - [A-Z]+)$"
SEPARATOR = b"\x01"
Places = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]


def feed(
    reader: LogReader,
    stream: BinaryIO,
    sink: Callable[[Rows], None] | None = None,
    block: int = BLOCK,
) -> None:
    """All lines of a log, as `reader.feed` of each would read them; `sink` takes what is read."""
    number, first, hints = reader.line + 1, reader.line == 0, _hints(reader.formats)
    while data := stream.read(block):
        if first:
            data, first = data.removeprefix(BOM), False
        if not data.endswith(b"\n"):
            data += stream.readline(PIECE_LIMIT)
        end = data.rfind(b"\n") + 1
        if end:
            number = _feed_lines(reader, number, data[: end - 1], hints)
        rest = data[end:]
        if len(rest) >= PIECE_LIMIT - len(BOM):
            for line in long_line(stream, number, rest):
                reader.feed(line)
        elif rest:
            _feed_line(reader, number, rest)
        number += bool(rest)
        if sink and reader.has_begun:
            sink(reader.take_rows())


def _feed_lines(reader: LogReader, first: int, data: bytes, hints: list[str]) -> int:
    """A block of whole lines; gives the number of the line behind it."""
    if b"\r" in data and data.count(b"\r") == data.count(b"\r\n") + data.endswith(b"\r"):
        data = data.replace(b"\r\n", b"\n").removesuffix(b"\r")
    count = data.count(b"\n") + 1
    try:
        lines = _split(data, count)
    except UnicodeDecodeError:
        for number, body in enumerate(data.split(b"\n"), first):
            _feed_line(reader, number, body)
    else:
        _Block(reader, first, lines, hints).feed()
    return first + count


def _feed_line(reader: LogReader, number: int, body: bytes) -> None:
    if len(body) >= PIECE_LIMIT - len(BOM):
        lines = long_line(io.BytesIO(), number, body + b"\n")
    else:
        lines = pieces_of(number, body)
    for line in lines:
        reader.feed(line)


def _split(data: bytes, count: int) -> pl.Series:
    """The lines of a block; raises UnicodeDecodeError."""
    text = data.decode("utf-8")
    # A reader of CSV is fastest; what it would treat as its own is left to Python.
    if data[:1] not in (b"\n", b"\xef", b"") and SEPARATOR not in data and b"\r" not in data:
        table = pl.read_csv(
            io.BytesIO(data), separator=SEPARATOR.decode(), has_header=False, quote_char=None,
            infer_schema=False, new_columns=["line"],
        )  # fmt: skip
        if table.height == count and table.width == 1:
            return table["line"].fill_null("")
    return pl.Series("line", text.split("\n"), pl.String)


def _hints(formats: Sequence[Dialect]) -> list[str]:
    """What stands on every line that is read outside of a block, and on odd lines."""
    return sorted({hint for d in formats if d.within is None for hint in d.hints}.union(ODD))


class _Block:
    """The lines of a block: of no format, of the shape at hand, or to be read with care."""

    def __init__(self, reader: LogReader, first: int, lines: pl.Series, hints: list[str]) -> None:
        self._reader, self._first, self._lines = reader, first, lines
        hot = lines.str.contains_any(hints)
        self._hot = (hot | (lines.str.len_bytes() >= PIECE_LIMIT - len(BOM))).to_numpy()
        self._known, self._text, self._measures = _looks(lines, self._hot)
        self._shapes = MOST_SHAPES
        self._template: Template | None = None
        self._steps = pl.DataFrame()
        self._fits = np.zeros(len(lines), dtype=bool)
        self._odd = np.flatnonzero(self._hot)

    def feed(self) -> None:
        """Every line, in order."""
        place, end = 0, len(self._lines)
        if self._reader.template is not None:
            self._use(self._reader.template, 0)
        while place < end:
            if self._reader.looks_at_each_line:
                self._careful(place)
            else:
                after = int(np.searchsorted(self._odd, place))
                odd = int(self._odd[after]) if after < len(self._odd) else end
                self._stretch(place, odd)
                place = odd
                if place < end:
                    self._careful(place)
                    self._learn(place)
            place += 1

    def _careful(self, place: int) -> None:
        _feed_line(self._reader, self._first + place, self._lines[place].encode())

    def _learn(self, place: int) -> None:
        """The shape of a step that was read with care, for those below it."""
        newest = self._reader.newest_step
        below = len(self._odd) - int(np.searchsorted(self._odd, place))
        if newest is None or newest.line != self._first + place or below < LEAST:
            return
        if self._shapes > 0:
            line = self._lines[place]
            template = template_of(newest.dialect, line, peel(line), newest.record)
            self._shapes -= 1
            if template is not None and template != self._template:
                self._use(template, place + 1)

    def _use(self, template: Template, start: int) -> None:
        """Read all lines of a shape, and mark those that need no care."""
        self._reader.template = self._template = template
        places = start + np.flatnonzero(self._hot[start:])
        lines = self._lines
        steps = read(template, lines if len(places) == len(lines) else lines.gather(places))
        places = places[steps["place"].to_numpy()]
        # A step done again, or the copy of another rank, is a matter of judgement.
        onward = np.diff(steps["iteration"].to_numpy(), prepend=-1) > 0
        self._steps = steps.with_columns(place=pl.Series(places)).filter(onward)
        self._fits[start:] = False
        self._fits[places[onward]] = True
        self._odd = np.flatnonzero(self._hot & ~self._fits)

    def _stretch(self, start: int, end: int) -> None:
        """Lines of no format and of the shape at hand."""
        fits = start + np.flatnonzero(self._fits[start:end])
        if len(fits) < LEAST:
            self._one_by_one(start, end, fits)
            return
        head, tail = int(fits[EDGE]), int(fits[-EDGE])
        self._one_by_one(start, head, fits[:EDGE])
        soon = [peel(self._lines[p])[1].strip() for p in fits[EDGE : EDGE + COPIES_WITHIN].tolist()]
        if self._reader.goes_on(self._first + int(fits[EDGE - 1]), soon):
            self._at_once(head, tail)
            self._one_by_one(tail, end, fits[-EDGE:])
        else:  # the steps of another rank, or steps done again
            self._one_by_one(head, end, fits[EDGE:])

    def _one_by_one(self, start: int, end: int, fits: Places) -> None:
        for place in fits.tolist():
            self._skip(start, place)
            self._careful(place)
            start = place + 1
        self._skip(start, end)

    def _skip(self, start: int, end: int) -> None:
        """Lines of no format: they are counted."""
        if start < end:
            cold = ~self._fits[start:end]
            known = int((self._known[start:end] & cold).sum())
            text = bool((self._text[start:end] & cold).any())
            measuring = int((self._measures[start:end] & cold).sum())
            last = self._first + end - 1
            self._reader.skip(last, int(cold.sum()), known, measuring, text=text)

    def _at_once(self, start: int, end: int) -> None:
        low, high = np.searchsorted(self._steps["place"].to_numpy(), (start, end))
        steps = self._steps.slice(int(low), int(high - low))
        template = self._template
        assert template is not None
        self._skip(start, end)
        places = steps["place"].to_list()
        recent = [self._lines[place] for place in places[-COPIES_WITHIN:]]
        many = Stretch(
            template.dialect,
            steps["iteration"].to_list(),
            [self._first + place for place in places],
            template.voice,
            [peel(line)[1].strip() for line in recent],
            functools.partial(as_rows, template, steps, self._first),
            functools.partial(fields_at, template, steps),
        )
        self._reader.take_steps(many)


def _looks(lines: pl.Series, hot: Marks) -> tuple[Marks, Marks, Marks]:
    """Of lines of no format: which are known to carry nothing, are not blank, look like metrics."""
    known, text, measuring = (np.zeros(len(lines), dtype=bool) for _ in range(3))
    places = np.flatnonzero(~hot)
    cold = lines if len(places) == len(lines) else lines.gather(places)
    rest = cold.str.strip_chars("".join(RULE))
    known[places] = (rest == "").to_numpy()
    text[places] = (cold.str.strip_chars() != "").to_numpy()
    for place in places[rest.str.contains(PREFIX_END).to_numpy()].tolist():
        known[place] = RULE.issuperset(peel(lines[place])[1])
    may = cold.str.contains_any(list(METRIC_WORDS), ascii_case_insensitive=True).to_numpy()
    for place in places[may].tolist():
        measuring[place] = not known[place] and measures(peel(lines[place])[1])
    return known, text, measuring
