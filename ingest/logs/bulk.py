"""A log in blocks: lines are scanned by their masks, and only those with values are read.

Steps with numbers at known places are read many at once. Lines between them that do not change
them (memory, timers, noise) are read line by line without a break. All other lines go to the reader
one by one; after each block its state is the same as if it had read every line so.
"""

from __future__ import annotations

import io
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from ...schema.rows import Rows
from .blocks import Lines, Piece, Pieces, with_plain_ends
from .dialect import Dialect
from .line_layouts import ArgumentLayout
from .line_shapes import LineShape, Shapes, shapes_of
from .lines import BOM, PIECE_LIMIT, long_line, peel, pieces_of
from .log import Argument, LogReader
from .scan import Scan
from .step import OPEN_STEPS
from .step_blocks import StepBlock
from .step_rows import FieldsOf, StepRange, as_rows, timer_rows
from .steps import COPIES_WITHIN

BLOCK = 12 << 20  # bytes
AHEAD = 2  # blocks that are scanned ahead
LEAST_STEPS = 2 * OPEN_STEPS  # consecutive ones that are worth a block
MOST_TRIES = 2  # steps read one by one until the next ones can be taken as a block


@dataclass(frozen=True, slots=True)
class _Block:
    """Whole lines, scanned; as bytes if they are no UTF-8."""

    piece: Piece
    scan: Scan | None = None
    data: bytes = b""


def feed(
    reader: LogReader,
    stream: BinaryIO,
    sink: Callable[[Rows], None] | None = None,
    block: int = BLOCK,
) -> None:
    """All lines of a log, as `reader.feed` would read them; `sink` takes the rows.

    The next blocks, of so many bytes, are looked at while the rows of one are made.
    Raises OSError of the stream, and what `sink` raises.
    """
    number = reader.line + 1
    pieces = Pieces(stream, block, first=reader.line == 0)
    for scanned_block in _scanned_blocks(pieces, shapes_of(tuple(reader.formats))):
        number = _feed_block(reader, number, scanned_block)
        rest = scanned_block.piece.rest
        if scanned_block.piece.goes_on:
            for line in long_line(stream, number, rest):
                reader.feed(line)
            pieces.waits = False
        elif rest:
            _feed_line(reader, number, rest)
        number += bool(rest)
        if sink and reader.has_begun:
            sink(reader.take_rows())


def _scanned_blocks(pieces: Pieces, shapes: Shapes) -> Iterator[_Block]:
    """The blocks in order; the next ones are scanned meanwhile."""
    first, second = pieces.next(), pieces.next()
    if first is None:
        return
    if second is None and not pieces.waits:
        # Threads for one block would cost more than they save.
        yield _scan_block(first, shapes)
        return
    coming: deque[Future[_Block]] = deque()
    with ThreadPoolExecutor(AHEAD) as threads:
        coming.append(threads.submit(_scan_block, first, shapes))
        if second is not None:
            coming.append(threads.submit(_scan_block, second, shapes))
        while coming:
            yield coming.popleft().result()
            while len(coming) < AHEAD and (piece := pieces.next()):
                coming.append(threads.submit(_scan_block, piece, shapes))


def _scan_block(piece: Piece, shapes: Shapes) -> _Block:
    if piece.whole is None:
        return _Block(piece)
    data = with_plain_ends(piece.whole)
    try:
        return _Block(piece, Scan(Lines(data), shapes))
    except UnicodeDecodeError:
        return _Block(piece, data=data)


def _feed_block(reader: LogReader, first: int, block: _Block) -> int:
    """Feeds a block of whole lines; returns the number of the line after it."""
    if block.scan is not None:
        _Feed(reader, first, block.scan).feed()
        return first + len(block.scan.lines)
    if block.piece.whole is None:
        return first
    bodies = block.data.split(b"\n")
    for number, body in enumerate(bodies, first):
        _feed_line(reader, number, body)
    return first + len(bodies)


