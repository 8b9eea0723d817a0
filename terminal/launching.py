"""`bench launch`: a plan from a file or from flags, shown or run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..reports.table_ref import TableRef
from ..schema.errors import FINE, FOUND, BenchError
from .live import Board, clock
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
    from ..launch.estimate import estimate
    from ..launch.keeping import Where, left_to_do, turns
    from ..launch.program import program
    from ..launch.reading import with_shell

    written = read(asked)
    plan = with_shell(written, os.environ)
    runs = program(plan)
    expansion = expand(plan, runs.trainer, [name for name in plan.env if name not in written.env])
    root = (asked.output or FOLDER / str(plan.name)).absolute()
    db = find_db(asked.db)
    where = Where(root, Path.cwd(), db, asked.lock_timeout, read_settings().formats)
    every = turns(plan, expansion.cases, root)
    todo = left_to_do(every, asked.retry)
    past = estimate(db, [turn.case for turn in todo], asked.lock_timeout)
    prepared = Prepared(plan, expansion, runs, where, every, todo, past, asked.plan)
    if asked.dry_run:
        show(prepared)
        return FINE
    return run(prepared)


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


def show(prepared: Prepared) -> None:
    """What would be run: every command to stdout, and every job script without its secrets.

    Count, what is dropped and time go to stderr.
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
    _tell_dropped(prepared)
    settings, dropped = len(prepared.expansion.cases), len(prepared.expansion.dropped)
    say(
        f"{_runs(len(prepared.todo))} of {_some(settings, 'setting')} x {prepared.plan.repeats}"
        f"{prepared.done_before}"
        f"{', ' + _some(dropped, 'setting') + ' dropped' if dropped else ''}"
    )
    say(_estimated(prepared.past))


def _scripts(prepared: Prepared) -> Iterator[str]:
    """The job scripts of a scheduler; a launch puts a name of its own for the folder `new-N`."""
    from ..ingest.secrets import redact_lines
    from ..launch.jobs import alike, job_of

    if (scheduler := prepared.program.scheduler) is None:
        return
    for number, group in enumerate(alike(prepared.todo), 1):
        folder = prepared.where.root / "jobs" / f"new-{number}"
        job = job_of(prepared.plan, group, number, folder)
        yield f"\n# {_runs(len(group))}: {redact_lines(shlex.join(scheduler.submit(job)))}"
        yield redact_lines(scheduler.script(job).rstrip("\n"))


def _near(path: Path) -> Path:
    """The path as seen from here, where it lies below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _tell_dropped(prepared: Prepared) -> None:
    for one in prepared.expansion.dropped:
        say(f"dropped {one.case.label}: {one.why}")


def _estimated(past: Estimate) -> str:
    if past.whole is None:
        return "no past run tells how long that takes" if past.runs else "nothing is left to do"
    if past.known == past.runs:
        return f"about {clock(past.whole)}, as past runs took"
    return f"about {clock(past.whole)}, if all take what {past.known} of {past.runs} took before"


def _runs(count: int) -> str:
    return _some(count, "run")


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def run(prepared: Prepared) -> int:
    """Run what is left to do; 0 when every run of the plan is ok."""
    from ..launch.keeping import Keeper
    from ..launch.queue import Queue
    from ..launch.sweep import Stop, Sweep

    todo = prepared.todo
    if todo and (missing := prepared.program.trainer.missing()):
        raise BenchError("the trainer of the plan cannot run", why=missing)
    _tell_dropped(prepared)
    keeper = Keeper(prepared.plan, prepared.expansion, prepared.program, prepared.where)
    board, stop = Board(todo, prepared.past.whole), Stop()
    told = (board.begun, board.ended, board.tick)
    if (scheduler := prepared.program.scheduler) is not None:
        queue = Queue(keeper, scheduler, stop, *told)
        queue.check()
        with board:
            queue.run(todo)
    else:
        sweep = Sweep(keeper, stop, *told)
        sweep.check(todo)
        with board:
            sweep.run(todo)
    keeper.store(prepared.every)
    return _told(prepared, stop.number)


def _told(prepared: Prepared, stopped_by: int | None) -> int:
    every = prepared.every
    states = [turn.folder.state() for turn in every]
    ok = sum(1 for state in states if state is not None and state.status == "ok")
    failed = [state for state in states if state is not None and state.status != "ok"]
    missing = states.count(None)
    say(
        f"{ok} of {_runs(len(every))} ok"
        f"{f', {len(failed)} not' if failed else ''}{f', {missing} not begun' if missing else ''}"
        f"{prepared.done_before} (in {_near(prepared.where.root)})"
    )
    same = f"bench launch {shlex.quote(str(prepared.file))}" if prepared.file else "the same with"
    again = f"{same} --retry runs what failed again; " if failed else ""
    say(f"next: {again}bench runs; bench report")
    if stopped_by is not None:
        return 128 + stopped_by
    return FINE if ok == len(every) else FOUND
