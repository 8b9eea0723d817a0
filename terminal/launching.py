"""`bench launch`: read a plan from a file or from flags, show or execute it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..decide.query import TableRef
from ..project.settings import find_db, read_settings
from ..schema.errors import FINE, FOUND, BenchError
from ..schema.location import is_there
from .dry_run import PreparedPlan, count_of, show, show_dropped
from .live import Board
from .messages import info, warn
from .source import Source
from .tables import emit

if TYPE_CHECKING:
    from ..launch.cases import Expansion
    from ..launch.plan import Plan
    from ..launch.planned_runs import PlanPaths
    from ..launch.program import Program

FOLDER = Path("launches")
_DROPPED = 10  # dropped combinations listed by a launch; a dry run lists all


@dataclass(frozen=True, slots=True)
class Request:
    """The given options: a plan, or settings of a single run."""

    source: Source
    plan: Path | None
    settings: Mapping[str, object]
    overall: Mapping[str, object]  # keys of a plan: env, repeats
    limits: Mapping[str, object]
    more: Sequence[str]  # NAME=VALUE of --set
    dry_run: bool
    retry: bool
    output: Path | None

    def words(self) -> list[str]:
        """The given options, as typed, that do not apply to a plan of missing rows."""
        limits = [name.partition("_")[0] + "-limit" for name in self.limits]
        flags = {"set": self.more, "dry-run": self.dry_run, "retry": self.retry}
        names = [*self.settings, *self.overall, *limits, *(name for name in flags if flags[name])]
        words = [f"--{name.replace('_', '-')}" for name in names]
        return [*(["PLAN"] if self.plan else []), *words]


def launch(request: Request) -> int:
    """Execute the pending runs of a plan, or list them; returns the exit code."""
    from ..launch.cases import expand
    from ..launch.planned_runs import PlanPaths
    from ..launch.program import program
    from ..launch.reading import with_shell
    from ..launch.sweep import exclusive

    written = read(request)
    plan = with_shell(written, os.environ)
    runs = program(plan)
    expansion = expand(plan, runs.trainer, [name for name in plan.env if name not in written.env])
    root = (request.output or FOLDER / str(plan.name)).absolute()
    db = find_db(request.source.db)
    where = PlanPaths(root, Path.cwd(), db, request.source.lock_timeout, read_settings().formats)
    if request.dry_run:
        return show(_prepared(request, plan, expansion, runs, where))
    with exclusive(root):  # listed under the lock: another launch may be executing runs
        return run(_prepared(request, plan, expansion, runs, where))


def _prepared(
    request: Request, plan: Plan, expansion: Expansion, runs: Program, where: PlanPaths
) -> PreparedPlan:
    from ..launch.estimate import estimate
    from ..launch.planned_runs import pending_runs, planned_runs

    every = planned_runs(plan, expansion.cases, where.root)
    todo = pending_runs(every, request.retry)
    device = expansion.device if runs.launcher.is_local else None
    past = estimate(
        where.db, [planned.case for planned in todo], request.source.lock_timeout, device
    )
    return PreparedPlan(plan, expansion, runs, where, every, todo, past, request.plan)


def missing(table: TableRef, request: Request) -> None:
    """Write a plan for the rows without a result in a file or source of the warehouse."""
    from ..launch.missing_rows import plan_of_missing

    if others := request.words():
        raise BenchError(
            f"--missing cannot be combined with {', '.join(others)}",
            why="--missing only writes a plan",
            hint="bench launch --missing FILE:1 -o plan.toml; bench launch plan.toml --dry-run",
        )
    paths = [Path(table.file)] if Path(table.file).exists() else []
    if not paths and not is_there(find_db(request.source.db)):
        hint = "give an existing file, or a source in the warehouse (none found)"
        raise BenchError("no such file", where=table.file, hint=hint)
    with replace(request.source, paths=tuple(paths)).opened() as warehouse:
        emit(plan_of_missing(warehouse, table.file, table.number), request.output, name="plan.toml")
    info("next: review it, then bench launch PLAN --dry-run")


def read(request: Request) -> Plan:
    """The plan of a file or of options. Raises BenchError for both or neither."""
    from ..launch.reading import check_plan, read_plan

    if request.plan is not None:
        if set(request.words()) - {"PLAN", "--dry-run", "--retry"}:
            raise BenchError(
                "a plan cannot be combined with single-run options",
                where=str(request.plan),
                hint="set them in the plan",
            )
        return read_plan(request.plan)
    if not request.settings and not request.more:
        hint = "bench launch PLAN.toml, or --model nano --dp 2"
        raise BenchError("no plan and no settings given", hint=hint)
    more = _pairs("--set", request.more, request.settings)
    env = request.overall.get("env", ())
    values = {
        "name": "single",
        **request.overall,
        "settings": {**{name: _value(value) for name, value in more.items()}, **request.settings},
        "env": _pairs("--env", env if isinstance(env, Sequence) else ()),
        "limits": request.limits,
    }
    return check_plan(values, "the command line")


def _pairs(flag: str, texts: Sequence[str], settings: Mapping[str, object] = {}) -> dict[str, str]:
    """Parse NAME=VALUE pairs. Raises BenchError for other words and repeated names."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            hint = {"--env": "--env LD_PRELOAD=libjemalloc.so.2", "--set": "--set seq_len=128"}
            raise BenchError(f"{flag} expects NAME=VALUE, not {text!r}", hint=hint[flag])
        if name in found or name in settings:
            other = f" and --{name.replace('_', '-')}" if name in settings else ""
            raise BenchError(
                f"{name} is set twice, with {flag}{other}",
                hint=f"set it once; to try several values use a plan: {name} = [1, 2]",
            )
        found[name] = value
    return found