def _feed_line(reader: LogReader, number: int, body: bytes) -> None:
    if len(body) >= PIECE_LIMIT - len(BOM):
        lines = long_line(io.BytesIO(), number, body + b"\n")
    else:
        lines = pieces_of(number, body)
    for line in lines:
        reader.feed(line)


class _Feed:
    """The lines of a block on their way to the reader."""

    def __init__(self, reader: LogReader, first: int, scan: Scan) -> None:
        self._reader, self._first, self._scan = reader, first, scan
        self._fields: dict[int, FieldsOf] = {}  # by number of the series
        self._taken: dict[int, list[StepRange]] = {}
        series = scan.steps
        places = np.concatenate([np.zeros(0, np.int64), *(steps.places for steps in series)])
        series_of = np.repeat(np.arange(len(series)), [len(steps.places) for steps in series])
        rows = np.concatenate([np.zeros(0, np.int64), *(np.arange(len(s.places)) for s in series)])
        iterations = np.concatenate([np.zeros(0, np.int64), *(s.iterations for s in series)])
        order = np.argsort(places)
        self._places, self._rows = places[order], rows[order]
        self._series_of_step, self._iterations = series_of[order], iterations[order]
        self._timed = np.zeros(len(scan.lines), bool)
        for timers in scan.timers:
            self._timed[timers.places] = True
        # Lines that are read one by one wherever they are between steps.
        alone = scan.needs_reader & ~scan.neutral
        alone[self._places] = False
        self._read_alone = alone
        self._neutral = scan.needs_reader & scan.neutral
        self._stated_lines = np.flatnonzero(scan.needs_reader)

    def feed(self) -> None:
        """Every line, in order."""
        place, end = 0, len(self._scan.lines)
        alone = self._read_alone
        for cut in (*self._cuts(), end):
            # A list of unread lines needs their texts, which a shape does not have.
            while place < cut and self._reader.lists_unread:
                self._feed_line(place)
                place += 1
            while place < cut and self._reader.block is not None:
                place = self._within(self._reader.block, place, cut)
            if place > cut:
                continue
            self._stretch(place, cut)
            place = cut
            if cut < end and alone[cut]:
                self._feed_line(cut)
                place = cut + 1
        self._store()

    def _cuts(self) -> list[int]:
        """The ends of stretches of steps: at lines to be read one by one, and at other series.

        A step done again, or the copy of another rank, is a matter of judgement.
        """
        goes_on = np.diff(self._iterations, prepend=-1) > 0
        goes_on &= np.diff(self._series_of_step, prepend=-1) == 0
        others = self._places[~goes_on]
        cuts: list[int] = np.union1d(np.flatnonzero(self._read_alone), others).tolist()
        return cuts

    def _feed_line(self, place: int) -> None:
        _feed_line(self._reader, self._first + place, self._scan.lines.body(place))

    def _within(self, block: Dialect, start: int, end: int) -> int:
        """Lines within a block, up to one that has to be read by itself; returns the next place."""
        arguments: list[Argument] = []
        passed: Counter[LineShape] = Counter()
        place, lines, first = start, self._scan.lines, self._first
        for shape in self._scan.within(block, start, end):
            layout = shape.layout
            if isinstance(layout, ArgumentLayout):
                name, value = layout.read(lines[place])
                arguments.append(Argument(layout.dialect, first + place, name, value))
            elif shape.needs_reader:
                break
            else:
                passed[shape] += 1
            place += 1
        # Lines that are counted and lines that are stored are independent of their order.
        if place > start:
            self._reader.take_arguments(arguments, self._first + place - 1)
            self._reader.skip(self._first + place - 1, passed.items())
        if place < end:
            self._feed_line(place)
            place += 1
        return place

    def _stretch(self, start: int, end: int) -> None:
        """Steps of one series, each later than the one before, and the lines between them."""
        if start == end:
            return
        low, high = np.searchsorted(self._places, (start, end)).tolist()
        for _ in range(MOST_TRIES):
            if high - low < LEAST_STEPS:
                break
            # The last one is read by itself: it shows whether the run diverges, ends, and so on.
            if self._goes_on(low, high):
                self._take(start, low, high - 1)
                low, start = high - 1, int(self._places[high - 1])
                break
            self._one_by_one(start, int(self._places[low]) + 1)
            low, start = low + 1, int(self._places[low]) + 1
        self._one_by_one(start, end)

    def _goes_on(self, low: int, high: int) -> bool:
        first, texts = int(self._iterations[low]), self._texts(low, min(high, low + COPIES_WITHIN))
        series = self._scan.steps[self._series_of_step[low]].series
        return self._reader.goes_on(series.dialect, first, texts)

    def _texts(self, low: int, high: int) -> Callable[[], list[str]]:
        """Lines of steps without their prefixes."""
        places = self._places[low:high].tolist()
        return lambda: [peel(self._scan.lines[place])[1].strip() for place in places]

    def _one_by_one(self, start: int, end: int) -> None:
        low, high = np.searchsorted(self._stated_lines, (start, end)).tolist()
        for place in self._stated_lines[low:high].tolist():
            self._skip(start, place)
            self._feed_line(place)
            start = place + 1
        self._skip(start, end)

    def _skip(self, start: int, end: int) -> None:
        """Lines without values: they are counted."""
        if start >= end:
            return
        codes = self._scan.codes[start:end][~self._scan.needs_reader[start:end]]
        counts = np.bincount(codes).tolist()
        kinds = zip(self._scan.shapes, counts, strict=False)
        self._reader.skip(self._first + end - 1, [(kind, n) for kind, n in kinds if n])

    def _take(self, start: int, low: int, high: int) -> None:
        """A block of steps; the reader reads the step after it, which updates the run's state."""
        end, number = int(self._places[high]), int(self._series_of_step[low])
        self._skip(start, end)
        self._take_between(start, end, low, high)
        steps = self._scan.steps[number]
        fields = self._fields.setdefault(number, FieldsOf(steps))
        row = int(self._rows[low])
        many = StepBlock(
            steps.series.dialect,
            self._iterations[low:high],
            self._places[low:high] + self._first,
            steps.series.rank_prefix,
            self._texts(max(low, high - COPIES_WITHIN), high)(),
            lambda place: fields(row + place),
        )
        segment, length = self._reader.take_steps(many)
        taken = StepRange(row, row + high - low - OPEN_STEPS, self._reader.run_id, segment, length)
        self._taken.setdefault(number, []).append(taken)

    def _take_between(self, start: int, end: int, low: int, high: int) -> None:
        """The lines between the steps, each with the step that it was printed after."""
        timed = self._timed
        stated = np.searchsorted(self._stated_lines, (start, end)).tolist()
        between = self._stated_lines[slice(*stated)]
        between = between[self._neutral[between] & ~timed[between]]
        behind = np.searchsorted(self._places[low:high], between)
        newest = [self._reader.iteration, *self._iterations[low:high].tolist()]
        for place, step in zip(between.tolist(), behind.tolist(), strict=True):
            self._reader.iteration = newest[step]
            self._feed_line(place)
        for timers in self._scan.timers:
            picked = slice(*np.searchsorted(timers.places, (start, end)).tolist())
            if picked.start < picked.stop:
                behind = np.searchsorted(self._places[low:high], timers.places[picked])
                after = [newest[step] for step in behind.tolist()]
                rows = timer_rows(timers, picked, self._first, after, self._reader.run_id)
                self._reader.take_timers(timers.dialect, rows, picked.stop - picked.start)

    def _store(self) -> None:
        for number, taken in self._taken.items():
            rows = as_rows(self._scan.steps[number], self._first, taken)
            self._reader.rows.tables["iterations"].append(rows)
