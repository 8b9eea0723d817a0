"""How a run ends: the first true cause and its line, and whether it had hung before."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ...vocabulary.secrets import redact_text
from .record import Fields, Record

FAILURES_KEPT = 3
# A program that gets a signal to stop may still end normally.
STOPPED_FROM_OUTSIDE = frozenset(("cancelled", "timeout"))
REASON_LENGTH = 400
NEAR_THE_END = 60  # lines of a scheduler's report and of the launchers' messages
INTERVALS = 10  # as many as are usual between two lines, and
LEAST_S = 300.0  # seconds without a step are no slow step; views/02_jobs.sql has the same


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended, and the line that states it."""

    line: int
    status: str
    reason: str | None = None
    generic: bool = False  # a later line may state the cause
    weak: bool = False  # a consequence of another process's failure

    @property
    def vague(self) -> bool:
        """Whether a later line may still state the true cause."""
        return self.generic or self.weak


@dataclass(slots=True)
class TerminationTracker:
    """The lines about the end of a run, so far."""

    ended: Outcome | None = None
    failure: Outcome | None = None
    lost: Outcome | None = None  # first line of a stretch without loss, with nan
    launcher_verdict: Outcome | None = None  # our launcher's line on how the run ended
    stopped: Outcome | None = None  # the launcher stops the processes, for any reason
    unhandled_exception: Outcome | None = None  # an exception without traceback
    scheduler_report: Outcome | None = None  # Slurm, LSF, ... above the job's output
    failures: set[str] = field(default_factory=set)

    @property
    def over(self) -> bool:
        """Whether the run has ended, in whatever way."""
        return bool(self.failure or self.ended or self.stopped or self.launcher_verdict)

    def resumed(self, fields: Fields, line: int, reached: bool) -> None:
        """A step after all: whatever was seen before was not the end."""
        # A failure that the run survives (a rank restarted, an exception caught) is not its end.
        self.failure = self.ended = self.stopped = self.unhandled_exception = None
        if reached:
            self.ended = Outcome(line, "ok")
        if not _without_loss(fields):
            self.lost = None
        elif self.lost is None:
            self.lost = Outcome(line, "nan", "no loss printed, with nan gradients or iterations")

    def fail(self, record: Record, line: int, refines: str | None) -> str | None:
        """A failure; the first counts, unless this one is more specific. Its status, if new."""
        status, text = str(record.fields["status"]), redact_text(record.raw.strip())
        if record.fields.get("final") is True:
            evidence = redact_text(str(record.fields.get("evidence", status)))
            self.launcher_verdict = Outcome(line, status, evidence[:REASON_LENGTH])
            return status
        decisive = record.fields.get("scheduler") is True or self._is_cancelled(status, record)
        if self.failure is None or self._gives_way(status, refines, decisive):
            generic, weak = (record.fields.get(key) is True for key in ("generic", "weak"))
            self.failure = Outcome(line, status, text[:REASON_LENGTH], generic, weak)
        elif self.failure.generic and self._is_its_exception(status, record):
            self.failure = replace(self.failure, reason=text[:REASON_LENGTH], weak=True)
        if len(self.failures) < FAILURES_KEPT and text not in self.failures:
            self.failures.add(text)
            return status
        return None

    def report(self, record: Record, line: int) -> None:
        """A scheduler's report above the output of the job: the first line counts."""
        if self.scheduler_report is None:
            reason = redact_text(record.raw.strip())[:REASON_LENGTH]
            self.scheduler_report = Outcome(line, str(record.fields["status"]), reason)

    def _gives_way(self, status: str, refines: str | None, decisive: bool) -> bool:
        """Whether a line is more specific than the failure that counts so far.

        `decisive`: it is the scheduler's, at the end of the job, with its cause.
        """
        have = self.failure
        if have is not None and (have.status, status) == ("cancelled", "timeout"):
            return True  # why it was stopped
        if have is None or not have.vague:
            return False
        if have.weak and status in STOPPED_FROM_OUTSIDE:
            return decisive  # when a process fails, the others are stopped
        # A step is also ended when one of its tasks has failed.
        return refines == have.status or (have.status == "cancelled" and status != "cancelled")

    def _is_cancelled(self, status: str, record: Record) -> bool:
        """Whether the scheduler tells of the cancellation for which srun stops the tasks."""
        have, weak = self.failure, record.fields.get("weak") is True
        return have is not None and have.status == status == "cancelled" and not weak

    def _is_its_exception(self, status: str, record: Record) -> bool:
        """Whether a failure ends the traceback that counts so far, of this rank or another."""
        have, weak = self.failure, record.fields.get("weak") is True
        return have is not None and not have.weak and weak and have.status == status

    def explain(self, record: Record, line: int) -> None:
        """The exception that ends a traceback: the reason of the failure that it began.

        One without traceback counts where the log ends with it.
        """
        reason = redact_text(record.raw.strip())[:REASON_LENGTH]
        if self.failure is None:
            self.unhandled_exception = Outcome(
                line, str(record.fields.get("status", "fail")), reason
            )
        elif self.failure.generic:
            status = str(record.fields.get("status", self.failure.status))
            self.failure = Outcome(self.failure.line, status, reason)

    def stop(self, line: int) -> None:
        """The launcher stops the processes: no cause, but an end."""
        if self.stopped is None:
            reason = "the launcher stops its processes; no cause is printed before"
            self.stopped = Outcome(line, "fail", reason)

    def end(self, line: int) -> None:
        """The run prints that it ended normally."""
        if self.failure is None or self.failure.status not in STOPPED_FROM_OUTSIDE:
            self.failure = None
        if self.ended is None:
            self.ended = Outcome(line, "ok")

    def outcome(self, last_line: int, next_line: int | None, *, launched: bool = False) -> Outcome:
        """The launcher's verdict, else the first cause; else its end is unknown.

        `launched`: by `bench launch`, which closes every log that it begins.
        """
        if self.launcher_verdict:
            return self.launcher_verdict
        exception, report = self.unhandled_exception, self.scheduler_report
        # Programs print exceptions that they handle: one far above the end did not end the run.
        if exception and last_line - exception.line > NEAR_THE_END:
            exception = None
        seen = [one for one in (self.failure, self.ended, self.lost) if one]
        # A report is of the job, not of each of its runs: it can only be about the last one. Any
        # line of the run about its end is more specific than `job failed`.
        if next_line is not None or (report and seen and report.status == "fail"):
            report = None
        # Prefer the exception to secondary failures: processes that are stopped since one failed.
        cause = exception or report
        if cause and all(one is self.failure and one.weak for one in seen):
            return cause
        if seen:
            return min(seen, key=lambda outcome: outcome.line)
        if self.stopped:
            return self.stopped
        if next_line is None and launched:
            return Outcome(last_line, "running", "bench launch has not stated its end")
        if next_line is None:
            return Outcome(last_line, "ended", "the log ends without a closing line")
        reason = f"stopped before the end of training: line {next_line} begins the next run"
        return Outcome(last_line, "fail", reason)


