"""`bench launch`: a plan from a file or from flags, shown or run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..reports.table_ref import TableRef
from ..schema.errors import FINE, FOUND, BenchError
from .dry_run import count_of, show, tell_dropped
from .live import Board
from .messages import say, warn
from .settings import find_db, read_settings
from .tables import emit

if TYPE_CHECKING:
    from ..launch.cases import Expansion
    from ..launch.estimate import Estimate
    from ..launch.keeping import Turn, Where
    from ..launch.plan import Plan
    from ..launch.program import Program

FOLDER = Path("launches")
_DROPPED = 10  # combinations that a launch lists; a dry run lists all


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of the command, as given; `flags` are settings of a single run by their names."""

    plan: Path | None
    flags: Mapping[str, object]
    env: Sequence[str]
    more: Sequence[str]
    repeats: int | None
    limits: Mapping[str, float | None]
    dry_run: bool
    retry: bool
    output: Path | None
    db: Path | None
    lock_timeout: float

    def of_a_run(self) -> list[str]:
        """What was said, as it is written, that only a run or a plan has a use for."""
        limits = {name.partition("_")[0] + "-limit": value for name, value in self.limits.items()}
        said = {**self.flags, "repeats": self.repeats, **limits, "set": self.more or None}
        said |= {"env": self.env or None, "dry_run": self.dry_run or None}
        said["retry"] = self.retry or None
        words = [f"--{name.replace('_', '-')}" for name, value in said.items() if value is not None]
        return [*(["PLAN"] if self.plan else []), *words]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan with everything that running it needs."""

    plan: Plan
    expansion: Expansion
    program: Program
    where: Where
    every: Sequence[Turn]
    todo: Sequence[Turn]
    past: Estimate
    file: Path | None  # of the plan; None: flags

    @property
    def done_before(self) -> str:
        """How many runs need no launch, in words."""
        done = len(self.every) - len(self.todo)
        return f", {done} done before" if done else ""


def launch(asked: Asked) -> int:
    """Run what is missing of a plan, or say what would be run; the exit code."""
    from ..launch.cases import expand
    from ..launch.keeping import Where
    from ..launch.program import program
    from ..launch.reading import with_shell
    from ..launch.sweep import alone

    written = read(asked)
    plan = with_shell(written, os.environ)
    runs = program(plan)
    expansion = expand(plan, runs.trainer, [name for name in plan.env if name not in written.env])
    root = (asked.output or FOLDER / str(plan.name)).absolute()
    db = find_db(asked.db)
    where = Where(root, Path.cwd(), db, asked.lock_timeout, read_settings().formats)
    if asked.dry_run:
        return show(_prepared(asked, plan, expansion, runs, where))
    with alone(root):  # what another launch does must not be on the list any more
        return run(_prepared(asked, plan, expansion, runs, where))


def _prepared(
    asked: Asked, plan: Plan, expansion: Expansion, runs: Program, where: Where
) -> Prepared:
    from ..launch.estimate import estimate
    from ..launch.keeping import left_to_do, turns

    every = turns(plan, expansion.cases, where.root)
    todo = left_to_do(every, asked.retry)
    device = expansion.device if runs.launcher.here else None
    past = estimate(where.db, [turn.case for turn in todo], asked.lock_timeout, device)
    return Prepared(plan, expansion, runs, where, every, todo, past, asked.plan)


def missing(table: TableRef, asked: Asked) -> None:
    """Write a plan for the rows without a result, of a file or of a source of the warehouse."""
    from ..launch.missing import plan_of_missing
    from .opening import open_for_reading

    if others := asked.of_a_run():
        raise BenchError(
            f"--missing does not go with {', '.join(others)}",
            why="it writes a plan, and runs nothing",
            hint="bench launch --missing FILE:1 -o plan.toml; bench launch plan.toml --dry-run",
        )
    paths = [Path(table.file)] if Path(table.file).exists() else []
    if not paths and not find_db(asked.db).exists():
        hint = "--missing README.md, or a source of a warehouse, which is not here either"
        raise BenchError("there is no such file", where=table.file, hint=hint)
    with open_for_reading(asked.db, paths, asked.lock_timeout) as warehouse:
        emit(plan_of_missing(warehouse, table.file, table.number), asked.output, name="plan.toml")
    say("next: look it over, then bench launch PLAN --dry-run")


def read(asked: Asked) -> Plan:
    """The plan of the file, or that of the flags. Raises BenchError for both, or for neither."""
    from ..launch.reading import check_plan, read_plan

    flags = {name: value for name, value in asked.flags.items() if value is not None}
    limits = {name: value for name, value in asked.limits.items() if value is not None}
    if asked.plan is not None:
        if set(asked.of_a_run()) - {"PLAN", "--dry-run", "--retry"}:
            raise BenchError(
                "a plan and settings of a single run do not go together",
                where=str(asked.plan),
                hint="write them into the plan",
            )
        return read_plan(asked.plan)
    if not flags and not asked.more:
        hint = "bench launch PLAN.toml, or --model nano --dp 2"
        raise BenchError("nothing to run is named", hint=hint)
    env = _pairs("--env", asked.env)
    more = {name: _value(value) for name, value in _pairs("--set", asked.more, flags).items()}
    values = {
        "name": "single", "repeats": 1 if asked.repeats is None else asked.repeats,
        "settings": {**more, **flags}, "env": env, "limits": limits,
    }  # fmt: skip
    return check_plan(values, "the command line")


def _pairs(flag: str, texts: Sequence[str], flags: Mapping[str, object] = {}) -> dict[str, str]:
    """NAME=VALUE by their names. Raises BenchError for what is none, or is said twice."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            hint = {"--env": "--env LD_PRELOAD=libjemalloc.so.2", "--set": "--set seq_len=128"}
            raise BenchError(f"{flag} {text!r} is not NAME=VALUE", hint=hint[flag])
        if name in found or name in flags:
            other = f" and by --{name.replace('_', '-')}" if name in flags else ""
            raise BenchError(
                f"{name} is set twice, by {flag}{other}",
                hint=f"say it once; several values are a list in a plan: {name} = [1, 2]",
            )
        found[name] = value
    return found


