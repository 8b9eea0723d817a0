"""The chart of a history: a number from commit to commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from matplotlib.figure import Figure

from ..decide.rows import Decision
from ..project.short_names import ShortNames
from ..schema.errors import BenchError
from ..schema.warehouse import Row
from ..vocabulary.format import counted, significant
from .charts.curves import Curve, draw_curves
from .computed.trend import HEADS

MOST = 7  # lines
_TICKS = 6
_DAY = 86_400.0


def history_picture(names: ShortNames, decision: Decision) -> Figure:
    """The chart of a decision of `decide.history`: the number with the most changes, row by row.

    Raises BenchError without a number to draw.
    """
    events = [row for row in decision.rows if row["new_value"] is not None]
    counts = Counter(event["name"] for event in events)
    if not counts:
        raise BenchError("nothing to draw", why="none of these rows has a number")
    order = [*HEADS, *counts]  # of numbers with equally many changes the most requested
    name = max(counts, key=lambda name: (counts[name], -order.index(name)))
    by_row: dict[str, list[Row]] = {}
    for row in decision.rows:
        if row["name"] == name:
            by_row.setdefault(row["row_id"], []).append(row)
    chosen = sorted(by_row.values(), key=lambda of: (-len(of), of[0]["where"]))[:MOST]
    first = min(one["date"] for of in chosen for one in of)
    last = decision.facts["until"]
    curves = [_curve(names, of, first, last) for of in chosen]
    if len(curves) > 1:  # their texts would overlap
        curves = [replace(curve, marks=()) for curve in curves]
    more = len(by_row) - len(chosen)
    label = (
        f"Date of the commit ({counted(more, 'more row')} not drawn)"
        if more
        else "Date of the commit"
    )
    head = HEADS.get(name, name)
    return draw_curves(
        curves, _title(head, chosen, decision.facts), label, head, _ticks(first, last)
    )


def _curve(names: ShortNames, events: Sequence[Row], first: datetime, last: datetime) -> Curve:
    """A step at each change; the line ends where the number was removed."""
    known = [event for event in events if event["new_value"] is not None]
    xs: list[float] = []
    ys: list[float] = []
    for one, after in zip(events, [*events[1:], None], strict=True):
        if one["new_value"] is None:
            continue
        until = after["date"] if after else last
        xs += [_days(first, one["date"]), _days(first, until)]
        ys += [one["new_value"]] * 2
    marks = tuple(
        (_days(first, one["date"]), f"{one['old']} to {one['new']}")
        for one in known
        if one["old_value"] is not None
    )
    place = names.place(known[-1]["now"] or known[-1]["where"])
    return Curve(f"{place} {known[-1]['settings']}", tuple(xs), tuple(ys), marks[-3:])


def _days(first: datetime, at: datetime) -> float:
    return (at - first).total_seconds() / _DAY


def _ticks(first: datetime, last: datetime) -> list[tuple[float, str]]:
    span = last - first
    days = [first + span * n / (_TICKS - 1) for n in range(_TICKS)] if span else [first]
    found = {f"{at:%Y-%m-%d}": _days(first, at) for at in reversed(days)}
    return sorted((x, text) for text, x in found.items())


def _title(name: str, chosen: Sequence[Sequence[Row]], facts: Mapping[str, Any]) -> str:
    changes = sum(one["kind"] == "changed" for of in chosen for one in of)
    of = f" of {facts['asked']}" if facts["asked"] else ""
    if len(chosen) == 1 and not changes:
        end = "unchanged" if chosen[0][-1]["new"] else "until it went"
        return f"{name}{of}: {chosen[0][0]['new']}, {end}"
    if len(chosen) == 1 and changes:
        first, last = chosen[0][0]["new_value"], chosen[0][-1]["new_value"]
        if first is not None and last is not None:
            values = f"{significant(first, 4)} to {significant(last, 4)}"
            return f"{name}{of}: {values} in {counted(changes, 'change')}"
    return f"{name}{of}: {counted(changes, 'change')} in {counted(len(chosen), 'row')}"
