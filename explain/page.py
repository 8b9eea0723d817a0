"""Numbers of a page that belong to no single run: counts, the budget, reference days, sources."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..reports.budget import REFERENCE_TIMES_S, SECONDS_A_DAY
from ..reports.format import number as as_number
from ..reports.format import tokens as as_tokens
from ..reports.page import MOST
from ..reports.statements import statements
from .computed import by_formula
from .found import Match
from .node import How, Node, Place
from .number import Number
from .world import World

_FILTER = re.compile(r"count\(\*\) FILTER \((.+)\) AS (\w+)")
_COUNTS = {
    "rows": "count(*)",
    "documents": "count(DISTINCT source_id)",
    "tables": "count(DISTINCT table_id)",
}
_CONSTANTS = {
    "86400": ("seconds a day", "24 x 60 x 60"),
    "1.00": ("goodput", "no ramp-up, evaluation, saving or restarts: 1"),
    "0.90": ("goodput", "an example of how days grow with time lost"),
    "11": ("% more days at goodput 0.90", "1 / 0.90 - 1"),
    "1": ("goodput", "no ramp-up, evaluation, saving or restarts: 1"),
    str(MOST): ("rows of each model and system in a ranking", "unless --all is given"),
    "1024": ("TFLOPs in an Est. Aggr. PetaFLOPs", "as the documents define it (A1)"),
}


def on_pages(world: World, number: Number) -> Iterator[Match]:
    """Every such number that prints so."""
    yield from counts(world, number)
    yield from _budget(world, number)
    yield from _reference(world, number)
    yield from _sources(world, number)
    yield from _tables(world, number)
    yield from _rows(world, number)
    if number.digits in _CONSTANTS:
        name, why = _CONSTANTS[number.digits]
        yield Match("page", "a constant", Node(name, number.value, note=why))


def counts(world: World, number: Number) -> Iterator[Match]:
    """Counts of runs in the first paragraph, of failures, of rows not shown."""
    filters = {name: f for f, name in _FILTER.findall(statements("model")["counts"])}
    parts = {name: f"count(*) FILTER ({f})" for name, f in filters.items()} | _COUNTS
    query = ", ".join(f"{part} AS {name}" for name, part in parts.items())
    [found] = world.once("counts", lambda: world.warehouse.dicts(f"SELECT {query} FROM selected"))
    for name, value in found.items():
        if number.digits == str(value):
            condition = filters.get(name, parts[name])
            yield _count(world, name, value, condition if name in filters else "")
    yield from _groups(world, number)


def _count(world: World, name: str, value: int, condition: str) -> Match:
    query = f"SELECT uri, line FROM selected WHERE {condition or 'true'} ORDER BY uri, line"
    rows = world.warehouse.rows(query)
    shown = tuple(
        Node(f"{position}", "", place=Place(uri, line, None, world.lines.text(uri, line)))
        for position, (uri, line) in enumerate(rows[:12], 1)
    )
    rest = f"{len(rows) - len(shown)} more: bench runs --all" if len(rows) > len(shown) else ""
    how = How(f"count of runs where {condition}" if condition else _COUNTS.get(name, ""))
    node = Node(name, value, "runs" if condition else "", how=how, note=rest,
                inputs=shown if condition else ())  # fmt: skip
    return Match("page", "a count of the page", node)


def _groups(world: World, number: Number) -> Iterator[Match]:
    failures = statements("model")["failures"]
    for row in world.once("failures", lambda: world.warehouse.dicts(failures)):
        if number.digits == str(row["runs"]):
            yield _count(world, row["status"], row["runs"], f"status = '{row['status']}'")
    shown, every = world.once("ranked", lambda: _ranked(world))
    if number.digits == str(every - shown):
        how = How(f"{every} ranked runs - {shown} shown, {MOST} of each model and system")
        yield Match("page", "a count of the page", Node("runs not shown", every - shown, how=how))


def _ranked(world: World) -> tuple[int, int]:
    """Runs in the ranking as it is shown, and all of them."""
    query = f"""SELECT count(*) FROM ({statements("model")["ranked"]})"""
    budget = world.plan.budget.parameters
    shown, every = (
        world.warehouse.rows(query, budget | {"most": most})[0][0] for most in (MOST, 0)
    )
    return shown, every


def _budget(world: World, number: Number) -> Iterator[Match]:
    plan = world.plan.node()
    for node in (plan, *plan.inputs):
        if not isinstance(node.value, int):
            continue
        if any(number.stands_in(text) for text in (as_number(node.value), as_tokens(node.value))):
            yield Match("page", "the budget of the page", node)


def _reference(world: World, number: Number) -> Iterator[Match]:
    """The list of days at round step times."""
    steps = world.plan.budget.steps
    stated = {
        row[0]
        for row in world.warehouse.rows(
            """SELECT DISTINCT try_cast(detail['step_time_s'] AS DOUBLE) FROM statements
               WHERE kind = 'days' AND uri IN (SELECT uri FROM selected)"""
        )
    }
    for time in sorted({*REFERENCE_TIMES_S, *filter(None, stated)}):
        given = Node("step_time_s", time, "s", note="a round time of the list")
        if number.stands_in(f"{time:g}"):
            yield Match("page", "the reference list of days", given)
        days = steps * time / SECONDS_A_DAY
        if number.stands_in(f"{days:,.2f}"):
            how = by_formula("D1", "steps x step_time_s / 86400")
            inputs = (world.plan.node(), given)
            node = Node("days", days, "days", how=how, inputs=inputs)
            yield Match("page", "the reference list of days", node)


def _sources(world: World, number: Number) -> Iterator[Match]:
    sources = statements("model")["sources"]
    for row in world.once("sources", lambda: world.warehouse.dicts(sources)):
        for name, what in (
            ("rows", "runs of this source on the page"),
            ("all_rows", "runs of this source"),
            ("first_line", "first line of its runs"),
            ("last_line", "last line of its runs"),
        ):
            if number.digits == str(row[name]):
                place = Place(row["uri"], row[name] if "line" in name else None)
                node = Node(name, row[name], place=place, note=what)
                yield Match("page", "the list of sources", node)


def _tables(world: World, number: Number) -> Iterator[Match]:
    query = """SELECT uri, number, header_line FROM tables
               WHERE number = ? AND uri IN (SELECT uri FROM selected) ORDER BY uri"""
    if number.digits.isdigit() and len(number.digits) < 7:
        for uri, place, line in world.warehouse.rows(query, [int(number.digits)]):
            node = Node("table", place, note="benchmark tables of a document count from 1",
                        place=Place(uri, line, None, world.lines.text(uri, line)))  # fmt: skip
            yield Match(world.where(uri, line), "the number of a table", node)


def _rows(world: World, number: Number) -> Iterator[Match]:
    """Lines of rows and headings, which pages name behind `l.`."""
    query = """SELECT DISTINCT uri, line FROM (
            SELECT uri, line FROM selected
            UNION ALL SELECT uri, header_line FROM tables
            UNION ALL SELECT uri, unnest(heading_lines) FROM tables)
        WHERE line = ? AND uri IN (SELECT uri FROM selected) ORDER BY uri"""
    if number.digits.isdigit() and len(number.digits) < 10:
        for uri, line in world.warehouse.rows(query, [int(number.digits)]):
            place = Place(uri, line, None, world.lines.text(uri, line))
            yield Match(
                world.where(uri, line), "the number of a line", Node("line", line, place=place)
            )
