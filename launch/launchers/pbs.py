"""PBS Professional and OpenPBS: qsub, job arrays, qstat."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from ..launcher import (
    NODES,
    Job,
    JobState,
    Scheduler,
    StateQuery,
    clock,
    directive,
    log_redirection,
    rendezvous,
    seconds,
    task_dispatch,
    torchrun,
)
from ..trainer import Trainer
from .torchrun import Torchrun

# Resources requested once per job; all others are per chunk
# (pbs_resources(7B), "Resources": walltime, place, ... against ncpus, ngpus, mem, vmem, host, ...).
WHOLE = frozenset({
    "walltime", "min_walltime", "max_walltime", "soft_walltime", "cput", "pcput", "pmem", "pvmem",
    "place", "software", "file", "nice", "filesystems",
})  # fmt: skip
_MEMORY, _SPENT = frozenset((-26, -27)), frozenset((-28, -29))
LETTERS = {"queue": "q", "account": "A", "project": "P", "priority": "p"}
ATTRIBUTES = frozenset(("group_list", "umask", "sandbox"))


@dataclass(frozen=True, slots=True)
class Pbs(Scheduler):
    """A task is a subjob; its exit code includes what PBS did to it."""

    spawns: bool = True  # whether the trainer starts the processes of a single node itself

    @classmethod
    def of(cls, trainer: Trainer) -> Scheduler:
        """The launcher for the way the trainer starts its processes."""
        return cls(trainer.spawns)

    submits = "qsub"
    executing = "R"

    def command(self, words: Sequence[str], ranks: int, nodes: int) -> list[str]:
        """The trainer's own command, or torchrun; on several nodes mpiexec starts one on each."""
        if nodes == 1:
            return list(words) if self.spawns else Torchrun().command(words, ranks, nodes)
        return ["mpiexec", "-n", str(nodes), "-ppn", "1", *torchrun(words, ranks, nodes)]

    def script(self, job: Job) -> str:
        """Directives for qsub, then the task; one resource chunk per node."""
        lines = ["#!/bin/sh", f"#PBS -N {job.name[:15]}", f"#PBS -l {_select(job)}"]
        job_wide = {name: value for name, value in job.options.items() if name in WHOLE}
        if job.time_s is not None:
            job_wide = {"walltime": clock(job.time_s), **job_wide}
        job_wide.setdefault("place", "scatter:excl")
        lines += [f"#PBS -l {directive(name, value)}" for name, value in job_wide.items()]
        for name, value in job.options.items():
            if name in LETTERS:
                lines.append(f"#PBS -{LETTERS[name]} {shlex.quote(str(value))}")
            elif name in ATTRIBUTES:
                lines.append(f"#PBS -W {directive(name, value)}")
        lines.append("#PBS -j oe")
        if len(job.tasks) > 1:
            lines.append(f"#PBS -J 0-{len(job.tasks) - 1}")
        # PBS copies its output file when the job ends; the task writes its log directly.
        lines += ["", log_redirection(job, "PBS_ARRAY_INDEX")]
        if job.nodes > 1:
            number = "${PBS_JOBID%%[!0-9]*} + ${PBS_ARRAY_INDEX:-0}"
            lines.append(rendezvous('cat "$PBS_NODEFILE"', number))
        return "\n".join([*lines, task_dispatch(job.tasks, "PBS_ARRAY_INDEX")])

    def submit(self, job: Job) -> list[str]:
        """qsub prints the id."""
        return ["qsub", str(job.script)]

    def job_ids(self, answer: str, tasks: int) -> list[str]:
        """`12.server`, of an array `12[].server`; a subjob is `12[0].server`."""
        match = re.match(r"(\d+)(\[\])?(\S*)", answer.strip())
        if match is None:
            return []
        if tasks == 1:
            return [answer.strip()]
        return [f"{match[1]}[{number}]{match[3]}" for number in range(tasks)]

    def array_limit(self, answer: str) -> int:
        """The default of the server's `max_array_size`."""
        return 10_000

    def state_queries(self, job_ids: Sequence[str]) -> list[StateQuery]:
        """`-x` includes finished jobs."""
        return [(["qstat", "-x", "-f", *job_ids], job_ids)]

    def states(self, answer: str, job_ids: Sequence[str]) -> dict[str, JobState]:
        """One block per job after `Job Id: 7[0].server`; the server's name may be longer."""
        _, *parts = re.split(r"^Job Id: *([^.\s]+)\S*", answer, flags=re.M)
        blocks = dict(zip(parts[::2], map(_state, parts[1::2]), strict=True))
        found = {job_id: blocks.get(job_id.partition(".")[0]) for job_id in job_ids}
        return {job_id: state for job_id, state in found.items() if state is not None}

    def cancel(self, job_ids: Sequence[str]) -> list[str]:
        """One qdel for all jobs."""
        return ["qdel", *job_ids]


def _state(answer: str) -> JobState | None:
    """`job_state = F` and `Exit_status = 271`: above 256 a signal; 265 is KILL, 271 TERM.

    Negative codes are PBS's own: -26 and -27 for exceeded memory, -28 and -29 for exceeded
    processor time or walltime (PBS Pro reference guide, "job exit codes").
    """
    letter = re.search(r"job_state = (\w)", answer)
    if letter is None:
        return None
    if letter[1] not in "FX":
        return JobState(letter[1])
    match = re.search(r"Exit_status = (-?[0-9]{1,9})\b", answer)
    code = int(match[1]) if match else None
    spent = re.search(r"resources_used.walltime = ([\d:]+)", answer)
    elapsed = seconds(spent[1]) if spent else None
    if code in _SPENT or "walltime" in _comment(answer):
        return JobState("F", "timeout", code, elapsed)
    if code is not None and code < 0:
        return JobState(f"exit code {code}", "oom" if code in _MEMORY else "fail", None, elapsed)
    if code is None or "deleted" in _comment(answer):
        return JobState("F", "cancelled", code, elapsed)
    code = -(code - 256) if code > 256 else code
    return JobState("F", "ok" if code == 0 else "fail", code, elapsed)


def _comment(answer: str) -> str:
    match = re.search(r"comment = (.*(?:\n\t.*)*)", answer)
    return match[1].lower() if match else ""


def _select(job: Job) -> str:
    """One chunk per node; with `select`, resources of nodes may not be requested elsewhere."""
    chunk: dict[str, object] = {}
    if job.threads is not None:
        chunk["ncpus"] = job.ranks_per_node * job.threads
    chunk["mpiprocs"] = job.ranks_per_node
    if job.memory_gb is not None:
        chunk["mem"] = f"{round(job.memory_gb * 1024)}mb"
    known = {*WHOLE, *LETTERS, *ATTRIBUTES, *NODES}
    chunk |= {name: value for name, value in job.options.items() if name not in known}
    chunk_spec = ":".join(f"{name}={value}" for name, value in chunk.items())
    return shlex.quote(f"select={job.nodes}:{chunk_spec}")
