"""A bare number: everything that prints so, printed or computed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from ..reports.format import number as as_number
from ..reports.format import range_text, seconds, significant
from . import page, printed
from .case import Case
from .found import Match
from .metric import METRICS
from .node import How, Node
from .number import Number
from .restated import restated, suggested
from .statistic import statistic
from .world import World

_DAYS = "coalesce($tokens, $steps * tokens_per_step) / nullif({speed}, 0) / 86400"
# Whatever a text of a run is made from: a run is worked out only where one of these is near.
_VALUES = (
    *(f"{name}::DOUBLE" for name in METRICS if name not in ("days", "device_days")),
    "step_time_low", "step_time_high", "params_stated::DOUBLE", "params_b * 1e9",
    *(_DAYS.format(speed=speed)
      for speed in ("tokens_per_s", "tokens_per_s_low", "tokens_per_s_high")),
    f"{_DAYS.format(speed='tokens_per_s')} * coalesce(devices, world_size)",
    *(f"$steps * step_time_{end} / 86400" for end in ("s", "low", "high")),
    "$steps * step_time_s / 86400 * coalesce(devices, world_size)",
)  # fmt: skip


def matches(world: World, number: Number) -> Iterator[Match]:
    """Printed first, then computed of runs, then what belongs to pages."""
    stated = chain(
        printed.cells(world, number), printed.lines(world, number), printed.series(world, number)
    )
    seen: set[tuple[str, int | None, int | None]] = set()
    for match in stated:
        place = match.tree.place
        key = (place.uri, place.line, place.column) if place else ("", None, None)
        if key not in seen:
            seen.add(key)
            yield match
    yield from _computed(world, number)
    yield from _statistics(world, number)
    yield from page.on_pages(world, number)
    yield from suggested(world, number)
    yield from restated(world, number)


def _computed(world: World, number: Number) -> Iterator[Match]:
    """Values that are made from a run's; those only stated are found where they stand."""
    limits = number.limits()
    near = [
        run_id
        for run_id, values in world.once("values", lambda: _values_of_runs(world))
        if any(low <= value <= high for low, high in limits for value in values)
    ]
    if not near:
        return
    for case in world.cases("list_contains(?::VARCHAR[], run_id)", near):
        for name, metric in METRICS.items():
            if not _prints(number, metric.texts(case.row, world.plan), case.row.get(name)):
                continue
            tree = metric.derive(case, world.plan)
            if tree.how is not None:
                where = f"{world.where(case.uri, case.row['line'])}.{name}"
                yield Match(where, "computed", tree)


def _values_of_runs(world: World) -> list[tuple[str, list[float]]]:
    """What the texts of each selected run are made from."""
    budget = {
        name: "NULL::DOUBLE" if value is None else f"{value!r}::DOUBLE"
        for name, value in world.plan.budget.parameters.items()
    }
    values = ", ".join(_VALUES)
    for name, value in budget.items():
        values = values.replace(f"${name}", value)
    query = f"SELECT run_id, list_filter([{values}], lambda x: x IS NOT NULL) FROM selected"
    return world.warehouse.rows(query)


def _prints(number: Number, texts: list[str], value: Any) -> bool:
    if any(number.stands_in(text) for text in texts):
        return True
    return isinstance(value, float) and number.rounds_from(value)


def _statistics(world: World, number: Number) -> Iterator[Match]:
    """Windows, n, ends and spreads of the statistics of logs."""
    query = "SELECT * FROM run_stats SEMI JOIN selected USING (run_id) ORDER BY run_id, metric"
    for row in world.warehouse.dicts(query):
        texts = {
            "n": [str(row["n"])],
            "lines": [str(row["lines"])],
            "window": [str(row["first_iteration"]), str(row["last_iteration"])],
            "median": _median(row),
            "range": [range_text(row["min"], row["max"], "seconds"), seconds(row["min"]),
                      seconds(row["max"])],
            "mean": [significant(row["mean"], 6)],
            "p95": [significant(row["p95"], 6)],
            "stddev": [significant(row["stddev"], 3)] if row["stddev"] is not None else [],
        }  # fmt: skip
        for name, shown in texts.items():
            if any(number.stands_in(text) for text in shown):
                yield from _statistic(world, row, name)
                break


def _median(row: dict[str, Any]) -> list[str]:
    if row["metric"] in METRICS:
        return []  # told as the value of the run
    return [significant(row["median"], 4), as_number(row["median"])]


def _statistic(world: World, row: dict[str, Any], part: str) -> Iterator[Match]:
    for case in world.cases("run_id = ?", row["run_id"]):
        node = statistic(case, row["metric"])
        if node is not None:
            where = f"{world.where(case.uri, case.row['line'])}.{row['metric']}"
            yield Match(where, f"{part} of a statistic", node)


__all__ = ["Case", "How", "Node", "matches"]
