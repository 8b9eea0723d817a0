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
import pyarrow as pa

from ..schema.rows import Rows
from .arrays import Places
from .blocks import Block, Blocks, Shapes
from .candidates import candidates_of
from .found import NOTHING, Found
from .lines import BOM, PIECE_LIMIT, long_line, peel, pieces_of
from .log import LogReader
from .scan import Section
from .step_rows import FieldsOf, as_rows
from .steps import COPIES_WITHIN, Stretch
from .stream import Pieces
from .template import Template, template_of
from .timer_lines import TimerLine, timer_line_of, timer_rows

BLOCK = 12 << 20
# Steps at either end of a stretch that the careful reader reads: the first two, which may tell of
# another interval than lies between them, and more than it keeps open.
HEAD, EDGE = 2, 4
LEAST_STEPS = 3 * EDGE  # that are worth it
MOST_SHAPES = 4  # looked for in one block


def feed(
    reader: LogReader,
    stream: BinaryIO,
    sink: Callable[[Rows], None] | None = None,
    block: int = BLOCK,
) -> None:
    """All lines of a log, as `reader.feed` of each would read them; `sink` takes what is read.

    The next blocks, of so many bytes, are read and looked at while the rows of one are made.
    Raises OSError of the stream, and what `sink` raises.
    """
    number = reader.line + 1
    with Blocks(Pieces(stream, block, first=reader.line == 0), reader) as blocks:
        for one in blocks:
            number = _feed_lines(reader, blocks.shapes, number, one)
            rest = one.piece.rest
            if one.piece.goes_on:
                for line in long_line(stream, number, rest):
                    reader.feed(line)
                blocks.go_on()
            elif rest:
                _feed_line(reader, number, rest)
            if rest:
                number += 1
            if sink and reader.has_begun:
                sink(reader.take_rows())


def feed_section(reader: LogReader, section: Section) -> None:
    """All lines of a log that begins here."""
    _Feed(reader, Shapes(), 1, section).feed()


def _feed_lines(reader: LogReader, shapes: Shapes, first: int, block: Block) -> int:
    """A block of whole lines; gives the number of the line behind it."""
    if block.scan is not None:
        _Feed(reader, shapes, first, Section(block.scan, 0, block.count)).feed()
    elif block.count:
        for number, body in enumerate(block.data.split(b"\n"), first):
            _feed_line(reader, number, body)
    return first + block.count


def _feed_line(reader: LogReader, number: int, body: bytes) -> None:
    if len(body) >= PIECE_LIMIT - len(BOM):
        lines = long_line(io.BytesIO(), number, body + b"\n")
    else:
        lines = pieces_of(number, body)
    for line in lines:
        reader.feed(line)


