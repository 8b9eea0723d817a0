"""Runs with the same needs as one job of a scheduler: which belong together, what each asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from .cases import Case
from .folder import COMMAND
from .keeping import Turn
from .launchers.scheduler import Job
from .plan import Plan
from .witness import THREADS

SCRIPT = "job.sh"


def alike(turns: Sequence[Turn], most: int) -> list[list[Turn]]:
    """Runs with the same needs, in order, at most so many: each group is one job."""
    groups: dict[str, list[Turn]] = {}
    for turn in turns:
        case = turn.case
        key = repr((case.nodes, case.ranks, _threads(case), sorted(case.job.items())))
        groups.setdefault(key, []).append(turn)
    return [
        group[start : start + most]
        for group in groups.values()
        for start in range(0, len(group), most)
    ]


def job_of(plan: Plan, group: Sequence[Turn], number: int, folder: Path) -> Job:
    """The job of such a group; nothing is written. Its script lies in `folder`."""
    case, limits = group[0].case, plan.limits
    name = re.sub(r"[^A-Za-z0-9_]+", "-", str(plan.name))
    return Job(
        f"{name}-{number}", folder / SCRIPT, [turn.folder.path / COMMAND for turn in group],
        [turn.folder.log for turn in group], case.nodes, case.ranks, _threads(case),
        limits.time_s, limits.memory_gb, case.job,
    )  # fmt: skip


def _threads(case: Case) -> int | None:
    """Of each process; None: not said, and how many cores a node has is not known here."""
    asked = case.env.get(THREADS) or case.settings.get("threads")
    return int(str(asked).split(",")[0]) if asked else None
