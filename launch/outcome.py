"""The outcome of a run and its evidence: our own action, else the log and the exit code."""

from __future__ import annotations

import signal
import statistics
from dataclasses import dataclass
from pathlib import Path

from ..ingest.files.content import read_content
from ..ingest.files.source import read_file
from ..ingest.files.task import Task
from ..schema.rows import Row

OK, RUNNING = "ok", "running"
CANCELLED = "cancelled"
_LAST = 100  # characters shown of the last line
_NOT_ITS_OWN = ("bench launch ", "slurmstepd", "=>> PBS:")
_VMSTAT = Path("/proc/vmstat")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Status (ok, oom, hang, timeout, fail, nan, cancelled), its evidence, step time in s."""

    status: str
    evidence: str = ""
    step_time_s: float | None = None


@dataclass(frozen=True, slots=True)
class LogSummary:
    """A parsed log: the status, its reason, the steps."""

    status: str
    reason: str
    iterations: int
    step_time_s: float | None
    done: bool = False  # the log states the end of the training


def read_log(log: Path, formats: Path | None = None) -> LogSummary:
    """The last run of a log as `bench ingest` reads it; `formats` is a folder of user formats."""
    task = Task(read_content(log), log.as_posix(), "launch", formats)
    rows = read_file(task).rows.by_table
    runs, steps = rows.get("runs", []), rows.get("iterations", [])
    if not runs:
        return LogSummary(RUNNING, "", 0, None)
    run = runs[-1]
    own = [step for step in steps if step["run_id"] == run["run_id"]]
    done = any(
        event["kind"] == "end" and event["run_id"] == run["run_id"]
        for event in rows.get("events", [])
    )
    return LogSummary(
        str(run["status"]), str(run["status_reason"] or ""), len(own), _median(own), done
    )


def is_over(log: Path, formats: Path | None = None) -> bool:
    """Whether the log of an active run states that its training ended successfully."""
    summary = read_log(log, formats)
    return summary.done and summary.status == OK and summary.iterations > 0


def hung_exit(why: str) -> tuple[str, str]:
    """Status and evidence of a run that hung after the end of its training."""
    return OK, f"hung on exit after training finished, killed: {why}"


def outcome_of_exit(
    log: Path, summary: LogSummary, exit_code: int | None, kernel_kills: int = 0
) -> Outcome:
    """The outcome of a run that ended by itself.

    An abort at interpreter shutdown, after the end of the training, is not a failure.
    """
    step = summary.step_time_s
    if summary.status not in (OK, RUNNING):
        return Outcome(summary.status, summary.reason, step)
    if exit_code == 0 or (summary.status == OK and exit_code in (-signal.SIGABRT, 134)):
        if summary.iterations:
            after = "" if exit_code == 0 else "aborted on exit after training finished"
            return Outcome(OK, after, step)
        return Outcome("fail", f"no step recognized in the log; {last_line(log)}", step)
    code = describe_exit_code(exit_code)
    if exit_code in (-signal.SIGKILL, 137) and kernel_kills > 0:
        evidence = f"{code}; the kernel OOM killer ended {kernel_kills} process(es)"
        return Outcome("oom", evidence, step)
    return Outcome("fail", f"{code}; {last_line(log)}", step)


def outcome_of_stop(summary: LogSummary, status: str, why: str) -> Outcome:
    """The outcome of a run that was ended from outside; a cause in its log has precedence."""
    known = summary.status == status and status not in (OK, CANCELLED) and summary.reason
    return Outcome(status, f"{summary.reason}; {why}" if known else why, summary.step_time_s)


def describe_exit_code(code: int | None) -> str:
    """An exit code in words."""
    number = -code if code is not None and code < 0 else (code or 0) - 128
    try:
        return f"exit code {code} ({signal.Signals(number).name})"
    except ValueError:
        return f"exit code {code}"


def last_line(log: Path) -> str:
    """The last line of the program's own output with any text."""
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - 8192))
        lines = stream.read().decode("utf-8", "replace").splitlines()
    printed = [line.strip() for line in lines if line.strip() and not line.startswith(_NOT_ITS_OWN)]
    if not printed:
        return "no output"
    line = " ".join(printed[-1].split())
    return f"last line: {line if len(line) <= _LAST else line[:_LAST] + '...'}"


def kernel_kills() -> int:
    """How many processes the kernel has killed for want of memory since it was started."""
    if not _VMSTAT.exists():
        return 0
    rows = dict(line.split() for line in _VMSTAT.read_text().splitlines())
    return int(rows.get("oom_kill", 0))


def _median(steps: list[Row]) -> float | None:
    """Median of the steps but the first, which warms up."""
    times = [time for step in steps[1:] or steps if isinstance(time := step["step_time_s"], float)]
    return statistics.median(times) if times else None
