"""A log in blocks: what nothing reads is counted, steps of one shape are read at once.

Every other line goes to the careful reader, which after each block is where it would be if it had
read all of them.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from ..schema.rows import Rows
from .block_lines import Lines
from .lines import BOM, PIECE_LIMIT, long_line, peel, pieces_of
from .log import LogReader
from .outline import Outlines, outlines_of
from .steps import COPIES_WITHIN, Stretch
from .template import Template, as_rows, fields_at, read, template_of
from .timer_lines import TimerLine, read_timers, timer_line_of, timer_rows

BLOCK = 8 << 20
EDGE = 4  # steps at either end of a stretch that the careful reader reads: more than it keeps open
LEAST = 3 * EDGE  # steps that are worth it
MOST_SHAPES = 4  # looked for in one block
Places = npt.NDArray[np.int64]


def feed(
    reader: LogReader,
    stream: BinaryIO,
    sink: Callable[[Rows], None] | None = None,
    block: int = BLOCK,
) -> None:
    """All lines of a log, as `reader.feed` of each would read them; `sink` takes what is read."""
    number, first, outlines = reader.line + 1, reader.line == 0, outlines_of(tuple(reader.formats))
    while data := stream.read(block):
        if first:
            data, first = data.removeprefix(BOM), False
        if not data.endswith(b"\n"):
            data += stream.readline(PIECE_LIMIT)
        end = data.rfind(b"\n") + 1
        if end:
            number = _feed_lines(reader, number, data[: end - 1], outlines)
        rest = data[end:]
        if len(rest) >= PIECE_LIMIT - len(BOM):
            for line in long_line(stream, number, rest):
                reader.feed(line)
        elif rest:
            _feed_line(reader, number, rest)
        number += bool(rest)
        if sink and reader.has_begun:
            sink(reader.take_rows())


def _feed_lines(reader: LogReader, first: int, data: bytes, outlines: Outlines) -> int:
    """A block of whole lines; gives the number of the line behind it."""
    if b"\r" in data and data.count(b"\r") == data.count(b"\r\n") + data.endswith(b"\r"):
        data = data.replace(b"\r\n", b"\n").removesuffix(b"\r")
    count = data.count(b"\n") + 1
    try:
        lines = Lines(data, count, whole=reader.mostly_steps)
    except UnicodeDecodeError:
        for number, body in enumerate(data.split(b"\n"), first):
            _feed_line(reader, number, body)
    else:
        _Block(reader, first, lines, outlines).feed()
    return first + count


def _feed_line(reader: LogReader, number: int, body: bytes) -> None:
    if len(body) >= PIECE_LIMIT - len(BOM):
        lines = long_line(io.BytesIO(), number, body + b"\n")
    else:
        lines = pieces_of(number, body)
    for line in lines:
        reader.feed(line)


class _Block:
    """The lines of a block: of no format, of the shape at hand, or to be read with care."""

    def __init__(self, reader: LogReader, first: int, lines: Lines, outlines: Outlines) -> None:
        self._reader, self._first, self._lines = reader, first, lines
        self._looks, self._candidates = outlines.looks, outlines.candidates
        self._shapes = MOST_SHAPES
        self._template: Template | None = None
        self._steps = pl.DataFrame()
        self._fits = np.zeros(len(lines), dtype=bool)
        self._timer_line: TimerLine | None = None
        self._times = pl.DataFrame({"place": pl.Series([], dtype=pl.Int64)})
        self._timed = np.zeros(len(lines), dtype=bool)
        self._codes = np.zeros(len(lines), dtype=np.int64)
        self._hot = np.ones(len(lines), dtype=bool)
        self._odd = np.arange(len(lines))
        if not lines.whole:
            self._look_at(np.arange(len(lines)), outlines)
        if reader.template is not None:
            self._use(reader.template, 0)
        if lines.whole:
            self._look_at(np.flatnonzero(~self._fits), outlines)
        if reader.timer_line is not None:
            self._use_timers(reader.timer_line, 0)
        reader.mostly_steps = 2 * int(self._fits.sum()) > len(lines)

    def _look_at(self, places: Places, outlines: Outlines) -> None:
        """Tell which of these lines have to be read with care, and what the others are."""
        codes = outlines.codes(self._lines.outlines(places))
        self._codes[places] = codes
        self._hot[places] = outlines.careful(codes)
        self._odd = np.flatnonzero(self._hot & ~self._fits)

    def feed(self) -> None:
        """Every line, in order."""
        place, end = 0, len(self._lines)
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
        """The shape of a step or of timers that were read with care, for those below."""
        below = len(self._odd) - int(np.searchsorted(self._odd, place))
        if below < LEAST or self._shapes <= 0:
            return
        number, line = self._first + place, self._lines[place]
        step, timers = self._reader.newest_step, self._reader.newest_timers
        if step is not None and step.line == number:
            self._shapes -= 1
            template = template_of(step.dialect, line, peel(line), step.record)
            if template is not None and template != self._template:
                self._use(template, place + 1)
        elif timers is not None and timers.line == number:
            self._shapes -= 1
            text = peel(line)[1]
            shape = timer_line_of(timers.dialect, line, text, timers.record, self._candidates)
            if shape is not None and shape != self._timer_line:
                self._use_timers(shape, place + 1)

    def _use(self, template: Template, start: int) -> None:
        """Read all lines of a shape, and mark those that need no care."""
        self._reader.template = self._template = template
        places = start + np.flatnonzero(self._hot[start:])
        steps = read(template, self._lines.gather(places))
        places = places[steps["place"].to_numpy()]
        # A step done again, or the copy of another rank, is a matter of judgement.
        onward = np.diff(steps["iteration"].to_numpy(), prepend=-1) > 0
        self._steps = steps.with_columns(place=pl.Series(places)).filter(onward)
        self._fits[start:] = False
        self._fits[places[onward]] = True
        self._odd = np.flatnonzero(self._hot & ~self._fits & ~self._timed)

    def _use_timers(self, shape: TimerLine, start: int) -> None:
        """Read all lines of timers of a shape, and mark them."""
        self._reader.timer_line = self._timer_line = shape
        places = start + np.flatnonzero((self._hot & ~self._fits)[start:])
        times = read_timers(shape, self._lines.gather(places))
        places = places[times["place"].to_numpy()]
        self._times = times.with_columns(place=pl.Series(places))
        self._timed[start:] = False
        self._timed[places] = True
        self._odd = np.flatnonzero(self._hot & ~self._fits & ~self._timed)

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
        timed = start + np.flatnonzero(self._timed[start:end])
        for place in np.union1d(fits, timed).tolist():
            self._skip(start, place)
            self._careful(place)
            start = place + 1
        self._skip(start, end)

    def _skip(self, start: int, end: int) -> None:
        """Lines that state nothing: they are counted."""
        if start >= end:
            return
        codes = self._codes[start:end][~self._hot[start:end]]
        counts = np.bincount(codes, minlength=len(self._looks)).tolist()
        self._reader.skip(self._first + end - 1, [
            (look, count) for look, count in zip(self._looks, counts, strict=True) if count
        ])  # fmt: skip

    def _at_once(self, start: int, end: int) -> None:
        low, high = np.searchsorted(self._steps["place"].to_numpy(), (start, end))
        steps = self._steps.slice(int(low), int(high - low))
        template = self._template
        assert template is not None
        self._skip(start, end)
        self._timers_at_once(start, end, steps)
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

    def _timers_at_once(self, start: int, end: int, steps: pl.DataFrame) -> None:
        low, high = np.searchsorted(self._times["place"].to_numpy(), (start, end))
        times, shape = self._times.slice(int(low), int(high - low)), self._timer_line
        if not len(times) or shape is None:
            return
        places = times["place"].to_numpy()
        behind = np.searchsorted(steps["place"].to_numpy(), places)

        def rows(run_id: str, newest: int | None) -> pa.Table:
            after = [newest, *steps["iteration"].to_list()]
            iterations = [after[step] for step in behind.tolist()]
            return timer_rows(shape, times, places + self._first, iterations, run_id)

        self._reader.take_timers(shape.dialect, len(times), rows)
