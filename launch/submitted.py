"""What a scheduler answered when jobs were submitted, so that a launcher that is killed loses none.

The word that submits writes its answer into a file itself: no moment lies between the two. It holds
a lock on that file while it runs, which tells one that is still under way from one that never was.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

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


def answered(jobs: Path, token: str, wait_s: float) -> Submitted | None:
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
