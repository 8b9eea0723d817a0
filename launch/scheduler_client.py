"""Runs a scheduler's commands; stores submissions, so that a killed launcher loses no job."""

from __future__ import annotations

import fcntl
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from ..schema.errors import BenchError
from .launcher import JobState, Scheduler

ANSWER_S = 60.0  # timeout of a scheduler command
_UNKNOWN = re.compile(r"(?:invalid|unknown|no such) job|job .{0,40}(?:not found|not exist)", re.I)


def states(scheduler: Scheduler, job_ids: Sequence[str]) -> dict[str, JobState | None]:
    """States of jobs; None for one unknown to the scheduler, `unreachable` if queries fail."""
    found: dict[str, JobState] = {}
    unknown: set[str] = set()
    for words, ids in scheduler.state_queries(job_ids):
        if found.keys() >= set(ids):
            continue
        try:
            done = _run(words)
        except BenchError:  # such as missing accounting: try the next query
            continue
        answered = scheduler.states(done.stdout, ids)
        found = answered | found
        if done.returncode == 0 or _UNKNOWN.search(done.stderr):
            unknown |= set(ids)
    unreachable = JobState("unreachable")
    return {
        job_id: found.get(job_id, None if job_id in unknown else unreachable) for job_id in job_ids
    }


def array_limit(scheduler: Scheduler) -> int:
    """The maximum of tasks in an array: as configured, else the scheduler's default."""
    try:
        return scheduler.array_limit(_run(scheduler.limits).stdout if scheduler.limits else "")
    except BenchError:
        return scheduler.array_limit("")


def check_output(
    words: Sequence[str], folder: Path | None = None, into: TextIO | None = None
) -> str:
    """The command's output, unless it goes to the file `into`. Raises BenchError if it fails."""
    done = _run(words, folder, into)
    if done.returncode:
        output = done.stderr or done.stdout or ""
        raise BenchError(f"{words[0]} failed", why=output.strip()[-400:])
    return done.stdout or ""


def _run(
    words: Sequence[str], folder: Path | None = None, into: TextIO | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command in its own session, so that Ctrl-C does not reach it."""
    try:
        return subprocess.run(
            words, cwd=folder, stdout=into or subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=ANSWER_S, check=False, start_new_session=True,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise BenchError(
            f"{words[0]} not found", hint="launch on a node with the scheduler's commands"
        ) from error
    except subprocess.TimeoutExpired as error:
        why = f"no answer within {ANSWER_S:g} s"
        raise BenchError(f"{words[0]} timed out", why=why) from error


ANSWER, TASKS = "answer", "tasks"
_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Submitted:
    """The output of a submission, the job's number of tasks, and the index of a run's task."""

    answer: str
    tasks: int
    place: int


@contextmanager
def submitting(folder: Path, tokens: Sequence[str]) -> Iterator[TextIO]:
    """Open the file for a submission's output; `folder` is the job's, `tokens` its runs'."""
    (folder / TASKS).write_text("".join(f"{token}\n" for token in tokens))
    with (folder / ANSWER).open("w") as answer:
        fcntl.flock(answer, fcntl.LOCK_EX)  # the command that inherits the file keeps the lock
        yield answer


def find_submission(jobs: Path, token: str, wait_s: float) -> Submitted | None:
    """The submission of a run among the jobs of a folder; None if it was not submitted.

    Waits for an unfinished submission.
    """
    for file in jobs.glob(f"*/{TASKS}"):
        tokens = file.read_text().split()
        if token in tokens:
            answer = _read_when_unlocked(file.with_name(ANSWER), time.monotonic() + wait_s)
            return Submitted(answer, len(tokens), tokens.index(token)) if answer else None
    return None


def _read_when_unlocked(file: Path, until: float) -> str:
    """The file's text, once its lock is free."""
    if not file.exists():
        return ""
    with file.open() as stream:
        while time.monotonic() < until:
            try:
                fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_POLL_S)
        return stream.read()