def _value(text: str) -> object:
    from ..vocabulary.toml import TOMLDecodeError, loads

    try:
        return loads(f"value = {text}")["value"]
    except TOMLDecodeError:
        return text


def _relative(path: Path) -> Path:
    """The path relative to the working directory, if it is below that."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def run(prepared: PreparedPlan) -> int:
    """Execute the pending runs; returns 0 if every run of the plan is ok."""
    from ..launch.planned_runs import Recorder
    from ..launch.queue import Queue
    from ..launch.ready import refusals
    from ..launch.sweep import StopRequest, Sweep

    todo, where = prepared.todo, prepared.where
    cases = [planned.case for planned in todo]
    for _, error in refusals(prepared.program, cases, where.db) if todo else ():
        raise error
    show_dropped(prepared, _DROPPED)
    recorder = Recorder(prepared.plan, prepared.expansion, prepared.program, where)
    scheduler, stop = prepared.program.scheduler, StopRequest()
    board = Board(todo, prepared.past.total_s, together=scheduler is not None)
    listeners = (board.on_begin, board.on_end, board.tick)
    left = ""
    if scheduler is not None:
        queue = Queue(recorder, scheduler, stop, *listeners)
        with board:
            queue.run(todo)
        left = queue.left
    else:
        sweep = Sweep(recorder, stop, *listeners)
        with board:
            sweep.run(todo)
    code = _summarize(prepared, stop.number, left)
    recorder.store(prepared.every)  # if that fails, the runs are done nevertheless
    return code


def _summarize(prepared: PreparedPlan, stopped_by: int | None, left: str) -> int:
    every = prepared.every
    states = [planned.folder.state() for planned in every]
    started = [state for state in states if state is not None]
    ok = sum(1 for state in started if state.status == "ok")
    running = [state for state in started if state.status == "running" and state.job_id]
    cancelled = sum(1 for state in started if state.status == "cancelled")
    failed, missing = len(started) - ok - len(running) - cancelled, states.count(None)
    jobs = ", ".join(str(one.job_id) for one in running)
    may_run = f", {len(running)} possibly still running (job {jobs})" if running else ""
    counts = {"failed": failed, "cancelled": cancelled, "not started": missing}
    others = "".join(f", {count} {word}" for word, count in counts.items() if count)
    info(
        f"{ok} of {count_of(len(every))} ok{others}{may_run}"
        f"{prepared.done_before} (in {_relative(prepared.where.root)})"
    )
    if left:
        warn(f"not cancelled: {left}; the next launch resumes jobs that still run")
    same = (
        f"bench launch {shlex.quote(str(prepared.file))}" if prepared.file else "the same command"
    )
    again = f"{same}{'' if prepared.file else ' with'} --retry reruns failed runs; "
    again = f"{same} resumes; " if cancelled or missing else again if failed else ""
    info(f"next: {again}bench runs; bench report")
    if stopped_by is not None:
        return 128 + stopped_by
    return FINE if ok == len(every) else FOUND
