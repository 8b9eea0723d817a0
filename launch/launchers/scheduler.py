"""What a scheduler is to us: a script, a word to submit it, a word to ask, a word to cancel."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Job:
    """Runs with the same needs: one job, or an array of one task each."""

    name: str
    script: Path  # where the script is written
    tasks: Sequence[Path]  # the run folders' `command.sh`
    logs: Sequence[Path]  # where each task prints
    nodes: int
    ranks: int
    threads: int | None  # of one process; None: not known, the nodes have their own
    time_s: float | None
    memory_gb: float | None  # of one node
    options: Mapping[str, object]  # of the scheduler, by its own names

    @property
    def ranks_per_node(self) -> int:
        """Processes of one node."""
        return -(-self.ranks // self.nodes)


# A task that runs, in the words of Slurm, PBS and PJM.
EXECUTING = frozenset(("RUNNING", "R", "RUN"))


@dataclass(frozen=True, slots=True)
class JobState:
    """How a task stands: `status` is ours, None while it waits or runs; `word` the scheduler's."""

    word: str
    status: str | None = None
    exit_code: int | None = None
    elapsed_s: float | None = None  # as the scheduler counts it


Question = tuple[list[str], Sequence[str]]  # words, and the jobs that they ask for


class Scheduler(Protocol):
    """One scheduler; every method only makes words, or reads an answer: nothing runs here."""

    here: bool
    submits: str  # the program that has to be here

    def command(self, words: Sequence[str], ranks: int, nodes: int) -> list[str]:
        """What a task runs."""

    def script(self, job: Job) -> str:
        """The job script."""

    def submit(self, job: Job) -> list[str]:
        """The words that submit its script, said in its folder."""

    def job_ids(self, answer: str, tasks: int) -> list[str]:
        """The id of each task, from what submitting printed."""

    @property
    def limits(self) -> Sequence[str]:
        """The words that tell how large an array may be; none: nobody is asked."""

    def most(self, answer: str) -> int:
        """How many tasks an array may have, from the answer to `limits`."""

    def ask(self, job_ids: Sequence[str]) -> list[Question]:
        """What is asked for the states of jobs: the first that knows a job counts."""

    def states(self, answer: str, job_ids: Sequence[str]) -> dict[str, JobState]:
        """The states that an answer tells of these jobs."""

    def cancel(self, job_ids: Sequence[str]) -> list[str]:
        """The words that cancel tasks."""


def seconds(clock: str) -> float:
    """`1-02:03:04`, `2:03:04` or `03:04` as seconds."""
    days, _, rest = clock.rpartition("-")
    total = 0.0
    for part in rest.split(":"):
        total = 60 * total + float(part)
    return total + 86400 * float(days or 0)


def clock(seconds: float, step: int = 1) -> str:
    """H:MM:SS, rounded up to whole steps of so many seconds; none is no limit to schedulers."""
    whole = max(1, math.ceil(seconds / step)) * step
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def into(job: Job, variable: str) -> str:
    """The line of a script that prints into the log as it goes, whatever the folder is called."""
    if len(job.logs) == 1:
        return f"exec >>{shlex.quote(str(job.logs[0]))} 2>&1"
    return f'exec >>{shlex.quote(f"{job.script.parent}/")}"${variable}.log" 2>&1'


def directive(word: str, value: object) -> str:
    """`word=value` as a directive's argument, quoted as a shell would where it has blanks."""
    return shlex.quote(f"{word}={value}")


def choose(tasks: Sequence[Path], variable: str) -> str:
    """The lines of a script that run the task of an array, or the only one."""
    if len(tasks) == 1:
        return f"exec sh {shlex.quote(str(tasks[0]))}\n"
    cases = [
        f"  {number}) exec sh {shlex.quote(str(task))} ;;" for number, task in enumerate(tasks)
    ]
    return "\n".join([f'case "${variable}" in', *cases, "esac", ""])


def port(number: str) -> str:
    """A port as a shell works it out from the number of the job: two jobs of a node do not meet.

    Below those that the kernel hands out by itself.
    """
    return f"$((20000 + ({number}) % 12000))"


def torchrun(words: Sequence[str], ranks: int, nodes: int) -> list[str]:
    """torchrun on each of several nodes; `meet` says where they find each other."""
    python, *rest = words
    each = ["--nnodes", str(nodes), "--nproc-per-node", str(-(-ranks // nodes))]
    return [python, "-m", "torch.distributed.run", *each, "--rdzv-backend", "c10d", *rest]


def meet(hosts: str, number: str) -> str:
    """The line of a script that tells torchrun the first of the hosts that a command lists."""
    return f'export PET_RDZV_ENDPOINT="$({hosts} | head -n 1):{port(number)}"'
