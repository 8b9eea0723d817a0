"""Assigns the records of one log to its runs."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...schema.rows import Rows, content_id
from ...vocabulary.hosts import MOST
from .appended_starts import begins_anew
from .dialect import Dialect
from .environment import Environment
from .header import Header
from .log_result import LogResult
from .non_step_values import SUMMARY
from .record import Record
from .run import LOAD, Run
from .steps import Steps

MOST_WAITING = 5000
# In front of a bar: what it counts, if that is nothing of a training.
OTHER_BAR = re.compile(r"^(?!.*(?i:train|epoch|step|iter|progress)).*[A-Za-z]{3}")
STATED = frozenset(("header", "parameters", "argument", "block", "memory"))
Kept = tuple[Dialect, Record, int]
Drawn = tuple[Dialect, Record, int, tuple[str, ...]]


@dataclass(slots=True)
class Preamble:
    """Lines above the one that begins a run, which belong to it: their records."""

    kept: list[Kept] = field(default_factory=list)

    def keep(self, dialect: Dialect, record: Record, line: int) -> None:
        """A record that may belong to the next run."""
        if len(self.kept) < MOST_WAITING and dialect.reads != "block":
            self.kept.append((dialect, record, line))

    def take(self) -> list[Kept]:
        """The records, once."""
        kept, self.kept = self.kept, []
        return kept

    def first(self) -> Kept | None:
        """The record that begins a run without steps: of a program that failed or timed itself."""
        kinds = {dialect.reads for dialect, _, _ in self.kept}
        if not kinds & {"failure", "timers", "measurement"}:
            return None
        begins = {"header"} | kinds & {"timers", "measurement"}
        own = (kept for kept in self.kept if not kept[0].secondary)
        return next((kept for kept in own if kept[0].reads in begins), self._failed_task())

    def _failed_task(self) -> Kept | None:
        """The failure of a program, if its launcher tells on which host its task failed."""
        failed = [kept for kept in self.kept if kept[0].reads == "failure"]
        # Slurm's own lines are of a job, whatever it ran: the accounting has them.
        told = any(record.fields.keys() >= {"hosts", "weak"} for _, record, _ in failed)
        program = (kept for kept in failed if not kept[1].fields.keys() & {"hosts", "weak"})
        return next(program, None) if told else None


class Runs:
    """The runs of a log one after the other, and the lines between them.

    The row of a run is added at its end, a fact at once, a step when no later line can change it.
    """

    def __init__(self, source_id: str, rows: Rows, read: LogResult) -> None:
        self._source_id, self._rows, self._read = source_id, rows, read
        self.run: Run | None = None
        self.block: Dialect | None = None
        self.starts: Counter[str] = Counter()
        self.environment = Environment()
        self.preamble = Preamble()
        self.bars: deque[Drawn] = deque(maxlen=MOST_WAITING)  # progress bars of no known purpose
        self.in_preamble = False  # the newest record is kept for a run that has not begun
        self.hosts: dict[str, int] = {}  # of the run that begins next, each with its line
        self._number = 0
        self._batch: object = None  # of the newest step that prints it

    def restore(self, read: LogResult) -> None:
        """Reconnects the parts once their state is loaded from a checkpoint."""
        self._read = read

    def take(self, dialect: Dialect, record: Record, line: int, prefixes: Sequence[str]) -> bool:
        """Stores a record; False where no run or block has begun that it could belong to."""
        self._number, self.in_preamble = line, False
        match dialect.reads:
            case "iteration" | "part":
                return self._take_step(dialect, record, tuple(prefixes))
            case "env" | "command":
                return self._take_flags(dialect, record)
            case "noise":
                self._take_host(record)
                return True
            case _ if dialect.reads in STATED:
                return self._take_header(dialect, record)
            case _:
                return self._take_event(dialect, record)

    def _take_step(self, dialect: Dialect, record: Record, prefixes: tuple[str, ...]) -> bool:
        self.block = None
        fields = record.fields
        self._end_before(dialect, record)
        if dialect.progress_bar and OTHER_BAR.search(record.before):
            return True
        run = self.run
        of_run = run is not None and run.goal == fields.get("train_iters")
        if run is not None and not (run.goal or run.steps.count):
            of_run = of_run or run.late.is_right_above(record, self._number)
        if dialect.progress_bar and not of_run:
            total = fields.get("train_iters")
            begun = run is not None and run.steps.count > 0 and run.goal is None
            if run is not None and begun and dialect.starts_run and isinstance(total, int):
                run.train_iters = total  # the bar has a name: it is the training's
            self.bars.append((dialect, record, self._number, prefixes))
            return True
        unnumbered = dialect.reads == "part" and not dialect.secondary and "iteration" not in fields
        if (unnumbered or dialect.buffered) and (self.run is None or not self.run.goal):
            self._take_bars()
        self._current(record).add_step(dialect, record, self._number, prefixes)
        self._batch = fields.get("gbs", self._batch)
        return True

    def _end_before(self, dialect: Dialect, record: Record) -> None:
        """A run ends at a line of the next one: it was over, or its program began anew."""
        run, line = self.run, self._number
        if run is None:
            return
        own = dialect.buffered or dialect.reads == "evaluation"
        # The bar of an evaluation behind the training has another total.
        own = own or (dialect.progress_bar and run.goal == record.fields.get("train_iters"))
        over = own and run.late.is_behind(record, run.steps.iteration)
        step, first = record.fields.get("iteration"), run.steps.begins_at
        if dialect.reads == "iteration" and isinstance(step, int) and first is not None:
            if run.starts_again:
                over, line = step <= first, run.starts_again
            else:
                # Of a batch that grows, the first step prints the same one again.
                other = self._batch is not None and record.fields.get("gbs", self._batch)
                over = over or (step <= first and bool(other) and other != self._batch)
        anew = not over and self._begins_anew(run, dialect, record)
        if over or anew:
            run.last_line = line - 1
            self.finish(None if anew else line)

    def _begins_anew(self, run: Run, dialect: Dialect, record: Record) -> bool:
        """Whether a step is another training's, though no line says that one starts."""
        own = dialect.reads == "iteration" and not (dialect.secondary or dialect.progress_bar)
        said = run.starts_again is not None or run.termination.over  # loaded, or started again
        return own and not said and begins_anew(run.steps, record.fields)

    def _take_bars(self) -> None:
        """The bar of the training, now that losses show there is one: the bar with most updates."""
        totals = Counter(record.fields.get("train_iters") for _, record, _, _ in self.bars)
        line, total = self._number, max(totals, key=totals.__getitem__, default=None)
        for dialect, record, number, prefixes in self.bars:
            if record.fields.get("train_iters") == total:
                self._number = number
                self._current(record).add_step(dialect, record, number, prefixes)
        self._number = line
        self.bars.clear()

    def _take_flags(self, dialect: Dialect, record: Record) -> bool:
        job_ids = self.environment.take(dialect.reads, record.fields, self._number)
        if job_ids and self.run is not None:
            self.run.job_ids |= dict.fromkeys(job_ids)
        return job_ids is not None

    def _take_host(self, record: Record) -> None:
        """The host that a library names in front of its own messages."""
        if "hosts" not in record.fields:
            return
        host = str(record.fields["hosts"])
        # A run that is over prints no more: the next one starts its processes, maybe elsewhere.
        if self.run is not None and not self.run.termination.over:
            self.run.header.host(host, self._number)
        elif len(self.hosts) < MOST:
            self.hosts.setdefault(host, self._number)

    def _take_header(self, dialect: Dialect, record: Record) -> bool:
        if dialect.starts_run and self.run is not None and self.run.over_at(dialect.name):
            self.run.last_line = self._number - 1
            self.finish(self._number)
        if dialect.reads == "block" and dialect.closes:
            closed = self.block is not None and self.block.opens == dialect.closes
            self.block = None if closed else self.block
            return self.run is not None and closed
        if self.run is None and not dialect.starts_run:
            self.preamble.keep(dialect, record, self._number)
            self.in_preamble = True
            return False
        run = self._current(record)
        run.started_by.add(dialect.name)
        run.keep_date(record.fields)
        self._state(run, dialect, record, self._number)
        return True

    def _state(self, run: Run, dialect: Dialect, record: Record, line: int) -> None:
        if dialect.reads == "block":
            self.block = dialect
            if dialect.starts_run:
                run.steps.restarted(line)
        elif dialect.reads == "header" and dialect.secondary:
            run.header.name(record, line)
        elif dialect.reads == "header":
            run.header.state(record, line)
        elif dialect.reads == "parameters":
            run.header.on_rank(record, line)
        elif dialect.reads == "memory":
            run.figures.add_memory(record, line, run.steps.iteration)
        else:
            name, value = str(record.fields["name"]), str(record.fields.get("value", ""))
            run.header.argument(name, value, line, dialect.scope)

    def _take_event(self, dialect: Dialect, record: Record) -> bool:
        self._end_before(dialect, record)
        summarizes = not SUMMARY.keys().isdisjoint(record.fields)
        if self.run is None and not (dialect.starts_run or summarizes):
            self.preamble.keep(dialect, record, self._number)
            self.in_preamble = True
            return False
        run, line = self._current(record), self._number
        if dialect.starts_run:
            run.framework = run.framework or dialect.framework
        match dialect.reads:
            case "failure":
                run.header.host(record.fields.get("hosts"), line)
                run.fail(record, line, dialect.refines)
            case "cause":
                run.termination.explain(record, line)
            case "stop":
                run.termination.stop(line)
            case "end":
                run.end(record, line)
            case "evaluation":
                run.evaluate(record, line)
            case "timers":
                run.figures.add_timers(record, line, run.steps.iteration)
            case "measurement":
                run.measure(record, line)
            case _:
                run.add_event(record, line, str(record.fields["kind"]))
        return True

    def finish(self, next_line: int | None = None) -> None:
        """The run ends: at the end of the file, or at the line that begins the next run."""
        if self.run is not None:
            self.run.finish(self.environment.flags, next_line)
            self._read.runs += 1
            self.run = self._batch = None

    def begin_late(self, last: int) -> None:
        """At the end of the log: where no line began a run, the preamble may show one."""
        if self.run is not None:
            return
        named = [bar for bar in self.bars if bar[0].starts_run]
        if named and not self._read.runs:
            self.bars = deque(named, maxlen=MOST_WAITING)
            self._take_bars()
            return
        first = self.preamble.first()
        if first is None:
            return
        kept, self._number = self.preamble.kept, first[2]
        run = self._current(first[1])
        for dialect, record, line in kept:
            self._number = line
            if dialect.reads not in STATED:
                self._take_event(dialect, record)
                self._read.lines_read += 1
                self._read.lines_unread -= 1
                self._read.formats[dialect.name] += 1
        run.last_line = last

    def _current(self, record: Record) -> Run:
        """The run that is being read; the first header or iteration line starts one."""
        if self.run is None:
            text = record.raw.strip()
            self.starts[text] += 1
            run_id = content_id(self._source_id, "log", text, self.starts[text])
            number = self._number
            header = Header(run_id, self._rows)
            steps = Steps(run_id, self._rows)
            self.run = Run(run_id, self._source_id, self._rows, number, number, header, steps)
            self._catch_up(self.run)
        return self.run

    def _catch_up(self, run: Run) -> None:
        """Header lines above the first line of the run belong to it."""
        numbers = set()
        for dialect, record, line in self.preamble.take():
            if record.fields.get("kind") == LOAD:
                run.add_event(record, line, LOAD)
            elif record.fields.get("scheduler") is True:
                run.termination.report(record, line)
            elif dialect.reads in STATED:
                run.keep_date(record.fields)
                self._state(run, dialect, record, line)
            elif dialect.reads == "evaluation":  # of the model as it was made
                run.evaluate(record, line)
            else:
                continue
            numbers.add(line)
            self._read.formats[dialect.name] += 1
        for host, line in self.hosts.items():
            run.header.host(host, line)
        self.hosts.clear()
        numbers.discard(self._number)
        self._read.lines_read += len(numbers)
        self._read.lines_unread -= len(numbers)
        run.job_ids |= dict.fromkeys(self.environment.job_ids())
