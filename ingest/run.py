"""One run while its log is read: iterations out at once, the run itself when it is over."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from ..schema.rows import Rows
from .header import RUN_COLUMNS, TOPOLOGY_COLUMNS, Header
from .record import Fields, Record
from .secrets import redact, redact_text

# Several ranks print the same line at about the same time: a copy comes within so many lines.
COPIES_WITHIN = 64
FAILURES_KEPT = 3
REASON_LENGTH = 400


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended, and the line that says so."""

    line: int
    status: str
    reason: str | None = None
    generic: bool = False  # a later line may tell the cause


@dataclass(slots=True)
class Run:
    """The state of one run of a log."""

    run_id: str
    source_id: str
    rows: Rows
    line: int
    last_line: int
    header: Header
    segment: int = 1
    iteration: int | None = None  # the last one
    iterations: int = 0  # lines stored
    copies: int = 0
    framework: str | None = None
    train_iters: int | None = None
    date: str | None = None
    started_by: set[str] = field(default_factory=set)  # formats of the header lines seen
    ended: Outcome | None = None
    failure: Outcome | None = None
    lost: Outcome | None = None  # first line of a stretch without loss, with nan
    job_ids: dict[str, None] = field(default_factory=dict)
    failures: set[str] = field(default_factory=set)
    misfits: Counter[str] = field(default_factory=Counter)
    recent: deque[str] = field(default_factory=lambda: deque(maxlen=COPIES_WITHIN))

    def over_at(self, dialect: str) -> bool:
        """Whether a header line of this format belongs to the next run."""
        finished = self.failure is not None or self.ended is not None
        return self.iterations > 0 or (finished and dialect in self.started_by)

    def add_iteration(self, record: Record, line: int) -> None:
        """One iteration line; a copy by another rank is only counted."""
        text = record.raw.strip()
        if text in self.recent:
            self.copies += 1
            return
        self.recent.append(text)
        iteration = record.fields["iteration"]
        assert isinstance(iteration, int)
        length = self._advance(iteration)
        self._keep_from(record, line)
        row: Fields = {"run_id": self.run_id, "segment": self.segment, "interval_length": length}
        row |= record.fields | {"line": line}
        row.pop("train_iters", None)
        more = record.fields.get("more")
        if isinstance(more, dict):
            row["more"] = {key: redact(key, text) for key, text in more.items()}
        self.rows.by_table["iterations"].append(row)

    def _advance(self, iteration: int) -> int | None:
        """The length of the interval; a rewind starts a new segment."""
        length = None
        if self.iteration is not None:
            if iteration > self.iteration:
                length = iteration - self.iteration
            else:
                self.segment += 1
        self.iteration = iteration
        self.iterations += 1
        return length

    def _keep_from(self, record: Record, line: int) -> None:
        fields = record.fields
        self.failure = self.ended = None  # whatever it was, the run went on
        self.misfits.update(record.misfits)
        self._date(fields)
        goal = fields.get("train_iters")
        if isinstance(goal, int) and goal > 0:
            self.train_iters = goal
        if self.train_iters and (self.iteration or 0) >= self.train_iters:
            self.ended = Outcome(line, "ok")
        if not _without_loss(fields):
            self.lost = None
        elif self.lost is None:
            self.lost = Outcome(line, "nan", "no loss printed, with nan gradients or iterations")

    def _date(self, fields: Fields) -> None:
        if self.date is None and "printed_at" in fields:
            self.date = str(fields["printed_at"])

    def add_event(self, record: Record, line: int, kind: str) -> None:
        """A save, a phase, a failure: its text with secrets taken out."""
        fields = record.fields
        self._date(fields)
        self.rows.add(
            "events",
            run_id=self.run_id,
            line=line,
            iteration=fields.get("iteration", self.iteration),
            kind=kind,
            printed_at=fields.get("printed_at"),
            raw=redact_text(record.raw.strip()),
        )

    def fail(self, record: Record, line: int, refines: str | None) -> None:
        """A failure; the first one counts, unless this line tells it better."""
        status, text = str(record.fields["status"]), redact_text(record.raw.strip())
        if "job_id" in record.fields:
            self.job_ids[str(record.fields["job_id"])] = None
        if self.failure is None or (refines is not None and refines == self.failure.status):
            generic = record.fields.get("generic") is True
            self.failure = Outcome(line, status, text[:REASON_LENGTH], generic)
        if len(self.failures) < FAILURES_KEPT and text not in self.failures:
            self.failures.add(text)
            self.add_event(record, line, status)

    def explain(self, record: Record) -> None:
        """The exception that ends a traceback: the reason of the failure that it began."""
        if self.failure is not None and self.failure.generic:
            reason = redact_text(record.raw.strip())[:REASON_LENGTH]
            self.failure = Outcome(self.failure.line, self.failure.status, reason)

    def end(self, record: Record, line: int) -> None:
        """The run says that it ends as it should."""
        self.failure = None
        if self.ended is None:
            self.ended = Outcome(line, "ok")
        self.add_event(record, line, "end")

    def evaluate(self, record: Record, line: int) -> None:
        """Losses on a validation or test set."""
        fields = record.fields
        losses, more = fields.get("losses", {}), fields.get("more", {})
        assert isinstance(losses, dict) and isinstance(more, dict)
        for metric in [*losses, *more]:
            self.rows.add(
                "evaluations",
                run_id=self.run_id,
                line=line,
                iteration=fields.get("iteration"),
                name=fields.get("set", fields["name"]),
                metric=metric,
                value=losses.get(metric),
            )

    def _outcome(self, next_line: int | None) -> Outcome:
        outcomes = [outcome for outcome in (self.failure, self.ended, self.lost) if outcome]
        if outcomes:
            return min(outcomes, key=lambda outcome: outcome.line)
        if next_line is None:
            reason = "end of file before the end of training"
            return Outcome(self.last_line, "running", reason)
        reason = f"stopped before the end of training: line {next_line} begins the next run"
        return Outcome(self.last_line, "fail", reason)

    def finish(self, next_line: int | None = None) -> None:
        """Store the run, its topology and what was odd about it."""
        columns = self.header.columns()
        self._store_warnings()
        outcome = self._outcome(next_line)
        columns.setdefault("train_iters", self.train_iters)
        self.rows.add(
            "runs",
            source_id=self.source_id,
            run_id=self.run_id,
            origin="log",
            line=self.line,
            last_line=self.last_line,
            segment=self.segment,
            framework=self.header.framework() or self.framework,
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

    def _store_warnings(self) -> None:
        if self.copies:
            message = f"{self.copies} iteration lines are copies of others (several ranks)"
            self.rows.warn("copied_lines", message, self.line)
        for key, count in sorted(self.misfits.items()):
            message = f"{count} values of `{redact_text(key)}` are no number, kept as printed"
            self.rows.warn("misfit", message, self.line)


def _without_loss(fields: Fields) -> bool:
    """No loss at all, while gradients or iterations are nan: how a diverged run looks."""
    more, nans = fields.get("more"), fields.get("nan")
    printed = isinstance(more, dict) and any(text.lower() == "nan" for text in more.values())
    return "losses" not in fields and (printed or (isinstance(nans, int) and nans > 0))
