"""What reading one log gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..schema.rows import Rows
from ..vocabulary.measuring import measures
from .lines import Line

Unread = Callable[[int, str], None]


@dataclass(slots=True)
class LogRead:
    """What a log gave: rows not yet taken, lines by format, and how many lines were read."""

    rows: Rows
    formats: Counter[str]
    runs: int = 0
    lines: int = 0
    lines_read: int = 0
    lines_known: int = 0
    lines_unread: int = 0
    lines_measuring: int = 0  # of these, what looks like a measurement
    encoding_errors: int = 0

    def count_read(self, count: int, formats: Iterable[str]) -> None:
        """Lines that these formats read."""
        self.lines += count
        self.lines_read += count
        for name in formats:
            self.formats[name] += count

    def count_unread(self, count: int, known: int, measuring: int) -> None:
        """Lines that no format reads: some are known to carry nothing, some look like metrics."""
        self.lines += count
        self.lines_known += known
        self.lines_unread += count - known
        self.lines_measuring += measuring


@dataclass(slots=True)
class Tally:
    """The line at hand: who reads it, counted once when it is over."""

    read: LogRead
    unread: Unread | None = None  # is told number and text of each line that no format reads
    line: Line | None = None
    read_by: set[str] = field(default_factory=set)
    known: bool = True
    waits: bool = False  # a format has the line, and no run to give it to yet
    held: Line | None = None  # may be the beginning of a record that goes on below

    def begin(self, line: Line) -> None:
        """The first piece of a line."""
        self.line = line

    def goes_on(self) -> None:
        """The line held back was the beginning of the record that the line at hand ends."""
        if self.held is not None:
            self.read.count_read(1, ())
            self.held = None

    def count(self, *, holds: bool = False) -> None:
        """The line is over; `holds`: it is counted when the next line tells what it is."""
        if self.held is not None:
            self._count_unread(self.held, told=True)
            self.held = None
        if self.line is None:
            return
        if self.read_by:
            self.read.count_read(1, self.read_by)
        else:
            told = not self.known and not self.waits
            if told and holds:
                self.held = self.line
            else:
                self._count_unread(self.line, told=told)
        self.line, self.read_by, self.known, self.waits = None, set(), True, False

    def _count_unread(self, line: Line, *, told: bool) -> None:
        self.read.count_unread(1, self.known and not told, told and measures(line.text))
        if told and self.unread is not None:
            self.unread(line.number, line.text)
