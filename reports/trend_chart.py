"""The chart of a trend: a line per configuration, marked at changes of its level."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from ..decide.rows import Decision
from ..project.short_names import ShortNames
from ..vocabulary.format import counted, significant
from .charts.curves import Curve, draw_curves
from .computed.trend import HEADS, labels

MOST = 7  # lines


def trend_picture(names: ShortNames, decision: Decision) -> Figure:
    """The chart of a decision of `decide.trend`; for several configurations in percent of each
    one's first value, as their values are far apart."""
    facts = decision.facts
    chosen = _with_most_places(facts["series"])
    # The places of all lines in one order, merged.
    order = _merged([facts["series"][n]["series"].places for n in chosen])
    head, several = HEADS.get(facts["column"], facts["metric"]), len(chosen) > 1
    called = labels(names, facts)
    curves = [
        _curve(called[n], facts["series"][n]["series"], decision, n, order, several) for n in chosen
    ]
    y_label = f"{head}, percent of the first {facts['by']}" if several else head
    ticks = [(float(at), text) for text, at in order.items()]
    left = len(facts["series"]) - len(chosen)
    x_label = facts["by"].capitalize() + (
        f" ({counted(left, 'more configuration')} not drawn)" if left else ""
    )
    return draw_curves(curves, title(decision), x_label, y_label, ticks, "%" if several else "")


def title(decision: Decision) -> str:
    """A summary of the chart, in one sentence."""
    facts = decision.facts
    head, count = HEADS.get(facts["column"], facts["metric"]), len(facts["newest"])
    sizes = sorted({str(row["size"] or row["model"] or "") for row in facts["newest"]} - {""})
    of = f"{sizes[0]}: " if len(sizes) == 1 else ""
    if facts["worse"]:
        worst = max(facts["worse"], key=lambda row: abs(row["change"]))
        change = f"{100 * worst['change']:+.1f}%"
        if count == 1:
            return f"{of}{head} {change} since {worst['from']}"
        among = f"{len(facts['worse'])} of {counted(count, 'configuration')}"
        return f"{of}{head} worse in {among}, {change} at most"
    if facts["better"]:
        best = max(facts["better"], key=lambda row: abs(row["change"]))
        return f"{of}{head} {100 * best['change']:+.1f}% since {best['from']}"
    return f"{of}{head} is steady in {counted(count, 'configuration')}"


def _with_most_places(made: Sequence[Mapping[str, Any]]) -> list[int]:
    """The configurations with the most places, those with early changes first."""
    order = sorted(
        range(len(made)), key=lambda n: (not made[n]["changes"], -len(made[n]["series"].places), n)
    )
    return order[:MOST]


def _merged(lists: Sequence[Sequence[str]]) -> dict[str, int]:
    """Every place with its number, in the order of each list where the lists agree."""
    left = [list(one) for one in lists]
    found: list[str] = []
    while any(left):
        heads = [one[0] for one in left if one]
        later = {place for one in left for place in one[1:]}
        free = [head for head in heads if head not in later] or heads
        found.append(min(free))
        left = [[place for place in one if place != found[-1]] for one in left]
    return {place: n for n, place in enumerate(found)}


def _curve(
    name: str, one: Any, decision: Decision, number: int, order: Mapping[str, int], relative: bool
) -> Curve:  # Any: a Series of decide.trend
    scale = 100 / math.exp(one.medians[0]) if relative else 1.0
    rows = [row for row in decision.rows if row["number"] == number]
    marks = tuple(
        (
            float(order[row["from"]]),
            f"{100 * row['change']:+.1f}% to {significant(row['value'], 4)}",
        )
        for row in rows
        if row["change"] is not None
    )
    levels = tuple(
        (order[row["from"]] - 0.3, order[row["to"]] + 0.3, scale * row["value"]) for row in rows
    )
    xs = tuple(float(order[place]) for place in one.places)
    return Curve(name, xs, tuple(scale * math.exp(y) for y in one.medians), marks, levels)
