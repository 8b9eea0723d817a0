"""Preflight checks: what trainer, launcher and machine lack, before anything is written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..schema.errors import BenchError
from ..schema.opening import require_folder
from .cases import Case
from .environment import LIBRARIES, cores, full_environment, require
from .launcher import scheduler_hint
from .process_probe import PRELOAD
from .program import Program

MOST_PER_CORE = 8  # processes


def refusals(
    program: Program, cases: Sequence[Case], db: Path
) -> Iterator[tuple[Case | None, BenchError]]:
    """Why all runs (no case) or one of them cannot start; a job's nodes are not checked.

    Checks the warehouse too: a sweep writes to it only when its first run has ended.
    """
    try:
        require_folder(db)
    except BenchError as error:
        yield None, error
    if missing := program.trainer.missing():
        yield None, BenchError("trainer cannot run", why=missing)
    if program.scheduler is not None:
        word = program.scheduler.submits
        if shutil.which(word) is None:
            hint = "launch on a node with the scheduler's commands"
            yield None, BenchError(f"{word} not found", hint=hint)
        return
    known: dict[tuple[str | None, ...], BenchError | None] = {}
    for case in cases:
        load = tuple(case.env.get(name) for name in (PRELOAD, LIBRARIES))
        if load not in known:
            known[load] = _refused(case)
        if (why := _too_large(case) or known[load]) is not None:
            yield case, why


def missing_program(program: Program, case: Case, inherited: Mapping[str, str]) -> str | None:
    """The program of a case that is missing on this machine; only runs of it fail."""
    word, path = program.command(case)[0], full_environment(case, inherited).get("PATH", os.defpath)
    if program.scheduler is not None or shutil.which(word, path=path) is not None:
        return None
    return f"program not found: {word}"


def _refused(case: Case) -> BenchError | None:
    try:
        require(case)
    except BenchError as error:
        return error
    return None


def _too_large(case: Case) -> BenchError | None:
    """Guards against starting a large machine's plan on a small one."""
    most = MOST_PER_CORE * cores()
    if case.nodes > 1:
        why = f"it needs {case.nodes} nodes; the local launcher has 1"
    elif case.ranks > most:
        why = f"{case.ranks} processes on {cores()} cores; the limit is {most}"
    else:
        return None
    hint = f"set {scheduler_hint()}, or use smaller sizes"
    return BenchError("a run does not fit on this machine", why=why, where=case.label, hint=hint)
