"""Slurm: sbatch, arrays; states from sacct, and without accounting from scontrol."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..launcher import (
    EACH,
    NODES,
    Job,
    JobState,
    Scheduler,
    StateQuery,
    clock,
    directive,
    rendezvous,
    seconds,
    task_dispatch,
    torchrun,
)  # fmt: skip
from ..trainer import Trainer
from .torchrun import Torchrun

# https://slurm.schedmd.com/sacct.html, "job state codes"; any other state is not final.
STATES = {
    "COMPLETED": "ok", "FAILED": "fail", "TIMEOUT": "timeout", "DEADLINE": "timeout",
    "CANCELLED": "cancelled", "OUT_OF_MEMORY": "oom", "NODE_FAIL": "fail", "BOOT_FAIL": "fail",
    "PREEMPTED": "cancelled", "REVOKED": "cancelled",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Slurm(Scheduler):
    """A task is a batch step; nodes are exclusive unless the plan sets `exclusive = false`."""

    spawns: bool = True  # whether the trainer starts the processes of a single node itself

    @classmethod
    def of(cls, trainer: Trainer) -> Scheduler:
        """The launcher for the way the trainer starts its processes."""
        return cls(trainer.spawns)

    submits = "sbatch"
    executing = "RUNNING"
    limits = ("scontrol", "show", "config")

    def command(self, words: Sequence[str], ranks: int, nodes: int) -> list[str]:
        """The trainer's own command, or torchrun; on several nodes srun starts one on each."""
        if nodes == 1:
            return list(words) if self.spawns else Torchrun().command(words, ranks, nodes)
        return [
            "srun",
            "--ntasks-per-node=1",
            "--kill-on-bad-exit=1",
            *torchrun(words, ranks, nodes),
        ]

    def script(self, job: Job) -> str:
        """Directives for sbatch, then the task."""
        lines = ["#!/bin/sh", f"#SBATCH --job-name={job.name}", f"#SBATCH --nodes={job.nodes}"]
        lines += ["#SBATCH --ntasks-per-node=1"]
        # One task per node starts all of its processes; their number is checked with the plan.
        options = {"exclusive": True, **job.options}
        options = {name: value for name, value in options.items() if name not in (*EACH, *NODES)}
        if job.threads is not None:
            lines.append(f"#SBATCH --cpus-per-task={job.ranks_per_node * job.threads}")
        if job.time_s is not None:
            lines.append(f"#SBATCH --time={clock(job.time_s, step=60)}")
        if job.memory_gb is not None:
            lines.append(f"#SBATCH --mem={round(job.memory_gb * 1024)}M")
        lines += [
            f"#SBATCH --{name if value is True else directive(name, value)}"
            for name, value in options.items()
            if value is not False
        ]
        lines.append("#SBATCH --open-mode=append")
        if len(job.tasks) > 1:
            lines.append(f"#SBATCH --array=0-{len(job.tasks) - 1}")
        lines.append("")
        if job.nodes > 1:
            lines.append(
                rendezvous('scontrol show hostnames "$SLURM_JOB_NODELIST"', "SLURM_JOB_ID")
            )
        return "\n".join([*lines, task_dispatch(job.tasks, "SLURM_ARRAY_TASK_ID")])

    def submit(self, job: Job) -> list[str]:
        """sbatch that prints only the id; % in a path is doubled, since the option is a pattern.

        The path is an option here: directives in the script quote blanks differently.
        """
        name = "0.log" if len(job.tasks) == 1 else "%a.log"
        output = str(job.script.parent).replace("%", "%%")
        return ["sbatch", "--parsable", f"--output={output}/{name}", str(job.script)]

    def job_ids(self, answer: str, tasks: int) -> list[str]:
        """`12` or `12;cluster`; a task of an array is `12_0`."""
        match = re.match(r"(\d+)", answer.strip())
        if match is None:
            return []
        return [match[1]] if tasks == 1 else [f"{match[1]}_{number}" for number in range(tasks)]

    def array_limit(self, answer: str) -> int:
        """`MaxArraySize = 1001` (Slurm's default) is the last index plus one."""
        match = re.search(r"MaxArraySize\s*=\s*(\d+)", answer)
        return max(1, int(match[1])) if match else 1001

    def state_queries(self, job_ids: Sequence[str]) -> list[StateQuery]:
        """Accounting first, since it keeps old jobs. Arrays are queried as a whole."""
        jobs: dict[str, list[str]] = {}
        for job_id in job_ids:
            jobs.setdefault(job_id.partition("_")[0], []).append(job_id)
        form = ["-o", "JobID,State,ExitCode,ElapsedRaw"]
        return [
            (["sacct", "-X", "-n", "-P", "-j", ",".join(jobs), *form], job_ids),
            *((["scontrol", "show", "job", "-o", job], tasks) for job, tasks in jobs.items()),
        ]

    def states(self, answer: str, job_ids: Sequence[str]) -> dict[str, JobState]:
        """`12_0|FAILED|3:0|12` of sacct, `JobId=13 ArrayJobId=12 ArrayTaskId=0 ...` of scontrol.

        Pending tasks of an array are one row, `12_[3-7%2]`, whose list may be truncated.
        """
        rows = dict(filter(None, map(_row, answer.splitlines())))
        found = {
            job_id: rows.get(job_id) or rows.get(f"{job_id.partition('_')[0]}_[]")
            for job_id in job_ids
        }
        return {job_id: state for job_id, state in found.items() if state is not None}

    def cancel(self, job_ids: Sequence[str]) -> list[str]:
        """One scancel for all jobs."""
        return ["scancel", *job_ids]


def _row(line: str) -> tuple[str, JobState] | None:
    """The job of a row and its state; pending tasks are `12_[]`."""
    match = re.search(
        r"JobState=(\w+).*?\bExitCode=(\d{1,9}):(\d{1,9})(?:.*?\bRunTime=([\d:-]+))?", line
    )
    if match:
        task = re.search(r"ArrayJobId=(\d+) ArrayTaskId=(\S+)", line)
        single = re.search(r"JobId=(\d+)", line)
        job_id = f"{task[1]}_{task[2]}" if task else single[1] if single else ""
    else:
        match = re.search(r"\|(\w+)[^|]*\|(\d{1,9}):(\d{1,9})\|(\d+)", line)
        job_id = line.partition("|")[0].strip()
    if match is None:
        return None
    word, code, number = match[1], int(match[2]), int(match[3])
    elapsed = seconds(match[4]) if match[4] else None
    job, _, place = job_id.partition("_")
    job_id = f"{job}_[]" if place and not place.isdigit() else job_id
    return job_id, JobState(word, STATES.get(word), -number if number else code, elapsed)
