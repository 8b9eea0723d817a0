"""Fujitsu's PJM, the scheduler of Fugaku: pjsub, bulk jobs, pjstat."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import ClassVar

from ..launcher import (
    Job,
    JobState,
    Scheduler,
    StateQuery,
    clock,
    log_redirection,
    port,
    seconds,
    task_dispatch,
)

# Codes of the job statistics: 11 elapse limit, 12 memory limit, 23 killed for want of memory.
CODES = {0: "ok", 1: "cancelled", 11: "timeout", 12: "oom", 23: "oom"}
# Resources of `-L` in our order; other options are of `--mpi`, `--llio`, or flags.
# https://www.fugaku.r-ccs.riken.jp/doc_root/en/user_guides (job operation software, pjsub).
RESOURCES = (
    "freq", "eco_state", "retention_state", "throttling_state", "rscgrp", "rscunit", "node",
    "vnode", "vnode-core", "vnode-mem", "core-mem", "node-mem", "gpu", "jobenv",
    "proc-core", "proc-data", "proc-stack",
)  # fmt: skip
SHORT = {"group": "g"}
MPI = ("proc", "shape", "assign-online-node", "rank-map-bynode", "rank-map-bychip")
LLIO = ("localtmp-size", "sharedtmp-size", "cn-cache-size", "cn-cached-write-size",
        "cn-read-cache", "async-close", "stripe-count", "stripe-size", "perf")  # fmt: skip


class Pjm(Scheduler):
    """Clock and power states are job resources: `freq = 2200`, `retention_state = 0`."""

    submits = "pjsub"
    executing = "RUN"
    unquotable: ClassVar = {'"': "pjsub options are quoted and cannot contain quotes"}

    def command(self, words: Sequence[str], ranks: int, nodes: int) -> list[str]:
        """mpiexec starts every rank; ranks read their index from the variables of Fujitsu MPI."""
        if ranks == 1:
            return list(words)
        each = -(-ranks // nodes)
        script = (
            f"export RANK=$PMIX_RANK WORLD_SIZE={ranks} LOCAL_WORLD_SIZE={each} "
            f'LOCAL_RANK=$((PMIX_RANK % {each})) MASTER_ADDR=$(head -n 1 "$PJM_O_NODEINF") '
            f'MASTER_PORT={port("PJM_JOBID + ${PJM_BULKNUM:-0}")}; exec "$@"'
        )
        return ["mpiexec", "-n", str(ranks), "sh", "-c", script, "sh", *words]

    def script(self, job: Job) -> str:
        """Directives for pjsub, then the task."""
        lines = ["#!/bin/sh", f"#PJM -N {job.name}"]
        options = dict(job.options)
        if not options.keys() & {"vnode", "gpu"}:  # which ask for a share of one node
            options.setdefault("node", job.nodes)
        options.pop("nodes", None)
        if job.memory_gb is not None:
            options.setdefault("node-mem", f"{round(job.memory_gb * 1024)}Mi")
        lines += [f'#PJM -L "{n}={options.pop(n)}"' for n in RESOURCES if n in options]
        if job.time_s is not None:
            lines.append(f'#PJM -L "elapse={clock(job.time_s)}"')
        each = options.pop("max-proc-per-node", job.ranks_per_node)
        lines.append(f'#PJM --mpi "max-proc-per-node={each}"')
        flags = {name: value for name, value in options.items() if value is not False}
        lines += [_flag(SHORT.get(name, name), value) for name, value in flags.items()]
        lines += ["#PJM -j", "#PJM -S"]
        if len(job.tasks) > 1:
            lines.append(f"#PJM --bulk --sparam 0-{len(job.tasks) - 1}")
        return "\n".join(
            [
                *lines,
                "",
                log_redirection(job, "PJM_BULKNUM"),
                task_dispatch(job.tasks, "PJM_BULKNUM"),
            ]
        )

    def submit(self, job: Job) -> list[str]:
        """pjsub prints a sentence with the id in it."""
        return ["pjsub", str(job.script)]

    def job_ids(self, answer: str, tasks: int) -> list[str]:
        """`[INFO] PJM 0000 pjsub Job 21107476 submitted.`; a task of a bulk job is `ID[0]`."""
        match = re.search(r"Job (\d+) submitted", answer)
        if match is None:
            return []
        return [match[1]] if tasks == 1 else [f"{match[1]}[{number}]" for number in range(tasks)]

    def array_limit(self, answer: str) -> int:
        """Bulk numbers end at 999999."""
        return 1_000_000

    def state_queries(self, job_ids: Sequence[str]) -> list[StateQuery]:
        """Queries of pending and running jobs, then of ended ones."""
        choose_ = ["--choose", "jid,st,ec,pc,elp", *job_ids]
        return [(["pjstat", *choose_], job_ids), (["pjstat", "-H", *choose_], job_ids)]

    def states(self, answer: str, job_ids: Sequence[str]) -> dict[str, JobState]:
        """Rows below the headings JOB_ID, ST, EC (exit code), PC (PJM code), ELAPSE."""
        rows = {row[0]: row[1:] for line in answer.splitlines() if len(row := line.split()) > 1}
        found = {job_id: _state(rows[job_id]) for job_id in job_ids if job_id in rows}
        return {job_id: state for job_id, state in found.items() if state is not None}

    def cancel(self, job_ids: Sequence[str]) -> list[str]:
        """One pjdel for all jobs."""
        return ["pjdel", *job_ids]


def _state(row: Sequence[str]) -> JobState | None:
    if row[0] in _GOING:
        return JobState(row[0])
    if row[0] not in _ENDED or len(row) < 3:  # a row may be cut
        return None
    exit_code, code = (int(word) if _CODE.fullmatch(word) else 0 for word in row[1:3])
    elapsed = seconds(row[3]) if len(row) > 3 else None
    status = "cancelled" if row[0] == "CCL" else CODES.get(code, "fail")
    if status == "ok" and exit_code:
        status = "fail"
    return JobState(row[0], status, exit_code, elapsed)


def _flag(name: str, value: object) -> str:
    """`-x NAME=VALUE`, `--mpi "proc=8"`, `--llio "localtmp-size=50Gi"`, else `--name value`."""
    for word, names in (("mpi", MPI), ("llio", LLIO)):
        if name in names:
            return f'#PJM --{word} "{name}={value}"'
    dashes = "-" if len(name) == 1 else "--"
    return f"#PJM {dashes}{name}" + ("" if value is True else f" {shlex.quote(str(value))}")


_CODE = re.compile(r"-?[0-9]{1,9}")
_GOING = {"ACC", "QUE", "RNA", "RNP", "RUN", "RNE", "RNO", "SPP", "SPD", "RSM", "HLD"}
_ENDED = {"EXT", "CCL", "RJT", "ERR"}
