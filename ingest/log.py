"""One log -> its runs, iterations, facts and events, line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..schema.rows import Rows, content_id
from .before import STATED, Before
from .dialect import Dialect
from .environment import Environment
from .finder import Finder
from .header import Header
from .lines import Line, printed_at
from .logread import LogRead as LogRead
from .logread import Tally, Unread
from .record import Fields, Record
from .run import Run
from .steps import Steps, Stretch
from .wrapped import Wrapped

if TYPE_CHECKING:
    import pyarrow as pa

    from .outline import Look
    from .template import Template
    from .timer_lines import TimerLine

MOST_ROWS = 5000  # held before they are handed over
RULE = frozenset("-=*_#~+ \t")


@dataclass(frozen=True, slots=True)
class Newest:
    """The record of a step or of timers that was read last, and its line."""

    line: int
    dialect: Dialect
    record: Record


class LogReader:
    """Reads lines as they come; `take_rows` hands over what is finished to who stores it early.

    A run comes when it is over, its facts at once, its steps when no line can speak of them more.
    """

    def __init__(
        self, source_id: str, formats: Sequence[Dialect], *, unread: Unread | None = None
    ) -> None:
        self._source_id = source_id
        self._rows = Rows()
        self._read = LogRead(self._rows, Counter())
        self._dialects = formats
        self._tally = Tally(self._read, unread)
        self._finder = Finder(formats)
        self._run: Run | None = None
        self._block: Dialect | None = None
        self._starts: Counter[str] = Counter()
        self._number = 0
        self._front: Fields = {}  # the time in front of the line
        self._prefixes: tuple[str, ...] = ()
        self._environment = Environment()
        self._before = Before()
        self._wrapped = Wrapped()
        self._cut_off = 0  # the line that ended within a value, until it is known to go on
        self._bar: Fields = {}  # the newest state of a progress bar of no known purpose
        self.newest_step: Newest | None = None
        self.newest_timers: Newest | None = None
        self.template: Template | None = None  # the shape that the newest steps had
        self.timer_line: TimerLine | None = None  # and the newest timers
        self.mostly_steps = False  # of that shape were the newest lines

    @property
    def formats(self) -> Sequence[Dialect]:
        """The formats in the order of trying."""
        return self._dialects

    @property
    def line(self) -> int:
        """The number of the newest line; 0 before the first."""
        return self._number

    @property
    def rows(self) -> Rows:
        """What is read and not yet taken."""
        return self._rows

    def restored(self) -> None:
        """What was told of another reader is in place: bind what hangs together."""
        self._tally = Tally(self._read)
        if self._run is not None:
            self._run.steps.derive = self._run.header.step_of

    def end_line(self) -> None:
        """The newest line is whole: what comes next is another one."""
        self._tally.count()

    @property
    def looks_at_each_line(self) -> bool:
        """Whether a line that no format reads matters: in a block, or to who is told of it."""
        return self._block is not None or self._tally.unread is not None

    def feed(self, line: Line) -> None:
        """One line, or one piece of it between carriage returns."""
        if line.number != self._number:
            self._tally.count()
            self._number = line.number
            self._tally.begin(line)
        self._read.encoding_errors += line.errors
        if line.cut:
            self._rows.warn("cut_line", "the line is longer than a log line can be", line.number)
        if self._run is not None:
            self._run.last_line = line.number
        self._front, self._prefixes = printed_at(line.prefixes), line.prefixes
        read = self._read_text(line.text)
        if not read and self._read_wrapped(line.text):
            read, self._cut_off = True, 0
        self._tell_cut_off()
        quiet = self._block is not None and self._block.quiet
        if not (read or quiet or RULE.issuperset(line.text)):
            self._tally.known = False

    def skip(self, last: int, looks: Iterable[tuple[Look, int]]) -> None:
        """Lines up to `last` that state nothing: how many of which look."""
        self._leave_line(last)
        for look, count in looks:
            if look.formats:
                self._read.count_read(count, look.formats)
                continue
            self._read.count_unread(count, count * look.known, count * look.measures)
            if look.text:
                self._wrapped.clear()

    def goes_on(self, line: int, texts: Sequence[str]) -> bool:
        """Whether a line told of the newest step, and lines with these texts are no copies."""
        return self._run is not None and self._run.steps.goes_on(line, texts)

    def take_steps(self, many: Stretch) -> None:
        """Steps behind the newest one, read many at once."""
        assert self._run is not None
        count = len(many.lines)
        self._leave_line(many.lines[-1])
        self._read.count_read(count, [many.dialect.name])
        self._run.steps.take(many)

    def take_timers(
        self, dialect: Dialect, count: int, rows: Callable[[str, int | None], pa.Table]
    ) -> None:
        """Lines of timers that were read many at once; `rows` of a run, behind an iteration."""
        assert self._run is not None
        self._read.count_read(count, [dialect.name])
        self._rows.tables["timers"].append(rows(self._run.run_id, self._run.steps.iteration))

    def _leave_line(self, last: int) -> None:
        self._tally.count()
        self._number = last
        self._tell_cut_off()
        if self._run is not None:
            self._run.last_line = last

    def take_rows(self) -> Rows:
        """The rows that are finished, once; later calls and `finish` give the others."""
        taken = Rows(self._rows.by_table, self._rows.tables)
        empty = Rows()
        self._rows.by_table, self._rows.tables = empty.by_table, empty.tables
        return taken

    @property
    def has_begun(self) -> bool:
        """Whether there is a run."""
        return self._run is not None or self._read.runs > 0

    def holds_many(self) -> bool:
        """Whether there is so much to take that it should be taken now."""
        return self.has_begun and self._read.lines % 512 == 0 and self._rows.count() >= MOST_ROWS

    def finish(self) -> LogRead:
        """The end of the file: the last run is stored."""
        self._tally.count()
        if self._run is None:
            self._without_start()
        self._number = 0
        self._tell_cut_off()
        self._end_run()
        return self._read

    def _read_text(self, text: str) -> bool:
        """Every record on the line; another process, or a print without line end, may have more."""
        found = self._finder.records(text, self._opened)
        for dialect, record in found:
            if self._take(dialect, record):
                self._tally.read_by.add(dialect.name)
                self._check_tail(dialect, record)
        if self._finder.left_over:
            count = self._finder.left_over
            message = f"the line holds more records than can be told apart: {count} are read"
            self._rows.warn("crowded_line", message, self._number)
        return bool(self._tally.read_by)

    def _opened(self) -> str | None:
        return self._block.opens if self._block else None

    def _read_wrapped(self, text: str) -> bool:
        """The rest of a line that a page or a terminal has broken."""
        joined = self._wrapped.join(text, self._number, self._dialects)
        if joined is None:
            return False
        dialect, record, first = joined
        if first:
            return self._take(dialect, record)
        if self._run is not None:
            self._run.steps.extend(record.fields)
        self._tally.read_by.add(dialect.name)
        return True

    def _check_tail(self, dialect: Dialect, record: Record) -> None:
        if dialect.reads == "iteration":
            self._wrapped.begin(record, self._number)
        if dialect.reader.cut_off(record.after):
            self._cut_off = self._number

    def _tell_cut_off(self) -> None:
        if 0 < self._cut_off < self._number or (self._cut_off and self._number == 0):
            self._rows.warn("truncated_line", "the line ends within a value", self._cut_off)
            self._cut_off = 0

    def _take(self, dialect: Dialect, record: Record) -> bool:
        """Store a record; False where nothing has begun that it could belong to."""
        if self._front and "printed_at" not in record.fields:
            record = replace(record, fields=record.fields | self._front)
        match dialect.reads:
            case "iteration" | "part":
                return self._take_step(dialect, record)
            case "env" | "command":
                return self._take_flags(dialect, record)
            case "noise":
                return True
            case _ if dialect.reads in STATED:
                return self._take_header(dialect, record)
            case _:
                return self._take_event(dialect, record)

    def _take_step(self, dialect: Dialect, record: Record) -> bool:
        self._block = None
        fields = record.fields
        if dialect.planned and (self._run is None or self._run.goal != fields.get("train_iters")):
            self._bar = fields
            return True
        unnumbered = dialect.reads == "part" and not dialect.secondary and self._bar
        if unnumbered and "iteration" not in fields and (self._run is None or not self._run.goal):
            record = replace(record, reads="iteration", fields=self._bar | fields)
        self._current(record).add_step(dialect, record, self._number, self._prefixes)
        self.newest_step = Newest(self._number, dialect, record)
        return True

    def _take_flags(self, dialect: Dialect, record: Record) -> bool:
        job_ids = self._environment.take(dialect.reads, record.fields, self._number)
        if job_ids and self._run is not None:
            self._run.job_ids |= dict.fromkeys(job_ids)
        return job_ids is not None

    def _take_header(self, dialect: Dialect, record: Record) -> bool:
        if dialect.starts_run and self._run is not None and self._run.over_at(dialect.name):
            self._run.last_line = self._number - 1
            self._end_run(self._number)
        if dialect.reads == "block" and dialect.closes:
            closed = self._block is not None and self._block.opens == dialect.closes
            self._block = None if closed else self._block
            return self._run is not None and closed
        if self._run is None and not dialect.starts_run:
            self._before.keep(dialect, record, self._number)
            self._tally.waits = True
            return False
        run = self._current(record)
        run.started_by.add(dialect.name)
        run.keep_date(record.fields)
        self._state(run, dialect, record, self._number)
        return True

    def _state(self, run: Run, dialect: Dialect, record: Record, line: int) -> None:
        if dialect.reads == "block":
            self._block = dialect
            if dialect.starts_run:
                run.steps.restarted()
        elif dialect.reads == "header":
            run.header.state(record, line)
        elif dialect.reads == "parameters":
            run.header.on_rank(record, line)
        elif dialect.reads == "memory":
            run.add_memory(record, line)
        else:
            run.header.argument(record, line, dialect.scope)

    def _take_event(self, dialect: Dialect, record: Record) -> bool:
        run = self._run
        if run is None:
            self._before.keep(dialect, record, self._number)
            self._tally.waits = True
            return False
        line = self._number
        match dialect.reads:
            case "failure":
                run.fail(record, line, dialect.refines)
            case "cause":
                run.ending.explain(record)
            case "stop":
                run.ending.stop(line)
            case "end":
                run.end(record, line)
            case "evaluation":
                run.evaluate(record, line)
            case "timers":
                run.add_timers(record, line)
                self.newest_timers = Newest(line, dialect, record)
            case "measurement":
                run.measure(record, line)
            case _:
                run.add_event(record, line, str(record.fields["kind"]))
        return True

    def _end_run(self, next_line: int | None = None) -> None:
        if self._run is not None:
            self._run.finish(self._environment.flags, next_line)
            self._read.runs += 1
            self._run = None

    def _without_start(self) -> None:
        """Nothing begins a run, but what was read tells of one."""
        first = self._before.first()
        if first is None:
            return
        last, kept = self._number, self._before.kept
        self._number = first[2]
        run = self._current(first[1])
        for dialect, record, line in kept:
            self._number = line
            if dialect.reads not in STATED:
                self._take_event(dialect, record)
                self._read.lines_read += 1
                self._read.lines_unread -= 1
                self._read.formats[dialect.name] += 1
        self._number = last
        run.last_line = last

    def _current(self, record: Record) -> Run:
        """The run that is being read; the first header or iteration line starts one."""
        if self._run is None:
            text = record.raw.strip()
            self._starts[text] += 1
            run_id = content_id(self._source_id, "log", text, self._starts[text])
            number = self._number
            header = Header(run_id, self._rows)
            steps = Steps(run_id, self._rows, derive=header.step_of)
            self._run = Run(run_id, self._source_id, self._rows, number, number, header, steps)
            self._catch_up(self._run)
        return self._run

    def _catch_up(self, run: Run) -> None:
        """Header lines above the one that begins the run belong to it."""
        numbers = set()
        for dialect, record, line in self._before.take():
            if dialect.reads in STATED:
                self._state(run, dialect, record, line)
                numbers.add(line)
                self._read.formats[dialect.name] += 1
        numbers.discard(self._number)
        self._read.lines_read += len(numbers)
        self._read.lines_unread -= len(numbers)
        run.job_ids |= dict.fromkeys(self._environment.job_ids())
