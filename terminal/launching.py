"""`bench launch`: a plan from a file or from flags, shown or run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..schema.errors import FINE, FOUND, BenchError
from .live import Board, clock
from .messages import say
from .settings import find_db, read_settings
from .tables import emit

if TYPE_CHECKING:
    from ..launch.cases import Expansion
    from ..launch.estimate import Estimate
    from ..launch.plan import Plan
    from ..launch.sweep import Turn, Where
    from ..launch.trainers import Trainer

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


def launch(asked: Asked) -> int:
    """Run what is missing of a plan, or say what would be run; the exit code."""
    from ..launch.cases import expand
    from ..launch.estimate import estimate
    from ..launch.sweep import Where, left_to_do, turns
    from ..launch.trainers import trainer

    plan = read(asked)
    trains = trainer(plan)
    expansion = expand(plan, trains)
    root = (asked.output or FOLDER / str(plan.name)).absolute()
    db = find_db(asked.db)
    where = Where(root, Path.cwd(), db, asked.lock_timeout, read_settings().formats)
    every = turns(plan, expansion.cases, root)
    todo = left_to_do(every, asked.retry)
    past = estimate(db, [turn.case for turn in todo], 1, asked.lock_timeout)
    if asked.dry_run:
        show(plan, expansion, trains, todo, every, past)
        return FINE
    return run(plan, expansion, trains, where, todo, every, past)


def read(asked: Asked) -> Plan:
    """The plan of the file, or that of the flags. Raises BenchError for both, or for neither."""
    from ..launch.reading import check_plan, read_plan

    flags = {name: value for name, value in asked.flags.items() if value is not None}
    limits = {name: value for name, value in asked.limits.items() if value is not None}
    if asked.plan is not None:
        if flags or asked.env or asked.more or asked.repeats or limits:
            raise BenchError(
                "a plan and settings of a single run do not go together",
                where=str(asked.plan),
                hint="write them into the plan",
            )
        return read_plan(asked.plan)
    if not flags and not asked.more:
        raise BenchError(
            "nothing to run is named", hint="bench launch PLAN.toml, or --model nano --dp 2"
        )
    env = dict(_pair(text) for text in asked.env)
    more = {name: _value(value) for name, value in map(_pair, asked.more)}
    values = {
        "name": "single", "repeats": asked.repeats or 1, "settings": {**more, **flags}, "env": env,
        "limits": limits,
    }  # fmt: skip
    return check_plan(values, "the command line")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise BenchError(f"{text!r} is not NAME=VALUE", hint="--env LD_PRELOAD=libjemalloc.so.2")
    return name, value


def _value(text: str) -> object:
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def show(
    plan: Plan, expansion: Expansion, trains: Trainer, todo: Sequence[Turn],
    every: Sequence[Turn], past: Estimate,
) -> None:  # fmt: skip
    """What would be run: every command to stdout; count, what is dropped and time to stderr."""
    import os

    from ..launch.environment import chosen

    lines = []
    for turn in todo:
        env = chosen(turn.case, os.environ)
        given = [f"{name}={shlex.quote(value)}" for name, value in env.items() if value]
        lines.append(
            " ".join([*given, shlex.join(trains.command(turn.case.asked, turn.case.facts))])
        )
    emit("".join(f"{line}\n" for line in lines))
    for one in expansion.dropped:
        say(f"dropped {one.case.label}: {one.why}")
    done = len(every) - len(todo)
    say(
        f"{_runs(len(todo))} of {len(expansion.cases)} settings x {plan.repeats}"
        f"{f', {done} done before' if done else ''}"
        f"{f', {len(expansion.dropped)} settings dropped' if expansion.dropped else ''}"
    )
    say(_estimated(past))


def _estimated(past: Estimate) -> str:
    if past.whole is None:
        return "no past run tells how long that takes" if past.runs else "nothing is left to do"
    if past.known == past.runs:
        return f"about {clock(past.whole)}, as past runs took"
    return f"about {clock(past.whole)}, if all take what {past.known} of {past.runs} took before"


def _runs(count: int) -> str:
    return f"{count} run{'' if count == 1 else 's'}"


def run(
    plan: Plan, expansion: Expansion, trains: Trainer, where: Where, todo: Sequence[Turn],
    every: Sequence[Turn], past: Estimate,
) -> int:  # fmt: skip
    """Run them; 0 when every run of the plan is ok."""
    from ..launch.sweep import Sweep

    if todo and (missing := trains.missing()):
        raise BenchError("the trainer of the plan cannot run", why=missing)
    for one in expansion.dropped:
        say(f"dropped {one.case.label}: {one.why}")
    board = Board(todo, past.whole)
    sweep = Sweep(plan, expansion, trains, where, board.begun, board.ended, board.tick)
    sweep.check()
    with board:
        sweep.run(todo)
    return _told(every, where, sweep.stopped_by)


def _told(every: Sequence[Turn], where: Where, stopped_by: int | None) -> int:
    states = [turn.folder.state() for turn in every]
    ok = sum(1 for state in states if state is not None and state.status == "ok")
    failed = [state for state in states if state is not None and state.status != "ok"]
    missing = states.count(None)
    say(
        f"{ok} of {_runs(len(every))} ok"
        f"{f', {len(failed)} not' if failed else ''}{f', {missing} not begun' if missing else ''}"
        f" (in {where.root})"
    )
    again = "bench launch PLAN --retry runs what failed again; " if failed else ""
    say(f"next: {again}bench runs; bench report")
    if stopped_by is not None:
        return 128 + stopped_by
    return FINE if ok == len(every) else FOUND
