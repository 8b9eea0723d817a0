"""Derivation trees of a run's columns, by the `from:` heads of SQL files, down to lines.

Nothing is calculated here: values are columns of `selected`, and conditions in the heads, evaluated
on the same row, select the way each was made. Decisions record the derivation of their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..decide.budget import Budget
from ..decide.provenance import Column, Number
from ..schema.catalogue import Value, formulas, metrics, values
from ..schema.derivation import Alternative, Input, Source
from ..vocabulary.fields import stated_by
from .run import UNITS, Lines, RunContext
from .statistic import printed, statistic
from .tree import Arithmetic, Node, SourceSpan

# Numbers stated by a source: explained on request, or if a run has nothing else.
STATED = tuple(
    field.name for field in stated_by("user") if field.is_number and field.name not in values()
)
_MOST = 12  # places shown for a number made of many runs


def names() -> tuple[str, ...]:
    """The names of all explainable values of a run, those of a run's summary first."""
    made = values()
    leading = [name for name, value in made.items() if value.leads]
    rest = [name for name in made if name not in leading]
    return ("days", *leading, "device_days", *rest, *STATED)


def derive(run: RunContext, budget: Budget, name: str) -> Node:
    """The derivation of one value of a run."""
    if name == "days":
        return _days(run, budget)
    if name == "device_days":
        return _device_days(run, budget)
    return of_column(run, name)


def _days(run: RunContext, budget: Budget) -> Node:
    """Days to train the budget at a run's speed."""
    value, low, high = (budget.days(run.row, end) for end in ("", "_high", "_low"))
    number = Number("days", value, budget.days_from(run.row), low, high)
    return of_number(number, run.lines, lambda column: of_column(run, column.name))


def _device_days(run: RunContext, budget: Budget) -> Node:
    """Days times devices (processes of a source that states no devices)."""
    days, many = _days(run, budget), count(run)
    value = None
    if isinstance(days.value, float) and isinstance(many.value, int):
        value = days.value * many.value
    how = Arithmetic(f"days x {many.name}")
    return Node("device_days", value, "device-days", how=how, inputs=(days, many))


def of_number(number: Number, lines: Lines, column: Callable[[Column], Node]) -> Node:
    """The tree of a number with a recorded derivation; `column` explains its input columns."""
    made = number.derivation
    how = Arithmetic(made.expression, "", made.title, made.source, made.counts)
    if made.formula:
        how = by_formula(made.formula, made.expression)
    inputs = []
    for one in made.inputs:
        if isinstance(one, Number):
            inputs.append(of_number(one, lines, column))
        else:
            inputs.append(column(Column(one) if isinstance(one, str) else one))
    place = SourceSpan(*number.line, None, lines.text(*number.line)) if number.line else None
    return Node(
        number.name, number.value, made.unit, number.low, number.high,
        how if how.expression else None, place, made.note,
        (*of_places(lines, number.places), *inputs),
    )  # fmt: skip


def of_places(lines: Lines, places: Iterable[str]) -> tuple[Node, ...]:
    """Nodes of the lines at `FILE:LINE` places, up to a limit."""
    found = list(dict.fromkeys(places))
    nodes = []
    for at, where in enumerate(found[:_MOST], 1):
        uri, _, line = where.rpartition(":")
        text = lines.text(uri, int(line))
        nodes.append(Node(f"{at}", "", place=SourceSpan(uri, int(line), None, text)))
    more = len(found) - len(nodes)
    return (*nodes, *([Node("more", more, note="runs")] if more else []))


def heads(run: RunContext, budget: Budget) -> Iterator[Node]:
    """The trees that explain a whole run: its known leading values.

    For a run without leading values, all values that it has.
    """
    leading = ["days", *(name for name, made in values().items() if made.leads)]
    found = [node for name in leading if (node := derive(run, budget, name)).value is not None]
    rest = [name for name in ("device_days", *values(), *STATED) if name not in leading]
    # A log that prints only losses has no leading value.
    yield from found or (
        node for name in rest if (node := derive(run, budget, name)).value is not None
    )


def of_column(run: RunContext, name: str) -> Node:
    """A column of `selected`: derived if a head defines it, else as stated by a source."""
    if name not in run.nodes:
        run.nodes[name] = _of_column(run, name)
    return run.nodes[name]


def _of_column(run: RunContext, name: str) -> Node:
    made = values().get(name)
    if made is None:
        return run.stated(name)
    way = made.ways[_ways_taken(run)[name]]
    value, note = _value_and_note(run, name, way)
    unit = way.unit or made.unit or UNITS.get(name, "")
    if not way.expression and not way.formula:
        return _leaf(run, name, way, value, unit, note)
    if value is None:
        return Node(name, None, unit, note=made.lacks or _lacking(run, way))
    low, high = _ends(run, name)
    inputs = tuple(node for one in way.inputs if (node := _input(run, one)))
    return Node(name, value, unit, low, high, _how(way), note=note, inputs=inputs)


