"""What starts the processes of a run. Each launcher or scheduler is a file of launchers/."""

from __future__ import annotations

import math
import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from . import registry

if TYPE_CHECKING:
    from .plan import Plan
    from .trainer import Trainer


Words = Mapping[str, object]
# What the schedulers call the processes of a node, and the nodes themselves.
EACH = ("ntasks-per-node", "mpiprocs", "max-proc-per-node")
NODES = ("node", "nodes")
_SHAPE = re.compile(r"(\d+(?:x\d+)*)(?::.*)?")


def nodes_of(settings: Words, job: Words) -> int:
    """Nodes of a run: what the settings say, else the options (`2x3x2:torus` is 12), else 1."""
    nodes = settings.get("nodes")
    return nodes if isinstance(nodes, int) else _by_options(job) or 1


def layout_error(
    settings: Words, job: Words, ranks: int | None, per_node: Sequence[str] = EACH
) -> str | None:
    """Why a run cannot be laid out, with the numbers; None: it can, or ranks are not known."""
    nodes, named = nodes_of(settings, job), _by_options(job)
    if named is not None and named != nodes:
        return f"nodes = {nodes}, but the job options request {named} nodes"
    if ranks is None:
        return None
    for word in per_node:
        each = job.get(word)
        if isinstance(each, int) and nodes * each != ranks:
            return f"{nodes} nodes x {word} {each} = {nodes * each}, but {_sizes(settings, ranks)}"
    if ranks % nodes:
        return (
            f"{_sizes(settings, ranks)} do not divide among {nodes} nodes: "
            f"{ranks} % {nodes} = {ranks % nodes}"
        )
    return None


def _by_options(job: Words) -> int | None:
    for word in NODES:
        shape = _SHAPE.fullmatch(str(job.get(word, "")))
        if shape is not None:
            return math.prod(map(int, shape[1].split("x")))
    return None


def _sizes(settings: Words, ranks: int) -> str:
    names = ("dp", "tp", "pp", *(("cp",) if settings.get("cp", 1) != 1 else ()))
    cuts = " x ".join(f"{name.upper()} {settings.get(name, 1)}" for name in names)
    return f"{cuts} = {ranks} processes"


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


StateQuery = tuple[list[str], Sequence[str]]  # words, and the jobs that they ask for


class Launcher(ABC):
    """One way to start a command; `command` only makes words, nothing runs."""

    is_local: ClassVar[bool] = True  # whether it runs on this machine

    @classmethod
    def of(cls, trainer: Trainer) -> Launcher:
        """The launcher of a trainer. Raises BenchError where they do not go together."""
        return cls()

    @abstractmethod
    def command(self, words: Sequence[str], ranks: int, nodes: int) -> list[str]:
        """The words that start this trainer's command with so many processes on so many nodes."""


class Scheduler(Launcher):
    """A launcher that submits jobs: every method makes words or reads an answer, nothing runs."""

    is_local = False
    submits: ClassVar[str]  # the program that has to be here
    limits: ClassVar[Sequence[str]] = ()  # words that tell how large an array may be; none: nobody
    per_node: ClassVar[Sequence[str]] = EACH  # options for the number of processes of a node
    unquotable: ClassVar[Mapping[str, str]] = {}  # characters that no option may have: why

    @abstractmethod
    def script(self, job: Job) -> str:
        """The job script."""

    @abstractmethod
    def submit(self, job: Job) -> list[str]:
        """The words that submit its script, said in its folder."""

    @abstractmethod
    def job_ids(self, answer: str, tasks: int) -> list[str]:
        """The id of each task, from what submitting printed."""

    @abstractmethod
    def array_limit(self, answer: str) -> int:
        """How many tasks an array may have, from the answer to `limits`."""

    @abstractmethod
    def state_queries(self, job_ids: Sequence[str]) -> list[StateQuery]:
        """What is asked for the states of jobs: the first that knows a job counts."""

    @abstractmethod
    def states(self, answer: str, job_ids: Sequence[str]) -> dict[str, JobState]:
        """The states that an answer tells of these jobs."""

    @abstractmethod
    def cancel(self, job_ids: Sequence[str]) -> list[str]:
        """The words that cancel tasks."""


def launcher_class(name: str) -> type[Launcher]:
    """The class of a launcher by its word in plans."""
    found = registry.load("launchers", name)
    assert issubclass(found, Launcher), f"launchers/{name}.py defines no launcher"
    return found


def launcher(plan: Plan, trainer: Trainer) -> Launcher:
    """The launcher of a plan. Raises BenchError where it does not go with the trainer."""
    return launcher_class(plan.launcher).of(trainer)


def scheduler_class(name: str) -> type[Scheduler] | None:
    """The class of a scheduler by its word in plans; None: it runs on this machine."""
    found = launcher_class(name)
    return found if issubclass(found, Scheduler) else None


def scheduler_hint() -> str:
    """What to write into a plan so that a scheduler runs it: launcher = 'pbs', 'pjm' or 'slurm'."""
    *first, last = (repr(name) for name in registry.names("launchers") if scheduler_class(name))
    return f"launcher = {', '.join(first)} or {last}"


def seconds(clock: str) -> float:
    """`1-02:03:04`, `2:03:04` or `03:04` as seconds."""
    days, _, rest = clock.rpartition("-")
    total = 0.0
    for part in rest.split(":"):
        total = 60 * total + float(part)
    return total + 86400 * float(days or 0)


def clock(seconds: float, step: int = 1) -> str:
    """H:MM:SS, rounded up to whole steps of so many seconds; none is no limit to schedulers."""
    total = max(1, math.ceil(seconds / step)) * step
    return f"{total // 3600}:{total // 60 % 60:02d}:{total % 60:02d}"


def log_redirection(job: Job, variable: str) -> str:
    """The line of a script that prints into the log as it goes, whatever the folder is called."""
    if len(job.logs) == 1:
        return f"exec >>{shlex.quote(str(job.logs[0]))} 2>&1"
    return f'exec >>{shlex.quote(f"{job.script.parent}/")}"${variable}.log" 2>&1'


def directive(word: str, value: object) -> str:
    """`word=value` as a directive's argument, quoted as a shell would where it has blanks."""
    return shlex.quote(f"{word}={value}")


def task_dispatch(tasks: Sequence[Path], variable: str) -> str:
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
    """torchrun on each of several nodes; `rendezvous` says where they find each other."""
    each = ["--nnodes", str(nodes), "--nproc-per-node", str(-(-ranks // nodes))]
    return in_every_rank(words, *each, "--rdzv-backend", "c10d")


def in_every_rank(words: Sequence[str], *options: str) -> list[str]:
    """The trainer's Python runs torchrun, and that the whole command in every rank.

    `-P`: a torch/ of the working folder is not torchrun. The command says so of itself: a script
    needs the modules beside it.
    """
    return [words[0], "-P", "-m", "torch.distributed.run", *options, "--no-python", *words]


def rendezvous(hosts: str, number: str) -> str:
    """The line of a script that tells torchrun the first of the hosts that a command lists."""
    return f'export PET_RDZV_ENDPOINT="$({hosts} | head -n 1):{port(number)}"'
