"""One run while its log is read: steps are stored when complete, the run at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from ...schema.rows import Rows, content_id
from ...vocabulary.secrets import redact_text
from .consistency import left_out, quantities
from .dialect import Dialect
from .environment import Flags
from .equations import sizes_of
from .header import RUN_COLUMNS, TOPOLOGY_COLUMNS, Header
from .late_losses import LateLosses, PendingRecord, Plan, steps_in
from .non_step_values import NonStepValues
from .record import Fields, Record
from .step import rank_of, rank_prefix_of
from .step_blocks import StepBlock
from .steps import Steps
from .termination import HangDetection, TerminationTracker
from .unnumbered_steps import UnnumberedSteps, of_all_epochs

LOAD = "load"  # the kind of the event
LAUNCHED = "launch_begins"  # the format of the first line that `bench launch` writes
EVENTS_KEPT = 100_000  # of one run: a log may print the same event at every step


@dataclass(slots=True)
class Run:
    """The state of one run of a log."""

    run_id: str
    source_id: str
    rows: Rows
    line: int
    last_line: int
    header: Header
    steps: Steps
    framework: str | None = None
    engine: str | None = None  # the framework of secondary lines
    train_iters: int | None = None
    first_epoch: int | None = None  # of bars that begin again each epoch
    beyond: bool = False  # there are more steps than stated: those of one epoch
    done: int | None = None  # steps, by a summary of the training
    date: str | None = None
    started_by: set[str] = field(default_factory=set)  # formats of the header lines seen
    termination: TerminationTracker = field(default_factory=TerminationTracker)
    hang_detection: HangDetection = field(default_factory=HangDetection)
    job_ids: dict[str, None] = field(default_factory=dict)
    invalid: Counter[str] = field(default_factory=Counter)
    events_seen: set[tuple[str, str]] = field(default_factory=set)
    has_begun: bool = False  # its first step is stored, a fact that stays when the file grows
    late: LateLosses = field(default_factory=LateLosses)
    unnumbered: UnnumberedSteps = field(default_factory=UnnumberedSteps)
    timed_from: datetime | None = None  # start of the interval timed by the clock
    starts_again: int | None = None  # first line of a start-up after steps; 0: it loads them
    figures: NonStepValues = field(init=False)

    def __post_init__(self) -> None:
        self.figures = NonStepValues(self.rows, self.run_id)

    @property
    def goal(self) -> int | None:
        """The iterations that are planned, as lines of steps or the header state them."""
        return None if self.beyond else self.train_iters or self.header.goal()

    def over_at(self, dialect: str) -> bool:
        """Whether a header line of this format belongs to the next run."""
        begun = self.steps.count > 0 or self.late.has_any
        return begun or (self.termination.over and dialect in self.started_by)

    def add_step(
        self, dialect: Dialect, record: Record, line: int, prefixes: Sequence[str] = ()
    ) -> None:
        """A line about a step, and its prefixes by launchers."""
        record, self.first_epoch = of_all_epochs(record, self.first_epoch)
        numbered = self._numbered(record, line)
        if numbered is None:
            return
        record, fields = numbered, numbered.fields
        if dialect.buffered and (self.steps.is_numbered or "iteration" not in fields):
            self._add_pending(PendingRecord(dialect, record, line, rank_prefix_of(prefixes)))
            return
        first = self.late.of_first_step(record, self.steps)
        if record.reads == "iteration":
            self._place(self.late.settle(self.steps, self._plan, fields.get("iteration")))
        if dialect.secondary:
            self.engine = self.engine or dialect.framework
        else:
            self.framework = self.framework or dialect.framework
        if dialect.secondary and fields.get("iteration") == 0:
            self.add_event(record, line, "before the first step")
            return
        self._learn_interval()
        if record.reads == "iteration":
            self.unnumbered.kept.clear()
        elif not (self.steps.count or dialect.secondary or "iteration" in fields):
            self.unnumbered.keep(dialect, record, line)
        take = self.steps.part if record.reads == "part" else self.steps.add
        kind = take(dialect, record, line, rank_prefix_of(prefixes))
        if kind == "rank":
            self.figures.add_memory(record, line, self.steps.iteration, rank_of(prefixes))
        if kind == "new":
            self._keep_from(record, line, rank_of(prefixes), dialect.from_zero)
        self._place(first)
        self.starts_again = None

    def _place(self, pending: PendingRecord | None) -> None:
        """Losses that belong to the newest step."""
        if pending is not None:
            self.steps.part(pending.dialect, pending.record, pending.line, pending.rank_prefix)
            self.figures.add_memory(pending.record, pending.line, self.steps.iteration)

    def _add_pending(self, pending: PendingRecord) -> None:
        """Losses whose step is known at the next bar, or at the end of the log."""
        self.framework = self.framework or pending.dialect.framework
        if not self.late.add(pending):
            self.steps.copies += 1
            return
        self.keep_date(pending.record.fields)
        self.invalid.update(pending.record.invalid)
        # A bar shows that the run continues; a line that was buffered does not.
        if self.steps.iteration is None:
            self.termination.resumed(pending.record.fields, pending.line, reached=False)

    def _plan(self) -> Plan:
        every = self.header.whole("logging_steps")
        per_epoch = self.header.steps_per_epoch()
        return Plan(self.goal or self.done, per_epoch, every, bool(self.goal or per_epoch))

    def take_steps(self, many: StepBlock) -> tuple[int, int | None]:
        """A block of steps; the step after it is added by itself and updates the run's state."""
        self._learn_interval()
        return self.steps.take(many)

    def _learn_interval(self) -> None:
        if self.steps.interval is None:
            self.steps.interval = self.header.whole("log_interval")

    def _numbered(self, record: Record, line: int) -> Record | None:
        """A step of a consumed count, with its number; a rate without one is a measurement."""
        fields = dict(record.fields)
        consumed = fields.pop("samples", None)
        if not isinstance(consumed, int):
            return record
        step, counts_tokens = self.header.step_at(consumed)
        if step is None:
            if (rate := fields.get("samples_per_s")) is not None:
                unit = {"metric": "throughput", "value": rate, "unit": "samples/s", "scope": "job"}
                self.figures.measure(replace(record, fields=unit), line)
            return None
        fields["iteration"] = step
        fields["consumed_tokens" if counts_tokens else "consumed_samples"] = consumed
        if counts_tokens and "samples_per_s" in fields:
            fields["tokens_per_s"] = fields.pop("samples_per_s")
        return replace(record, fields=fields)

    def _keep_from(self, record: Record, line: int, rank: int | None, from_zero: bool) -> None:
        fields = record.fields
        if not self.has_begun:
            self._begin(record, line)
        self.invalid.update(record.invalid)
        self.keep_date(fields)
        goal = fields.get("train_iters")
        if isinstance(goal, int) and goal > 0:
            self.train_iters = goal
        step = self.steps.iteration or 0
        self.beyond = self.beyond or step > (self.goal or step)
        # The end of an epoch need not be that of the training.
        reached = step + from_zero == self.goal and self.first_epoch is None
        self.termination.resumed(fields, line, reached=reached)
        self.hang_detection.step(fields, newest.length if (newest := self.steps.newest) else None)
        self.figures.add_memory(record, line, self.steps.iteration, rank)

    def _begin(self, record: Record, line: int) -> None:
        self.has_begun = True
        raw = redact_text(record.raw.strip())
        self.rows.add("facts", run_id=self.run_id, field="first_step", value=content_id(raw),
                      raw=raw, line=line, scope="step", how="stated")  # fmt: skip

    def keep_date(self, fields: Fields) -> None:
        """The first date that the run prints."""
        if self.date is None and "printed_at" in fields:
            self.date = str(fields["printed_at"])

    def evaluate(self, record: Record, line: int) -> None:
        """Losses on a validation or test set, at the printed step or the last one."""
        consumed = record.fields.get("samples")
        at = self.header.step_at(consumed)[0] if isinstance(consumed, int) else None
        self.figures.evaluate(record, line, at or self.steps.iteration)

    def add_event(self, record: Record, line: int, kind: str) -> None:
        """A save, a phase, a failure: without secrets; copies by other ranks count once."""
        fields = record.fields
        self.keep_date(fields)
        self._clock(record, line)
        raw = redact_text(record.raw.strip())
        if (kind, raw) in self.events_seen or len(self.events_seen) >= EVENTS_KEPT:
            return
        self.events_seen.add((kind, raw))
        at = None if kind == LOAD else self.steps.iteration  # what is loaded is of no step above
        if kind == LOAD:
            self.starts_again = 0
        elif kind == "phase" and self.steps.count and self.starts_again is None:
            self.starts_again = line
        self.rows.add(
            "events",
            run_id=self.run_id,
            line=line,
            iteration=fields.get("iteration", at),
            kind=kind,
            printed_at=fields.get("printed_at"),
            raw=raw,
        )

    def fail(self, record: Record, line: int, refines: str | None) -> None:
        """A failure; the first one counts, unless this line is more specific."""
        if "job_id" in record.fields:
            self.job_ids[str(record.fields["job_id"])] = None
        status = self.termination.fail(self.hang_detection.judged(record), line, refines)
        self.steps.restarted(line)
        if status:
            self.add_event(record, line, status)

    def end(self, record: Record, line: int) -> None:
        """The run prints that it ended normally."""
        self.termination.end(line)
        epoch, *summary = (
            record.fields.get(name) for name in ("epoch", "train_runtime_s", "train_steps_per_s")
        )
        self.figures.summarize(record, line)
        self.done = self.done or steps_in(*summary)
        self.late.last_epoch = epoch if isinstance(epoch, float) else self.late.last_epoch
        self.add_event(record, line, "end")

    def measure(self, record: Record, line: int) -> None:
        """A value of the whole run; with the last step, it also gives the number of steps."""
        step = record.fields.get("iteration")
        self.done = step if isinstance(step, int) else self.done
        self.figures.measure(record, line)

    def _clock(self, record: Record, line: int) -> None:
        """An interval between the times of two lines, such as MLPerf's time to train."""
        at, what = record.fields.get("printed_at"), record.fields.get("clock")
        if not isinstance(at, datetime):
            return
        if what == "starts":
            self.timed_from = at
        elif what == "stops" and self.timed_from is not None:
            seconds = (at - self.timed_from).total_seconds()
            fields: Fields = {"metric": "time_to_train", "value": seconds, "unit": "s"}
            self.figures.measure(replace(record, fields=fields | {"scope": "job"}), line)

    def finish(self, flags: Mapping[str, Flags], next_line: int | None = None) -> None:
        """Stores the run, its topology, its environment and its warnings."""
        self._place(self.late.settle(self.steps, self._plan))
        if self.unnumbered.kept and not (self.steps.count or self.late.has_any):
            self.steps.forget_parts()
            for one in list(self.unnumbered.steps()):
                self.add_step(*one)
        self.steps.finish()
        for step, record, at in self.late.place(self.steps, self._plan()):
            if not self.has_begun:
                self._begin(record, at)
            self.figures.add_memory(record, at, step)
        self.header.place({name: (flag.value, flag.line) for name, flag in flags.items()})
        if self.train_iters:
            self.header.named.pop("train_iters", None)  # lines of steps know better
        columns = self.header.columns()
        self._close(columns)
        self._store_warnings()
        launched = LAUNCHED in self.started_by
        outcome = self.termination.outcome(self.last_line, next_line, launched=launched)
        columns.setdefault("train_iters", None if self.beyond else self.train_iters)
        self.rows.add(
            "runs",
            source_id=self.source_id,
            run_id=self.run_id,
            origin="log",
            line=self.line,
            last_line=self.last_line,
            segment=self.steps.segment,
            framework=self.header.framework() or self.framework or self.engine,
            status=outcome.status,
            status_reason=outcome.reason,
            status_line=outcome.line,
            kind="measured",
            flags=[],
            date=self.date,
            job_ids=list(self.job_ids),
            **{name: columns.get(name) for name in sorted(RUN_COLUMNS)},
        )
        topology = {name: columns.get(name) for name in sorted(TOPOLOGY_COLUMNS)}
        if any(value is not None for value in topology.values()):
            self.rows.add("topology", run_id=self.run_id, **topology)
        for name, flag in flags.items():
            row = {"name": name, "value": flag.value, "kind": flag.kind, "line": flag.line}
            self.rows.add("env_flags", run_id=self.run_id, **row)

    def _close(self, columns: Fields) -> None:
        """The scope of each quantity by equations among the steps; a warning for one without."""
        found = quantities(self.steps.first, sizes_of(columns))
        for one in found:
            self.rows.add(
                "quantities",
                run_id=self.run_id,
                metric=one.column,
                scope=one.scope,
                equation=one.equation,
                residual=one.residual,
                steps=one.steps,
                used=one.is_used,
            )
        for message in left_out(found):
            self.rows.warn("does_not_close", message, self.line)

    def _store_warnings(self) -> None:
        if self.steps.lost:
            message = f"{self.steps.lost} losses are left out: their lines give no step"
            self.rows.warn("no_step", message, self.line)
        if self.steps.copies:
            message = f"{self.steps.copies} iteration lines are copies of others (several ranks)"
            self.rows.warn("copied_lines", message, self.line)
        for key, count in sorted(self.invalid.items()):
            message = f"{count} values of `{redact_text(key)}` are no number, kept as printed"
            self.rows.warn("misfit", message, self.line)