def measured(run: RunContext, metric: str) -> Node:
    """A printed number, or the statistic of a log."""
    row = run.measurements.get(metric)
    if row is not None:
        return printed(run, metric, dict(row))
    return statistic(run, metric) or run.stated(metric)


def count(run: RunContext) -> Node:
    """The devices that rates are divided by: as stated, else processes."""
    return of_column(run, "devices" if run.row["devices"] is not None else "world_size")


def by_formula(name: str, expression: str = "") -> Arithmetic:
    """The use of a formula of schema/formulas as a derivation."""
    formula = next(formula for formula in formulas() if formula.name == name)
    text = expression or plain(formula.expression)
    return Arithmetic(text, name, formula.title, formula.source, formula.counts)


def plain(expression: str) -> str:
    """The arithmetic of a formula, simplified for people: 60e0 -> 60."""
    # SQL needs doubles for division; readers do not.
    text = re.sub(r"\b(\d+)e0\b", r"\1", expression).replace("::BIGINT", "")
    return text.replace("1 * ", "").replace("+ 1.0 *", "+")


def _ways_taken(run: RunContext) -> dict[str, int]:
    """The index of the way each value was made, queried once per run for all values."""
    if not run.ways:
        query = f"SELECT {ways_sql()} FROM selected WHERE run_id = ?"
        [found] = run.warehouse.rows(query, [run.run_id])
        run.ways = dict(zip(values(), found, strict=True))
    return run.ways


def ways_sql() -> str:
    """SQL columns over `selected` with the index of the way each of `values` was made."""
    return ", ".join(map(_way_sql, values().values()))


def _way_sql(value: Value) -> str:
    whens = " ".join(f"WHEN {way.when} THEN {at}" for at, way in enumerate(value.ways))
    return f"CASE {whens} ELSE {len(value.ways) - 1} END"


def _value_and_note(run: RunContext, name: str, way: Alternative) -> tuple[Any, str]:
    """The value and its note, where the way has its own SQL for them."""
    if not way.value and not way.note:
        return run.row.get(name), ""
    value, note = run.evaluated(way.value or name, way.note or "NULL")
    return value, note or ""


def _leaf(run: RunContext, name: str, way: Alternative, value: Any, unit: str, note: str) -> Node:
    """A value without inputs: stated, printed, or assumed."""
    if not way.inputs:
        return Node(name, value, unit, note=note)
    source = way.inputs[0].sources[0]
    if source.kind == "printed":
        node = measured(run, source.name or name)
        return replace(node, unit=way.unit) if way.unit and node.value is not None else node
    return run.stated(source.name or name, name, value)


def _lacking(run: RunContext, way: Alternative) -> str:
    names = [one.sources[0].name for one in way.inputs if _first_known(run, one) is None]
    return f"not known: no {' and no '.join(names)} is stated" if names else "not known"


def _ends(run: RunContext, name: str) -> tuple[float | None, float | None]:
    """The range of a metric, from its view."""
    view = next((metric.view for metric in metrics() if metric.column == name), None)
    return run.ends(view) if view else (None, None)


def _how(way: Alternative) -> Arithmetic:
    return by_formula(way.formula, way.expression) if way.formula else Arithmetic(way.expression)


def _first_known(run: RunContext, one: Input) -> Source | None:
    """The first known column of an input; a size of 0 is unknown, as in the views."""
    for source in one.sources:
        if source.constant is not None or source.kind == "printed" or run.row.get(source.name):
            return source
    return None


def _input(run: RunContext, one: Input) -> Node | None:
    source = _first_known(run, one)
    if source is None and one.optional:
        return None
    if source is None:
        # Without a column of its own it may be derived from others, as a batch from MBS.
        name = one.sources[0].name
        derived = of_column(run, name) if name in values() else None
        if derived is None or derived.value is None:
            return run.stated(name, one.name)
        return replace(derived, name=one.name or name)
    # The note of a default for an unknown input says so, such as 1 for unstated heads.
    if source.constant is not None:
        return Node(one.name, source.constant, UNITS.get(one.name, ""), note=source.note)
    if source.kind == "printed":
        return measured(run, source.name)
    value = run.row[source.name]
    if source.note:
        return Node(one.name, value, note=source.note)
    if source.name not in values():
        if source.scale:
            stated = run.stated(source.name, one.name, value * source.scale)
            return replace(stated, unit=UNITS.get(one.name, ""))
        return run.stated(source.name, one.name)
    node = of_column(run, source.name)
    if one.name in ("", node.name):
        return node
    note = "; ".join(filter(None, (node.name, node.note)))
    return replace(node, name=one.name, note=note)
