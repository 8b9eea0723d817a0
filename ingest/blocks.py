"""The blocks of a log in order: the next ones are read and looked at before their turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from .block_lines import Lines
from .log import LogReader
from .outline import Outlines, outlines_of
from .scan import Scan
from .stream import Piece, Pieces
from .template import Template
from .timer_lines import TimerLine

AHEAD = 2  # blocks that are looked at before their turn


@dataclass(slots=True)
class Shapes:
    """What the newest lines of a log looked like: the next ones are likely to."""

    steps: Template | None = None
    timers: TimerLine | None = None
    mostly_steps: bool = False  # of that shape were the lines of the newest block


@dataclass(frozen=True, slots=True)
class Block:
    """A block, looked at unless it is no UTF-8."""

    piece: Piece
    data: bytes
    count: int
    scan: Scan | None


class Blocks:
    """The blocks of a log; `shapes` is what the newest lines told, whoever reads them keeps it.

    Use it in a `with`, which ends its threads.
    """

    def __init__(self, pieces: Pieces, reader: LogReader) -> None:
        self.shapes = Shapes()
        self._pieces, self._outlines = pieces, outlines_of(tuple(reader.formats))
        self._coming: deque[Future[Block]] = deque()
        self._ahead = AHEAD if reader.line else 1  # the first block shows the shape of the others
        self._reading, self._looking = ThreadPoolExecutor(1), ThreadPoolExecutor(AHEAD)

    def __enter__(self) -> Blocks:
        return self

    def __exit__(self, *_: object) -> None:
        self._reading.shutdown()
        self._looking.shutdown()

    def __iter__(self) -> Iterator[Block]:
        self.go_on()
        while self._coming:
            loaded = self._coming.popleft().result()
            if self._ahead == AHEAD:
                self._look_ahead()
            yield loaded
            self._ahead = AHEAD
            self._look_ahead()

    def go_on(self) -> None:
        """Read on: at the beginning, and behind a long line that somebody read to its end."""
        self._pieces.waits = False
        self._unread = self._reading.submit(self._pieces.next)
        self._look_ahead()

    def _look_ahead(self) -> None:
        while len(self._coming) < self._ahead and (piece := self._unread.result()):
            shapes = replace(self.shapes)  # as they are now
            looked_at = self._looking.submit(_looked_at, piece, self._outlines, shapes)
            self._coming.append(looked_at)
            self._unread = self._reading.submit(self._pieces.next)


def _looked_at(piece: Piece, outlines: Outlines, shapes: Shapes) -> Block:
    """A block in which lines may be of these shapes."""
    if piece.whole is None:
        return Block(piece, b"", 0, None)
    data = with_plain_ends(piece.whole)
    try:
        lines = Lines(data, piece.ends if data is piece.whole else None)
    except UnicodeDecodeError:
        return Block(piece, data, data.count(b"\n") + 1, None)
    scan = Scan(lines, outlines, shapes.steps if shapes.mostly_steps else None)
    if shapes.steps is not None:
        scan.steps(shapes.steps)
    if shapes.timers is not None:
        scan.timers(shapes.timers)
    return Block(piece, data, len(lines), scan)


def with_plain_ends(data: bytes) -> bytes:
    """Lines that all end as those of Windows end as others do."""
    if b"\r" in data and data.count(b"\r") == data.count(b"\r\n") + data.endswith(b"\r"):
        return data.replace(b"\r\n", b"\n").removesuffix(b"\r")
    return data
