"""Interfaces of launchers and schedulers; each implementation is a file of launchers/."""

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
# The schedulers' options for the processes per node, and for nodes.
EACH = ("ntasks-per-node", "mpiprocs", "max-proc-per-node")
NODES = ("node", "nodes")
_CLOCK = re.compile(r"(?:[0-9]{1,6}-)?[0-9]{1,12}(?::[0-9]{1,12}){0,2}")
_SHAPE = re.compile(r"(\d+(?:x\d+)*)(?::.*)?")


def nodes_of(settings: Words, job: Words) -> int:
    """Nodes of a run: from the settings, else from the options (`2x3x2:torus` is 12), else 1."""
    nodes = settings.get("nodes")
    return nodes if isinstance(nodes, int) else _by_options(job) or 1


def layout_error(
    settings: Words, job: Words, ranks: int | None, per_node: Sequence[str] = EACH
) -> str | None:
    """Why ranks cannot be distributed over nodes; None if they can, or if ranks are unknown."""
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
    """Runs with the same resources: a single job, or an array with one task per run."""

    name: str
    script: Path  # path of the script
    tasks: Sequence[Path]  # the run folders' `command.sh`
    logs: Sequence[Path]  # the log of each task
    nodes: int
    ranks: int
    threads: int | None  # of one process; None: unknown, the nodes decide
    time_s: float | None
    memory_gb: float | None  # of one node
    options: Mapping[str, object]  # scheduler options by the scheduler's names

    @property
    def ranks_per_node(self) -> int:
        """The number of processes per node."""
        return -(-self.ranks // self.nodes)


@dataclass(frozen=True, slots=True)
class JobState:
    """State of a task: `word` is the scheduler's; `status` is ours, None until the task ends."""

    word: str
    status: str | None = None
    exit_code: int | None = None
    elapsed_s: float | None = None  # as counted by the scheduler


StateQuery = tuple[list[str], Sequence[str]]  # command, and the job ids that it queries


class Launcher(ABC):
    """Starts the processes of a run; `command` only builds the command line."""

    is_local: ClassVar[bool] = True  # whether it runs on this machine

    @classmethod
    def of(cls, trainer: Trainer) -> Launcher:
        """The launcher for a trainer. Raises BenchError if they cannot be combined."""
        return cls()

    @abstractmethod
    def command(self, words: Sequence[str], ranks: int, nodes: int) -> list[str]:
        """The command line that starts this trainer with the case's processes and nodes."""


class Scheduler(Launcher):
    """A launcher that submits jobs; methods build commands or parse output, none runs anything."""

    is_local = False
    submits: ClassVar[str]  # the program that must be installed
    executing: ClassVar[str]  # its word for the state of a task that runs
    limits: ClassVar[Sequence[str]] = ()  # prints the array limit
    per_node: ClassVar[Sequence[str]] = EACH  # options for the number of processes of a node
    unquotable: ClassVar[Mapping[str, str]] = {}  # forbidden characters of options: why

    @abstractmethod
    def script(self, job: Job) -> str:
        """The job script."""

    @abstractmethod
    def submit(self, job: Job) -> list[str]:
        """The command that submits the script, to be run in the script's folder."""

    @abstractmethod
    def job_ids(self, answer: str, tasks: int) -> list[str]:
        """The id of each task, from the output of `submit`."""

    @abstractmethod
    def array_limit(self, answer: str) -> int:
        """The maximum of tasks in an array, from the output of `limits`."""

    @abstractmethod
    def state_queries(self, job_ids: Sequence[str]) -> list[StateQuery]:
        """Commands that query job states; the first one that knows a job counts."""

    @abstractmethod
    def states(self, answer: str, job_ids: Sequence[str]) -> dict[str, JobState]:
        """The states of these jobs in a query's output."""

    @abstractmethod
    def cancel(self, job_ids: Sequence[str]) -> list[str]:
        """The command that cancels tasks."""


def launcher_class(name: str) -> type[Launcher]:
    """The class of a launcher by its name in plans."""
    found = registry.load("launchers", name)
    assert issubclass(found, Launcher), f"launchers/{name}.py defines no launcher"
    return found


def launcher(plan: Plan, trainer: Trainer) -> Launcher:
    """The launcher of a plan. Raises BenchError if it cannot start the trainer."""
    return launcher_class(plan.launcher).of(trainer)


def scheduler_class(name: str) -> type[Scheduler] | None:
    """The class of a scheduler by its name in plans; None for a local launcher."""
    found = launcher_class(name)
    return found if issubclass(found, Scheduler) else None


def scheduler_hint() -> str:
    """A hint for plans without a scheduler: launcher = 'pbs', 'pjm' or 'slurm'."""
    *first, last = (repr(name) for name in registry.names("launchers") if scheduler_class(name))
    return f"launcher = {', '.join(first)} or {last}"


def seconds(clock: str) -> float | None:
    """`1-02:03:04`, `2:03:04` or `03:04` as seconds; None for any other text."""
    if not _CLOCK.fullmatch(clock):
        return None
    days, _, rest = clock.rpartition("-")
    total = 0.0
    for part in rest.split(":"):
        total = 60 * total + float(part)
    return total + 86400 * float(days or 0)


def clock(seconds: float, step: int = 1) -> str:
    """H:MM:SS, rounded up to a multiple of `step` seconds; schedulers take 0 as no limit."""
    total = max(1, math.ceil(seconds / step)) * step
    return f"{total // 3600}:{total // 60 % 60:02d}:{total % 60:02d}"


def log_redirection(job: Job, variable: str) -> str:
    """The script line that redirects output to the log; works for any folder name."""
    if len(job.logs) == 1:
        return f"exec >>{shlex.quote(str(job.logs[0]))} 2>&1"
    return f'exec >>{shlex.quote(f"{job.script.parent}/")}"${variable}.log" 2>&1'


def directive(word: str, value: object) -> str:
    """`word=value` as a directive's argument, quoted for a shell where it has blanks."""
    return shlex.quote(f"{word}={value}")


def task_dispatch(tasks: Sequence[Path], variable: str) -> str:
    """The script lines that run the array's current task, or the only task."""
    if len(tasks) == 1:
        return f"exec sh {shlex.quote(str(tasks[0]))}\n"
    cases = [
        f"  {number}) exec sh {shlex.quote(str(task))} ;;" for number, task in enumerate(tasks)
    ]
    return "\n".join([f'case "${variable}" in', *cases, "esac", ""])


def port(number: str) -> str:
    """A port derived from the job id by the shell, so that jobs on a node do not collide.

    It is below the kernel's range of ephemeral ports.
    """
    return f"$((20000 + ({number}) % 12000))"


def torchrun(words: Sequence[str], ranks: int, nodes: int) -> list[str]:
    """torchrun on each of several nodes; `rendezvous` is the address where they meet."""
    each = ["--nnodes", str(nodes), "--nproc-per-node", str(-(-ranks // nodes))]
    return in_every_rank(words, *each, "--rdzv-backend", "c10d")


def in_every_rank(words: Sequence[str], *options: str) -> list[str]:
    """The trainer's Python runs torchrun, which runs the whole command in every rank.

    `-P` keeps a torch/ in the working folder from shadowing torchrun. A command adds it only for
    itself: a script needs the modules of its own folder.
    """
    return [words[0], "-P", "-m", "torch.distributed.run", *options, "--no-python", *words]


def rendezvous(hosts: str, number: str) -> str:
    """The script line that sets torchrun's rendezvous to the first host that a command lists."""
    return f'export PET_RDZV_ENDPOINT="$({hosts} | head -n 1):{port(number)}"'
