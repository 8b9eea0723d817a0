"""One log -> its runs, iterations, facts and events, line by line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ...schema.rows import Rows
from .dialect import Dialect
from .finder import Finder
from .lines import RULE, Line, printed_at
from .log_result import LogResult as LogResult
from .log_result import Tally, Unread
from .record import Fields, Record
from .runs import Runs
from .step_blocks import StepBlock
from .wrapped_lines import WrappedRecord

if TYPE_CHECKING:
    import pyarrow as pa

    from .line_shapes import LineShape


# torchrun's own default.
ON_ONE_NODE = re.compile(r"\b(?:torchrun|torch\.distributed\.(?:run|launch)) (?!.*--nnodes)")
SETTINGS = "settings"  # the format of settings by their names


class Argument(NamedTuple):
    """An argument as its line prints it."""

    dialect: Dialect
    line: int
    name: str
    value: str


class LogReader:
    """Reads lines as they come; `take_rows` returns finished rows, to be stored early.

    The row of a run is added at its end, a fact at once, a step when no later line can change it.
    """

    def __init__(
        self, source_id: str, formats: Sequence[Dialect], *, unread: Unread | None = None
    ) -> None:
        self._rows = Rows()
        self._read = LogResult(self._rows, Counter())
        self._dialects = formats
        self._tally = Tally(self._read, unread)
        self._finder = Finder(formats)
        self._settings = next((one for one in formats if one.name == SETTINGS), None)
        self._runs = Runs(source_id, self._rows, self._read)
        self._number = 0
        self._front: Fields = {}  # the time in front of the line
        self._prefixes: tuple[str, ...] = ()
        self._wrapped = WrappedRecord()
        self._cut_off = 0  # the line that ended within a value, until it is known to go on

    @property
    def formats(self) -> Sequence[Dialect]:
        """The formats in the order of trying."""
        return self._dialects

    @property
    def line(self) -> int:
        """The number of the newest line; 0 before the first."""
        return self._number

    @property
    def run_id(self) -> str:
        """The run that is being read; there has to be one."""
        assert self._runs.run is not None
        return self._runs.run.run_id

    @property
    def iteration(self) -> int | None:
        """The newest step of the run; there has to be one. Set for a line between steps."""
        assert self._runs.run is not None
        return self._runs.run.steps.iteration

    @iteration.setter
    def iteration(self, iteration: int | None) -> None:
        assert self._runs.run is not None
        self._runs.run.steps.iteration = iteration

    @property
    def runs(self) -> Runs:
        """The runs read so far."""
        return self._runs

    @property
    def rows(self) -> Rows:
        """What is read and not yet taken."""
        return self._rows

    @property
    def pending_line(self) -> Line | None:
        """The newest line, if it may be the first half of a record: counted with the next line."""
        return self._tally.pending_line

    def restore(self, pending_line: Line | None) -> None:
        """Reconnects the parts once their state is loaded from a checkpoint."""
        self._tally = Tally(self._read, pending_line=pending_line)
        self._runs.restore(self._read)

    def end_line(self) -> None:
        """The newest line is complete: what comes next is another one."""
        self._tally.count(keep_pending=self._wrapped.is_pending(self._number))

    @property
    def block(self) -> Dialect | None:
        """The format that opened the block of the next line."""
        return self._runs.block

    @property
    def lists_unread(self) -> bool:
        """Whether each line that no format reads is reported."""
        return self._tally.unread is not None

    def feed(self, line: Line) -> None:
        """One line, or one piece of it between carriage returns."""
        # A line reached by skipping is no piece of the line counted last.
        if line.number != self._number or self._tally.line is None:
            if self._tally.line is not None:
                self.end_line()
            self._number = line.number
            self._tally.begin(line)
        self._read.encoding_errors += line.errors
        if line.cut:
            self._rows.warn("cut_line", "the line is longer than a log line can be", line.number)
        if self._runs.run is not None:
            self._runs.run.last_line = line.number
        self._front, self._prefixes = printed_at(line.prefixes), line.prefixes
        read = self._read_text(line.text)
        # A setting on a part of a record (`global batch size: 4 | lm loss: ...`) is its own.
        part = not read or self._tally.read_by == {SETTINGS}
        if part and self._read_wrapped(line.text):
            read, self._cut_off = True, 0
        self._warn_cut_off()
        quiet = self._runs.block is not None and self._runs.block.quiet
        if not (read or quiet or RULE.issuperset(line.text)):
            self._tally.known = False

    def skip(self, last: int, kinds: Iterable[tuple[LineShape, int]]) -> None:
        """Lines up to `last` without values: how many of which shape."""
        self._leave_line(last)
        for kind, count in kinds:
            if kind.formats:
                self._read.count_read(count, kind.formats)
                continue
            self._read.count_unread(count, count * kind.known, count * kind.measures)
            if kind.text:
                self._wrapped.clear()

    def goes_on(self, dialect: Dialect, iteration: int, texts: Callable[[], list[str]]) -> bool:
        """Whether steps from this one on are new, whatever was read; `texts` are their lines."""
        run = self._runs.run
        return run is not None and run.has_begun and run.steps.goes_on(dialect, iteration, texts)

    def take_steps(self, many: StepBlock) -> tuple[int, int | None]:
        """A block of steps without its last: their segment, and the interval of the first."""
        assert self._runs.run is not None
        self._leave_line(int(many.lines[-1]))
        self._read.count_read(len(many.lines), [many.dialect.name])
        return self._runs.run.take_steps(many)

    def take_timers(self, dialect: Dialect, rows: pa.Table, lines: int) -> None:
        """The rows of a block of timer lines."""
        self._read.count_read(lines, [dialect.name])
        self._rows.tables["timers"].append(rows)

    def take_arguments(self, arguments: Sequence[Argument], last: int) -> None:
        """Arguments of a block, one a line, up to the line `last`."""
        run = self._runs.run
        assert run is not None
        self._leave_line(last)
        for dialect, count in Counter(one.dialect for one in arguments).items():
            run.started_by.add(dialect.name)
            self._read.count_read(count, [dialect.name])
        for argument in arguments:
            run.header.argument(
                argument.name, argument.value, argument.line, argument.dialect.scope
            )

    def _leave_line(self, last: int) -> None:
        self._tally.count()
        self._number = last
        self._warn_cut_off()
        if self._runs.run is not None:
            self._runs.run.last_line = last

    def take_rows(self) -> Rows:
        """The finished rows, once; later calls and `finish` return the others."""
        taken = Rows(self._rows.by_table, self._rows.tables)
        empty = Rows()
        self._rows.by_table, self._rows.tables = empty.by_table, empty.tables
        return taken

    @property
    def has_begun(self) -> bool:
        """Whether there is a run."""
        return self._runs.run is not None or self._read.runs > 0

    @property
    def has_steps(self) -> bool:
        """Whether lines of steps have been read, other than those of an engine or a bar."""
        return not all(one.secondary for one in self.step_formats)

    @property
    def step_formats(self) -> list[Dialect]:
        """The formats of lines of steps that have been read."""
        own = (one for one in self._dialects if one.reads in ("iteration", "part"))
        return [one for one in own if self._read.formats[one.name]]

    def finish(self) -> LogResult:
        """The end of the file: the last run is stored."""
        self._tally.count()
        self._runs.begin_late(self._number)
        self._number = 0
        self._warn_cut_off()
        self._runs.finish()
        return self._read

    def _read_text(self, text: str) -> bool:
        """Every record on the line; another process, or a print without line end, may have more."""
        late: list[tuple[Dialect, Record]] = []
        for dialect, record in self._finder.records(text, self._opened):
            if dialect.buffered:
                late.append((dialect, record))  # a bar on the line is drawn before it
            else:
                self._take_found(dialect, record)
            if dialect.reads == "command":
                self._take_settings(record.raw)
        for found in late:
            self._take_found(*found)
        if self._finder.left_over:
            count = self._finder.left_over
            message = f"the line has too many records: {count} are read"
            self._rows.warn("crowded_line", message, self._number)
        return bool(self._tally.read_by)

    def _take_found(self, dialect: Dialect, record: Record) -> None:
        if self._take(dialect, record):
            self._tally.read_by.add(dialect.name)
            self._check_tail(dialect, record)

    def _take_settings(self, command: str) -> None:
        """What a command line states."""
        record = self._settings.read(command) if self._settings else None
        if self._settings and record:
            if "devices_per_node" in record.fields and ON_ONE_NODE.search(command):
                record = replace(record, fields={"nodes": 1} | record.fields)
            self._take(self._settings, record)

    def _opened(self) -> str | None:
        return self._runs.block.opens if self._runs.block else None

    def _read_wrapped(self, text: str) -> bool:
        """The rest of a line that a page or a terminal has broken."""
        joined = self._wrapped.join(text, self._number, self._dialects)
        if joined is None:
            return False
        dialect, record, first = joined
        if first:
            self._tally.join_pending()
            return self._take(dialect, record)
        if self._runs.run is not None:
            self._runs.run.steps.extend(record.fields)
        self._tally.read_by.add(dialect.name)
        return True

    def _check_tail(self, dialect: Dialect, record: Record) -> None:
        if dialect.reads == "iteration":
            self._wrapped.begin(record, self._number)
        if dialect.reader.cut_off(record.after):
            self._cut_off = self._number

    def _warn_cut_off(self) -> None:
        if 0 < self._cut_off < self._number or (self._cut_off and self._number == 0):
            self._rows.warn("truncated_line", "the line ends within a value", self._cut_off)
            self._cut_off = 0

    def _take(self, dialect: Dialect, record: Record) -> bool:
        """Store a record, with the time in front of its line."""
        if self._front and "printed_at" not in record.fields:
            record = replace(record, fields=record.fields | self._front)
        taken = self._runs.take(dialect, record, self._number, self._prefixes)
        self._tally.in_preamble |= self._runs.in_preamble
        return taken