@dataclass(slots=True)
class HangDetection:
    """When the last step was printed, and the time between lines of steps.

    A run that was ended from outside long after its last step had hung.
    """

    last: datetime | None = None
    every_s: float = 0.0

    def step(self, fields: Fields, interval_length: int | None) -> None:
        """A line of a step."""
        at, step_time_s = fields.get("printed_at"), fields.get("step_time_s")
        if isinstance(at, datetime):
            self.last = at
        if isinstance(step_time_s, float):
            self.every_s = step_time_s * (interval_length or 1)

    def judged(self, record: Record) -> Record:
        """The failure; as a hang if it came long after the last step."""
        ended, status = record.fields.get("printed_at"), record.fields.get("status")
        if (
            status not in STOPPED_FROM_OUTSIDE
            or self.last is None
            or not isinstance(ended, datetime)
        ):
            return record
        quiet = max(INTERVALS * self.every_s, LEAST_S)
        try:
            silent = ended - self.last > timedelta(seconds=quiet)
        except OverflowError:
            return record
        if not silent:
            return record
        raw = f"{record.raw.strip()}; last step at {self.last}"
        return replace(record, fields=record.fields | {"status": "hang"}, raw=raw)


def _without_loss(fields: Fields) -> bool:
    """No loss, while gradients or iterations are nan: a diverged run."""
    more, nans = fields.get("more"), fields.get("nan")
    printed = isinstance(more, dict) and any(str(t).lower() in NANS for t in more.values())
    found = "losses" in fields or "loss" in fields
    return not found and (printed or (isinstance(nans, int) and nans > 0))


NANS = frozenset(("nan", "nan.0", "-nan"))
