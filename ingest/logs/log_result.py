"""The result of reading one log: rows and counts of lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ...schema.rows import Rows
from ...vocabulary.measurement_lines import measures
from .lines import Line

Unread = Callable[[int, str], None]


@dataclass(slots=True)
class LogResult:
    """Rows not yet taken, lines by format, and how many lines were read."""

    rows: Rows
    formats: Counter[str]
    runs: int = 0
    lines: int = 0
    lines_read: int = 0
    lines_known: int = 0
    lines_unread: int = 0
    lines_measuring: int = 0  # of the unread ones, those that look like a measurement
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
    """The current line and the formats that read it; counted once, at its end."""

    read: LogResult
    unread: Unread | None = None  # called with number and text of each line that no format reads
    line: Line | None = None
    read_by: set[str] = field(default_factory=set)
    known: bool = True
    in_preamble: bool = False  # a format read the line, but no run has begun yet
    pending_line: Line | None = None  # may be the first half of a wrapped record

    def begin(self, line: Line) -> None:
        """The first piece of a line."""
        self.line = line

    def join_pending(self) -> None:
        """The pending line was the first half of the record that the current line completes."""
        if self.pending_line is not None:
            self.read.count_read(1, ())
            self.pending_line = None

    def count(self, *, keep_pending: bool = False) -> None:
        """The line ends; `keep_pending`: if no format reads it, it is counted with the next one."""
        if self.pending_line is not None:
            self._count_unread(self.pending_line, is_unread=True)
            self.pending_line = None
        if self.line is None:
            return
        if self.read_by:
            self.read.count_read(1, self.read_by)
        else:
            is_unread = not self.known and not self.in_preamble
            if is_unread and keep_pending:
                self.pending_line = self.line
            else:
                self._count_unread(self.line, is_unread=is_unread)
        self.line, self.read_by, self.known, self.in_preamble = None, set(), True, False

    def _count_unread(self, line: Line, *, is_unread: bool) -> None:
        measuring = is_unread and measures(line.text)
        self.read.count_unread(1, self.known and not is_unread, measuring)
        if is_unread and self.unread is not None:
            self.unread(line.number, line.text)
