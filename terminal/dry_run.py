"""`bench launch --dry-run`: list the runs, and those that cannot start."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..schema.errors import FINE, FOUND
from ..vocabulary.format import counted
from .live import clock
from .messages import info, warn
from .tables import emit

if TYPE_CHECKING:
    from ..launch.cases import Expansion
    from ..launch.estimate import Estimate
    from ..launch.plan import Plan
    from ..launch.planned_runs import PlannedRun, PlanPaths
    from ..launch.program import Program


@dataclass(frozen=True, slots=True)
class PreparedPlan:
    """A plan with everything needed to execute it."""

    plan: Plan
    expansion: Expansion
    program: Program
    where: PlanPaths
    every: Sequence[PlannedRun]
    todo: Sequence[PlannedRun]
    past: Estimate
    file: Path | None  # of the plan; None for flags

    @property
    def done_before(self) -> str:
        """A note on the number of runs that are done already."""
        done = len(self.every) - len(self.todo)
        return f", {done} already done" if done else ""


def show(prepared: PreparedPlan) -> int:
    """Print every command and job script, without secrets, to stdout.

    Counts, dropped combinations, refused runs and the estimated time go to stderr. Returns 1 if a
    run cannot start.
    """
    from ..launch.environment import run_variables
    from ..launch.folder import as_shell
    from ..launch.launcher import scheduler_hint

    lines = []
    for planned in prepared.todo:
        env = run_variables(planned.case, os.environ, prepared.program.launcher.is_local)
        lines.append(as_shell(prepared.program.command(planned.case), env))
    emit("".join(f"{line}\n" for line in [*lines, *_scripts(prepared)]))
    array_limit = max((planned.case.nodes for planned in prepared.todo), default=1)
    if prepared.program.launcher.is_local and array_limit > 1:
        warn(f"plan needs {array_limit} nodes; the local launcher has 1. Set {scheduler_hint()}")
    show_dropped(prepared)
    settings, dropped = len(prepared.expansion.cases), len(prepared.expansion.dropped)
    info(
        f"{count_of(len(prepared.todo))} of {counted(settings, 'setting')}"
        f" x {prepared.plan.repeats}{prepared.done_before}"
        f"{', ' + counted(dropped, 'setting') + ' dropped' if dropped else ''}"
    )
    one_by_one = " in sequence" if prepared.program.scheduler else ""
    info(_estimated(prepared.past) + (one_by_one if prepared.past.total_s else ""))
    return _show_refused(prepared)


def _show_refused(prepared: PreparedPlan) -> int:
    """Print the runs that a launch would refuse; checks of a job's nodes are marked as open."""
    from ..launch.ready import missing_program, refusals

    runs, todo = prepared.program, prepared.todo
    cases = list({planned.case.id: planned.case for planned in todo}.values())
    why = {case.id: missing_program(runs, case, os.environ) for case in cases}
    for case, error in refusals(runs, cases, prepared.where.db):
        reason = f"{error.what}{': ' if error.why else ''}{error.why or ''}"
        why |= {one.id: reason for one in ([case] if case else cases)}
    for case in cases:
        if why[case.id]:
            info(f"cannot start {case.label or 'the run'}: {why[case.id]}")
    if runs.scheduler is not None and todo:
        info("programs and libraries on the compute nodes are checked after each run")
    stuck = sum(1 for planned in todo if why[planned.case.id])
    if stuck:
        info(f"{count_of(stuck)} of {len(todo)} cannot start")
    return FOUND if stuck else FINE


def _scripts(prepared: PreparedPlan) -> Iterator[str]:
    """The job scripts of a scheduler; `new-N` is a placeholder for the folder of a launch."""
    from ..launch.queue import group_by_resources, job_of
    from ..launch.scheduler_client import array_limit
    from ..vocabulary.secrets import redact_lines

    if (scheduler := prepared.program.scheduler) is None:
        return
    for number, group in enumerate(group_by_resources(prepared.todo, array_limit(scheduler)), 1):
        folder = prepared.where.root / "jobs" / f"new-{number}"
        job = job_of(prepared.plan, group, number, folder)
        yield f"\n# {count_of(len(group))}: {redact_lines(shlex.join(scheduler.submit(job)))}"
        yield redact_lines(scheduler.script(job).rstrip("\n"))


def show_dropped(prepared: PreparedPlan, limit: int | None = None) -> None:
    """Print at most `limit` dropped combinations with the reason."""
    dropped = prepared.expansion.dropped
    for one in dropped[:limit]:
        info(f"dropped {one.case.label}: {one.why}")
    if limit is not None and len(dropped) > limit:
        info(f"and {len(dropped) - limit} more (list them with --dry-run)")


def _estimated(past: Estimate) -> str:
    if past.total_s is None:
        return "duration unknown: no comparable past run" if past.runs else "nothing to run"
    if past.known == past.runs:
        return f"about {clock(past.total_s)}, based on past runs"
    return f"about {clock(past.total_s)}, based on past times of {past.known} of {past.runs} runs"


def count_of(count: int) -> str:
    """The number of runs as text."""
    return counted(count, "run")
