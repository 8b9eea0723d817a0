"""Runs with equal resources grouped into scheduler jobs, and the request of each job."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from .cases import Case
from .folder import COMMAND
from .launcher import Job
from .plan import Plan
from .planned_runs import PlannedRun
from .process_probe import THREADS

SCRIPT = "job.sh"


def group_by_resources(planned_runs: Sequence[PlannedRun], most: int) -> list[list[PlannedRun]]:
    """Groups of at most `most` runs with the same resources, in order: each becomes a job."""
    groups: dict[str, list[PlannedRun]] = {}
    for planned in planned_runs:
        case = planned.case
        key = repr((case.nodes, case.ranks, _threads(case), sorted(case.job.items())))
        groups.setdefault(key, []).append(planned)
    return [
        group[start : start + most]
        for group in groups.values()
        for start in range(0, len(group), most)
    ]


def job_of(plan: Plan, group: Sequence[PlannedRun], number: int, folder: Path) -> Job:
    """The job of such a group, with its script in `folder`; writes nothing."""
    case, limits = group[0].case, plan.limits
    name = re.sub(r"[^A-Za-z0-9_]+", "-", str(plan.name))
    return Job(
        f"{name}-{number}", folder / SCRIPT, [planned.folder.path / COMMAND for planned in group],
        [planned.folder.log for planned in group], case.nodes, case.ranks, _threads(case),
        limits.time_s, limits.memory_gb, case.job,
    )  # fmt: skip


def _threads(case: Case) -> int | None:
    """Threads of each process; None if not stated: the cores of a node are unknown here."""
    threads = case.env.get(THREADS) or case.settings.get("threads")
    return int(str(threads).split(",")[0]) if threads else None
