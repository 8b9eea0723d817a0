"""`bench best` and `bench days`: open, select, sort out what is doubted, answer, write."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ..schema.errors import BenchError
from .messages import say
from .opening import open_for_reading
from .options import LOCK_TIMEOUT, TableRef
from .tables import Format, choose_format, emit, render
from .where import compile_where

if TYPE_CHECKING:
    from ..decide.answer import Answer
    from ..decide.jobs import Spread
    from ..decide.rows import Row, Rows
    from ..reports.short import Names
    from ..schema.warehouse import Warehouse
    from . import reporting

_FIGURE = re.compile(r"[+-]?[\d,]*\.?\d+(e-?\d+)?[\^x%]?")
MOST = 20  # rows that people are shown, unless they ask for all


@dataclass(frozen=True, slots=True)
class Asked:
    """Which runs a decision is about, as given on the command line."""

    db: Path | None = None
    paths: tuple[Path, ...] = ()
    model: str | None = None
    table: TableRef | None = None
    where: str | None = None
    since: datetime | None = None
    document: str | None = None
    all_rows: bool = False
    tokens: int | None = None
    steps: int | None = None
    lock_timeout: float = LOCK_TIMEOUT
    columns: str | None = None
    group: str | None = None

    @property
    def most(self) -> int:
        """How many rows people are shown; 0: all."""
        return 0 if self.all_rows or self.group else MOST

    def fitted(self, answer: Answer) -> Answer:
        """The answer with the columns and groups asked for; raises BenchError for unknown ones."""
        from .where import parse_columns

        if self.group is not None:
            answer = answer.first_of(parse_columns(self.group, answer.columns))
        if self.columns is not None:
            answer = answer.only(parse_columns(self.columns, answer.columns))
        return answer


@dataclass(frozen=True, slots=True)
class Chosen:
    """The runs asked for, and what the whole warehouse knows of doubts and spread."""

    names: Names
    rows: list[Row]
    doubted: dict[str, str]
    spreads: dict[str, Spread]

    def sorted_out(self, need: str) -> Rows:
        """The runs that count for what needs a column, and the others."""
        from ..decide.rows import sorted_out

        return sorted_out(self.rows, self.doubted, need)


def best(asked: Asked, by: str, next_to: bool, form: Format | None, output: Path | None) -> None:
    """Rank configurations, or plan those next to the best."""
    with opened(asked) as warehouse:
        answer = answered(warehouse, "best", asked, by)
        if next_to:
            from .planning import plan

            plan(warehouse, asked, answer, form, output)
            return
    write(asked.fitted(answer), form, output, "best.md")
    say(f"{len(answer.rows)} ranked, {len(answer.left_out)} left out; next: bench show FILE:LINE")


@dataclass(frozen=True, slots=True)
class Length:
    """What `bench days` asks beside the runs: sizes, goodput, ramp-up, sizes never measured."""

    nodes: int | None = None
    goodput: float | None = None
    ramp_up: str | None = None
    extrapolate: bool = False


def days(asked: Asked, length: Length, form: Format | None, output: Path | None) -> None:
    """Tell days and device-hours."""
    with opened(asked) as warehouse:
        answer = lasting(warehouse, asked, length)
    write(asked.fitted(answer), form, output, "days.md")
    say(f"{len(answer.rows)} rows, {len(answer.left_out)} left out; next: bench best")


def lasting(warehouse: Warehouse, asked: Asked, length: Length) -> Answer:
    """The days of the runs asked for; raises BenchError for sizes that nobody measured."""
    from ..decide.days import Plan
    from ..decide.days import days as tell
    from ..decide.goodput import measured
    from ..decide.rampup import parse_ramp_up
    from ..reports.budget import planned

    ramp = parse_ramp_up(length.ramp_up) if length.ramp_up else None
    if length.extrapolate and length.nodes is None:
        raise BenchError("--extrapolate needs a size", hint="--nodes 128 --extrapolate")
    chosen = choose(warehouse, asked)
    plan = planned(warehouse, asked.tokens, asked.steps)
    rows = on_nodes(chosen.sorted_out("tokens_per_s"), length.nodes, length.extrapolate)
    told = Plan(plan.tokens, budget_text(chosen.names, plan), length.goodput, ramp)
    return tell(chosen.names, rows, told, chosen.spreads, measured(warehouse), asked.most)


def report(asked: reporting.Asked, form: Format | None, output: Path | None) -> None:
    """Write a report that is computed, not laid out by a template."""
    mine = Asked(
        asked.db, asked.words.paths, asked.model, asked.table, asked.where, asked.since,
        asked.document, asked.all_rows, asked.tokens, asked.steps, asked.lock_timeout,
    )  # fmt: skip
    with opened(mine) as warehouse:
        answer = answered(warehouse, asked.words.report, mine)
    write(answer, form, output, f"{asked.words.report}.md")
    say(f"{len(answer.rows)} rows, {len(answer.left_out)} left out")


def answered(warehouse: Warehouse, name: str, asked: Asked, by: str | None = None) -> Answer:
    """The answer called `scaling`, `best` or `compare`, as commands and regions show it."""
    from ..decide.best import best as rank
    from ..decide.scaling import scaling
    from ..reports.budget import planned

    chosen = choose(warehouse, asked)
    if name == "compare":
        from .comparing import compared

        return compared(chosen, by or "settings", None)
    if name == "scaling":
        rows = chosen.sorted_out("tokens_per_s")
        return scaling(chosen.names, rows.kept, rows.left_out)
    plan = planned(warehouse, asked.tokens, asked.steps)
    need = {"mem": "memory", "tflops": "tflops"}.get(by or "", "tokens_per_s")
    rows = chosen.sorted_out(need)
    told = budget_text(chosen.names, plan)
    column = by or "tokens_per_s"
    return rank(chosen.names, rows, column, plan.tokens, chosen.spreads, asked.most, told)


def opened(asked: Asked) -> Warehouse:
    """The warehouse of the paths; without any, a file that --table names is one."""
    paths = asked.paths
    if asked.table and not paths and Path(asked.table.file).exists():
        paths = (Path(asked.table.file),)
    return open_for_reading(asked.db, paths, asked.lock_timeout)


def choose(warehouse: Warehouse, asked: Asked) -> Chosen:
    """The runs asked for; raises BenchError when there are none."""
    from ..decide.jobs import spreads
    from ..decide.rows import doubts, load, sorted_out
    from ..reports.selection import Selection, select
    from ..reports.short import Names

    select(warehouse, Selection())
    every = load(warehouse)
    where = condition(warehouse, asked.where) if asked.where is not None else None
    select(warehouse, Selection(asked.model, asked.document, where, asked.since))
    if asked.table:
        _keep_table(warehouse, asked.table)
    rows = load(warehouse)
    if not rows:
        raise BenchError(
            "no run fits the filters", why=f"{len(every)} runs are there",
            hint="bench runs lists them; --where, --model and --table say which count",
        )  # fmt: skip
    # Repeats tell of a machine in whatever document they stand; others need no audit.
    machines = {row["machine"] for row in rows}
    near = [row for row in every if row["machine"] in machines]
    doubted = doubts(warehouse, sorted({row["uri"] for row in near}))
    known = spreads(sorted_out(near, doubted, "pace").kept)
    names = Names(uri for (uri,) in warehouse.rows("SELECT uri FROM sources"))
    return Chosen(names, rows, doubted, known)


def on_nodes(rows: Rows, nodes: int | None, extrapolate: bool) -> Rows:
    """The rows measured on so many nodes, with `extrapolate` also what fits tell of that size.

    Raises BenchError, naming the sizes measured, when there are none.
    """
    from ..decide.extrapolate import at_nodes
    from ..decide.rows import Rows

    if nodes is None:
        return rows
    kept = tuple(row for row in rows.kept if row["nodes"] == nodes)
    left = tuple(row for row in rows.left_out if row["nodes"] == nodes)
    made = at_nodes(rows.kept, nodes) if extrapolate else Rows((), ())
    if not kept and not made.kept:
        measured = sorted({row["nodes"] for row in rows.kept if row["nodes"]})
        told = f"measured: {', '.join(map(str, measured)) or 'none that states its nodes'}"
        if made.left_out:
            told += f"; a fit cannot tell: {made.left_out[0]['left_out']}"
        raise BenchError(
            f"nothing was measured on {nodes} nodes", why=told,
            hint="--nodes with one of these" + ("" if extrapolate else ", or --extrapolate"),
        )  # fmt: skip
    return Rows((*kept, *made.kept), (*left, *made.left_out))


def budget_text(names: Names, plan: object) -> str:
    """Who said what the budget is, as plain text."""
    from ..reports.budget import Budget

    assert isinstance(plan, Budget)
    if plan.origin == "stated" and plan.uri:
        return f"stated in {names.short(plan.uri)} l.{plan.line}"
    if plan.origin == "default":
        why = "the sources do not agree" if plan.others else "no source here states a budget"
        return f"{why}: the plan of 362k steps of 1,048,576 tokens; --tokens or --steps change it"
    return plan.origin


def write(answer: Answer, form: Format | None, output: Path | None, name: str) -> None:
    """Write an answer: all rows and columns for programs, sentences and a table for people."""
    emit(as_text(answer, choose_format(form, output)), output, name=name)


def as_text(answer: Answer, form: Format) -> str:
    """An answer in one format."""
    if form in (Format.CSV, Format.TSV, Format.JSON):
        return render(answer.columns, answer.for_programs(), form)
    from ..reports.escape import html, markdown_text, terminal
    from ..reports.told import MARK

    heads, rows, common = answer.for_people()
    table = render(heads, [list(map(_figure, row)) for row in rows], form) if rows else ""
    writers: dict[Format, Callable[[str], str]] = {
        Format.MD: lambda line: f"{markdown_text(line)}\n",
        Format.HTML: lambda line: f"<p>{html(line)}</p>",
        Format.TABLE: terminal,
    }
    one = writers[form]
    above = "".join(
        f"{one(line)}\n" for line in [*answer.said, *([f"All: {common}."] if common else [])]
    )
    told = "‡ = told by a user, not stated by the source: bench sql 'FROM user_facts' says by whom."
    marked = MARK in common or any(MARK in str(value) for row in rows for value in row)
    notes = [*answer.notes, *([told] if marked else [])]
    below = "".join(f"{one(line)}\n" for line in notes)
    gap = "\n" if form is Format.TABLE and table else ""
    middle = f"{table}\n" if form is Format.MD and table and below else table
    return f"{above}{gap}{middle}{gap}{below}".rstrip("\n") + "\n"


def condition(warehouse: Warehouse, where: str) -> str:
    """The condition as SQL over the temporary table `selected`."""
    from ..reports.listing import columns

    kinds = columns(warehouse)
    stored = {name: kind for name, kind in kinds.items() if name not in ("run", "where")}
    return compile_where(where, stored)


def _figure(value: object) -> object:
    """A number that is a text already, so that it stands to the right."""
    from .layouts import Exact

    return Exact(value) if isinstance(value, str) and _FIGURE.fullmatch(value) else value


def _keep_table(warehouse: Warehouse, table: TableRef) -> None:
    from ..reports.regenerate import benchmark_tables

    _, found = benchmark_tables(warehouse, table.file, table.number)
    ids = [one["table_id"] for one in found]
    warehouse.rows(
        "DELETE FROM selected WHERE list_contains(?::VARCHAR[], table_id) IS NOT TRUE", [ids]
    )


__all__ = [
    "Asked",
    "Chosen",
    "best",
    "choose",
    "condition",
    "days",
    "opened",
    "write",
]
