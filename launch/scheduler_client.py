"""The commands of a scheduler: run, their answers read, and kept where a launcher is killed."""

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

ANSWER_S = 60.0  # for a word of the scheduler
_UNKNOWN = re.compile(r"(?:invalid|unknown|no such) job|job .{0,40}(?:not found|not exist)", re.I)


def states(scheduler: Scheduler, job_ids: Sequence[str]) -> dict[str, JobState | None]:
    """How jobs stand; None for one that the scheduler does not know, which one that cannot be
    asked does not say."""
    found: dict[str, JobState] = {}
    unknown: set[str] = set()
    for words, ids in scheduler.state_queries(job_ids):
        if found.keys() >= set(ids):
            continue
        try:
            done = _run(words)
        except BenchError:  # no accounting, say: the next may know
            continue
        answered = scheduler.states(done.stdout, ids)
        found = answered | found
        if done.returncode == 0 or _UNKNOWN.search(done.stderr):
            unknown |= set(ids)
    nobody = JobState("unreachable")
    return {one: found.get(one, None if one in unknown else nobody) for one in job_ids}


def array_limit(scheduler: Scheduler) -> int:
    """How many tasks an array may have: as the scheduler says, else as it comes."""
    try:
        return scheduler.array_limit(_run(scheduler.limits).stdout if scheduler.limits else "")
    except BenchError:
        return scheduler.array_limit("")


def check_output(
    words: Sequence[str], folder: Path | None = None, into: TextIO | None = None
) -> str:
    """What it prints, unless it goes into a file. Raises BenchError where it fails."""
    done = _run(words, folder, into)
    if done.returncode:
        output = done.stderr or done.stdout or ""
        raise BenchError(f"{words[0]} failed", why=output.strip()[-400:])
    return done.stdout or ""


def _run(
    words: Sequence[str], folder: Path | None = None, into: TextIO | None = None
) -> subprocess.CompletedProcess[str]:
    """In a session of its own, away from Ctrl-C."""
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
    """The answer, how many tasks the job has, and which of them a run is."""

    answer: str
    tasks: int
    place: int


@contextmanager
def submitting(folder: Path, tokens: Sequence[str]) -> Iterator[TextIO]:
    """Where the answer goes, for the runs with these tokens; `folder` is that of their job."""
    (folder / TASKS).write_text("".join(f"{token}\n" for token in tokens))
    with (folder / ANSWER).open("w") as answer:
        fcntl.flock(answer, fcntl.LOCK_EX)  # goes over to the program that is given the file
        yield answer


def find_submission(jobs: Path, token: str, wait_s: float) -> Submitted | None:
    """What was answered for a run of the jobs in a folder; None: it was not submitted.

    A submission that is under way is waited for.
    """
    for file in jobs.glob(f"*/{TASKS}"):
        tokens = file.read_text().split()
        if token in tokens:
            answer = _read(file.with_name(ANSWER), time.monotonic() + wait_s)
            return Submitted(answer, len(tokens), tokens.index(token)) if answer else None
    return None


def _read(file: Path, until: float) -> str:
    """Its text, as soon as the lock is free."""
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
