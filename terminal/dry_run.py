"""`bench launch --dry-run`: what would be run, and what could not start."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..schema.errors import FINE, FOUND
from .live import clock
from .messages import say, warn
from .tables import emit

if TYPE_CHECKING:
    from ..launch.estimate import Estimate
    from .launching import Prepared


def show(prepared: Prepared) -> int:
    """What would be run: every command to stdout, and every job script without its secrets.

    Count, what is dropped, what cannot start and time go to stderr; 1 when a run cannot start.
    """
    from ..launch.environment import chosen
    from ..launch.record import as_shell

    lines = []
    for turn in prepared.todo:
        env = chosen(turn.case, os.environ, prepared.program.launcher.here)
        lines.append(as_shell(prepared.program.command(turn.case), env))
    emit("".join(f"{line}\n" for line in [*lines, *_scripts(prepared)]))
    most = max((turn.case.nodes for turn in prepared.todo), default=1)
    if prepared.program.launcher.here and most > 1:
        warn(f"{most} nodes are asked for, and this is one: launcher = 'slurm', 'pbs' or 'pjm'")
    tell_dropped(prepared)
    settings, dropped = len(prepared.expansion.cases), len(prepared.expansion.dropped)
    say(
        f"{count_of(len(prepared.todo))} of {_some(settings, 'setting')} x {prepared.plan.repeats}"
        f"{prepared.done_before}"
        f"{', ' + _some(dropped, 'setting') + ' dropped' if dropped else ''}"
    )
    one_by_one = ", one after the other" if prepared.program.scheduler else ""
    say(_estimated(prepared.past) + (one_by_one if prepared.past.whole else ""))
    return _tell_refused(prepared)


def _tell_refused(prepared: Prepared) -> int:
    """What a launch would refuse; what only the machine that runs can know is said to be so."""
    from ..launch.ready import absent, refusals

    runs, todo = prepared.program, prepared.todo
    cases = list({turn.case.id: turn.case for turn in todo}.values())
    why = {case.id: absent(runs, case, os.environ) for case in cases}
    for case, error in refusals(runs, cases, prepared.where.db):
        told = f"{error.what}{': ' if error.why else ''}{error.why or ''}"
        why |= {one.id: told for one in ([case] if case else cases)}
    for case in cases:
        if why[case.id]:
            say(f"cannot start {case.label or 'the run'}: {why[case.id]}")
    if runs.scheduler is not None and todo:
        say("programs and libraries of the nodes are only known there, and verified after each run")
    stuck = sum(1 for turn in todo if why[turn.case.id])
    if stuck:
        say(f"{count_of(stuck)} of {len(todo)} cannot start")
    return FOUND if stuck else FINE


def _scripts(prepared: Prepared) -> Iterator[str]:
    """The job scripts of a scheduler; a launch puts a name of its own for the folder `new-N`."""
    from ..ingest.secrets import redact_lines
    from ..launch.asking import most
    from ..launch.jobs import alike, job_of

    if (scheduler := prepared.program.scheduler) is None:
        return
    for number, group in enumerate(alike(prepared.todo, most(scheduler)), 1):
        folder = prepared.where.root / "jobs" / f"new-{number}"
        job = job_of(prepared.plan, group, number, folder)
        yield f"\n# {count_of(len(group))}: {redact_lines(shlex.join(scheduler.submit(job)))}"
        yield redact_lines(scheduler.script(job).rstrip("\n"))


def tell_dropped(prepared: Prepared, most: int | None = None) -> None:
    """The combinations that will not run, and why; at most so many of them."""
    dropped = prepared.expansion.dropped
    for one in dropped[:most]:
        say(f"dropped {one.case.label}: {one.why}")
    if most is not None and len(dropped) > most:
        say(f"and {len(dropped) - most} more: --dry-run tells them all")


def _estimated(past: Estimate) -> str:
    if past.whole is None:
        return "no past run tells how long that takes" if past.runs else "nothing is left to do"
    if past.known == past.runs:
        return f"about {clock(past.whole)}, as past runs took"
    return f"about {clock(past.whole)}, if all take what {past.known} of {past.runs} took before"


def count_of(count: int) -> str:
    """So many runs, in words."""
    return _some(count, "run")


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