def _value(text: str) -> object:
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _near(path: Path) -> Path:
    """The path as seen from here, where it lies below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def run(prepared: Prepared) -> int:
    """Run what is left to do; 0 when every run of the plan is ok."""
    from ..launch.keeping import Keeper
    from ..launch.queue import Queue
    from ..launch.ready import refusals
    from ..launch.sweep import Stop, Sweep

    todo, where = prepared.todo, prepared.where
    cases = [turn.case for turn in todo]
    for _, error in refusals(prepared.program, cases, where.db) if todo else ():
        raise error
    tell_dropped(prepared, _DROPPED)
    keeper = Keeper(prepared.plan, prepared.expansion, prepared.program, where)
    scheduler, stop = prepared.program.scheduler, Stop()
    board = Board(todo, prepared.past.whole, together=scheduler is not None)
    told = (board.begun, board.ended, board.tick)
    left = ""
    if scheduler is not None:
        queue = Queue(keeper, scheduler, stop, *told)
        with board:
            queue.run(todo)
        left = queue.left
    else:
        sweep = Sweep(keeper, stop, *told)
        with board:
            sweep.run(todo)
    code = _told(prepared, stop.number, left)
    keeper.store(prepared.every)  # where that fails, the runs were made all the same
    return code


def _told(prepared: Prepared, stopped_by: int | None, left: str) -> int:
    every = prepared.every
    states = [turn.folder.state() for turn in every]
    begun = [state for state in states if state is not None]
    ok = sum(1 for state in begun if state.status == "ok")
    going = [state for state in begun if state.status == "running" and state.job_id]
    cancelled = sum(1 for state in begun if state.status == "cancelled")
    failed, missing = len(begun) - ok - len(going) - cancelled, states.count(None)
    may_run = f"{len(going)} may still run (job {', '.join(str(one.job_id) for one in going)})"
    counts = {"not": failed, "cancelled": cancelled, "not begun": missing}
    others = "".join(f", {count} {word}" for word, count in counts.items() if count)
    say(
        f"{ok} of {count_of(len(every))} ok{others}{f', {may_run}' if going else ''}"
        f"{prepared.done_before} (in {_near(prepared.where.root)})"
    )
    if left:
        warn(f"not cancelled: {left}; the next launch goes on with what still runs")
    same = f"bench launch {shlex.quote(str(prepared.file))}" if prepared.file else "the same"
    again = f"{same}{'' if prepared.file else ' with'} --retry runs what failed again; "
    again = f"{same} goes on; " if cancelled or missing else again if failed else ""
    say(f"next: {again}bench runs; bench report")
    if stopped_by is not None:
        return 128 + stopped_by
    return FINE if ok == len(every) else FOUND
