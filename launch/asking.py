"""The words of a scheduler, said; and what it answers: one question for all jobs."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from ..schema.errors import BenchError
from .launchers.scheduler import JobState, Scheduler

ANSWER_S = 60.0  # for a word of the scheduler
_UNKNOWN = re.compile(r"(?:invalid|unknown|no such) job|job .{0,40}(?:not found|not exist)", re.I)


def states(scheduler: Scheduler, job_ids: Sequence[str]) -> dict[str, JobState | None]:
    """How jobs stand; None for one that the scheduler does not know, which one that cannot be
    asked does not say."""
    found: dict[str, JobState] = {}
    unknown: set[str] = set()
    for words, asked in scheduler.ask(job_ids):
        if found.keys() >= set(asked):
            continue
        try:
            done = _said(words)
        except BenchError:  # no accounting, say: the next may know
            continue
        told = scheduler.states(done.stdout, asked)
        found = told | found
        if done.returncode == 0 or _UNKNOWN.search(done.stderr):
            unknown |= set(asked)
    nobody = JobState("not to be asked")
    return {one: found.get(one, None if one in unknown else nobody) for one in job_ids}


def most(scheduler: Scheduler) -> int:
    """How many tasks an array may have: as the scheduler says, else as it comes."""
    try:
        return scheduler.most(_said(scheduler.limits).stdout if scheduler.limits else "")
    except BenchError:
        return scheduler.most("")


def say(words: Sequence[str], folder: Path | None = None, into: TextIO | None = None) -> str:
    """What it prints, unless it goes into a file. Raises BenchError where it fails."""
    done = _said(words, folder, into)
    if done.returncode:
        said = done.stderr or done.stdout or ""
        raise BenchError(f"{words[0]} failed", why=said.strip()[-400:])
    return done.stdout or ""


def _said(
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
            f"{words[0]} is not here", hint="launch on a machine that the scheduler runs on"
        ) from error
    except subprocess.TimeoutExpired as error:
        why = f"no answer within {ANSWER_S:g} s"
        raise BenchError(f"{words[0]} does not answer", why=why) from error