class _Feed:
    """The lines of a block: of no format, of the shape at hand, or to be read with care."""

    def __init__(self, reader: LogReader, known: Shapes, first: int, lines: Section) -> None:
        self._reader, self._known, self._first, self._lines = reader, known, first, lines
        self._hot, self._codes = lines.hot, lines.codes
        self._shapes = MOST_SHAPES
        self._template: Template | None = None
        self._timer_line: TimerLine | None = None
        self._steps = self._times = NOTHING
        self._fits = np.zeros(len(lines), dtype=bool)
        self._timed = np.zeros(len(lines), dtype=bool)
        self._odd = np.flatnonzero(self._hot)
        if known.steps is not None:
            self._use(known.steps, 0)
        if known.timers is not None:
            self._use_timers(known.timers, 0)

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
        self._known.mostly_steps = 2 * int(self._fits.sum()) > end

    def _careful(self, place: int) -> None:
        _feed_line(self._reader, self._first + place, self._lines.body(place))

    def _learn(self, place: int) -> None:
        """The shape of a step or of timers that were read with care, for those below."""
        below = len(self._odd) - int(np.searchsorted(self._odd, place))
        if below < LEAST_STEPS or self._shapes <= 0:
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
            candidates = candidates_of(tuple(self._reader.formats))
            shape = timer_line_of(timers.dialect, line, text, timers.record, candidates)
            if shape is not None and shape != self._timer_line:
                self._use_timers(shape, place + 1)

    def _use(self, template: Template, start: int) -> None:
        """Find all lines of a shape, and mark those that need no care."""
        self._known.steps = self._template = template
        steps = self._lines.steps(template).since(start)
        # A step done again, or the copy of another rank, is a matter of judgement.
        self._steps = steps.only(np.diff(steps.column("iteration"), prepend=-1) > 0)
        self._fits[start:] = False
        self._fits[self._steps.places] = True
        self._odd = np.flatnonzero(self._hot & ~self._fits & ~self._timed)

    def _use_timers(self, shape: TimerLine, start: int) -> None:
        """Find all lines of timers of a shape, and mark them."""
        self._known.timers = self._timer_line = shape
        times = self._lines.timers(shape).since(start)
        self._times = times.only(~self._fits[times.places])
        self._timed[start:] = False
        self._timed[self._times.places] = True
        self._odd = np.flatnonzero(self._hot & ~self._fits & ~self._timed)

    def _stretch(self, start: int, end: int) -> None:
        """Lines of no format and of the shape at hand."""
        fits = start + np.flatnonzero(self._fits[start:end])
        if len(fits) < LEAST_STEPS:
            self._one_by_one(start, end, fits)
            return
        head, tail = int(fits[HEAD]), int(fits[-EDGE])
        self._one_by_one(start, head, fits[:HEAD])
        soon = self._plain(fits[HEAD : HEAD + COPIES_WITHIN])
        if self._reader.goes_on(self._first + int(fits[HEAD - 1]), soon):
            self._at_once(head, tail)
            self._one_by_one(tail, end, fits[-EDGE:])
        else:  # the steps of another rank, or steps done again
            self._one_by_one(head, end, fits[HEAD:])

    def _plain(self, places: Places) -> list[str]:
        """Lines without what stands in front of them."""
        return [peel(line)[1].strip() for line in self._lines.texts(places)]

    def _one_by_one(self, start: int, end: int, fits: Places) -> None:
        timed = start + np.flatnonzero(self._timed[start:end])
        for place in np.sort(np.concatenate((fits, timed))).tolist():
            self._skip(start, place)
            self._careful(place)
            start = place + 1
        self._skip(start, end)

    def _skip(self, start: int, end: int) -> None:
        """Lines that state nothing: they are counted."""
        if start >= end:
            return
        codes = self._codes[start:end][~self._hot[start:end]]
        counts = np.bincount(codes).tolist()
        kinds = zip(self._lines.kinds, counts, strict=False)
        self._reader.skip(self._first + end - 1, [(kind, n) for kind, n in kinds if n])

    def _at_once(self, start: int, end: int) -> None:
        steps, template = self._steps.within(start, end), self._template
        assert template is not None
        self._skip(start, end)
        self._timers_at_once(start, end, steps)
        lines = steps.places + (self._first + start)
        many = Stretch(
            template.dialect,
            steps.column("iteration"),
            lines,
            template.voice,
            self._plain(steps.places[-COPIES_WITHIN:] + start),
            functools.partial(as_rows, template, steps.values, lines),
            FieldsOf(template, steps.values),
        )
        self._reader.take_steps(many)

    def _timers_at_once(self, start: int, end: int, steps: Found) -> None:
        times, shape = self._times.within(start, end), self._timer_line
        if not len(times) or shape is None:
            return
        behind = np.searchsorted(steps.places, times.places)
        lines = times.places + (self._first + start)

        def rows(run_id: str, newest: int | None) -> pa.Table:
            after = [newest, *steps.column("iteration").tolist()]
            iterations = [after[step] for step in behind.tolist()]
            return timer_rows(shape, times.values, lines, iterations, run_id)

        self._reader.take_timers(shape.dialect, len(times), rows)
