"""How the numbers of `bench compare` are made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ..decide.jobs import spread_of
from ..decide.rows import Row
from ..decide.statistics import ENOUGH, LEVEL, over_configurations
from .decision import Told
from .node import How, Node
from .of_best import deviation
from .pooled import pace, pooled


def speedup(told: Told, row: Row) -> Node | None:
    """The base's seconds a token over those of the other side."""
    if row["speedup"] is None:
        return None
    inputs = (_named(pace(told, row, "_base"), "pace_of_the_base"), pace(told, row))
    note = f"interval by {row['method']}" if row["speedup_low"] is not None else row["method"]
    low, high = row["speedup_low"], row["speedup_high"]
    how = How("pace_of_the_base / pace")
    return Node("speedup", row["speedup"], "", low, high, how, note=note, inputs=inputs)


def change(told: Told, row: Row) -> Node | None:
    """How much longer a token takes, in percent."""
    up = speedup(told, row)
    if up is None:
        return None
    how = How("100 x (1 / speedup - 1)")
    return Node("change_percent", row["change_percent"], "%", how=how, inputs=(up,))


def p_value(told: Told, row: Row) -> Node | None:
    """How often chance alone would set the sides so far apart."""
    return _tested(told, row, "p_value", f"p of {row['method']}")


def q_value(told: Told, row: Row) -> Node | None:
    """p after Benjamini and Hochberg over the whole output."""
    found = _tested(told, row, "q_value", "p after Benjamini and Hochberg over all pairs")
    return found


def could_see(told: Told, row: Row) -> Node | None:
    """The smallest change that would have been detected 4 times in 5."""
    return _tested(
        told, row, "could_see_percent", "the least change that 4 of 5 such trials detect", "%"
    )


def variation(side: str) -> Callable[[Told, Row], Node | None]:
    """The coefficient of variation of the jobs of a side."""
    name = f"cv{side}_percent"

    def derive(told: Told, row: Row) -> Node | None:
        if row[name] is None:
            return None
        inputs = pace(told, row, side).inputs
        how = How("100 x standard deviation / mean of the jobs' seconds a token")
        return Node(name, row[name], "%", how=how, inputs=inputs)

    return derive


def said(told: Told) -> Iterator[Node]:
    """Means and tests over all pairs, counts, and the spread that few jobs are judged by."""
    pairs = [row for row in told.answer.rows if row["speedup"] and not row["also_differs"]]
    sets: dict[tuple[str, str], list[Row]] = {}
    for row in pairs:
        sets.setdefault((row["base"], row["level"]), []).append(row)
    for (base, level), rows in sets.items():
        yield from _overall(told, f"{level} against {base}", rows)
    yield Node("pairs", len(told.answer.rows), note="all pairs of the answer")
    yield Node("pairs tested", len(pairs), note="pairs that differ in nothing else")
    blind = sum(row["p_value"] is None for row in pairs)
    yield Node("pairs that nothing tells of", blind, note="no spread is known")
    more = sum(bool(row["also_differs"]) for row in told.answer.rows)
    yield Node("pairs that differ in more", more)
    yield Node("jobs a side", ENOUGH, note="from which a rank test can tell")
    yield Node("level", LEVEL, note="of the tests; 95% intervals")
    for row in pairs:
        known = spread_of(row, told.chosen.spreads)
        if known is not None and row["method"].startswith("spread"):
            yield deviation(told, known)


def _overall(told: Told, what: str, rows: Sequence[Row]) -> Iterator[Node]:
    ups = [row["speedup"] for row in rows]
    inputs = tuple(node for row in rows if (node := speedup(told, row)))
    mean = math.exp(sum(map(math.log, ups)) / len(ups))
    how = How(f"geometric mean of {len(ups)} speed-ups")
    yield Node(f"mean of {what}", mean, how=how, inputs=inputs)
    faster = sum(up > 1 for up in ups)
    yield Node("faster", faster, how=How("count of speed-ups above 1"), inputs=inputs)
    yield Node("configurations", len(ups), note=what)
    p = over_configurations([math.log(up) for up in ups])
    if p is not None:
        how = How("p of Wilcoxon's signed ranks over ln(speed-up)")
        yield Node("p", p, how=how, note=what, inputs=inputs)


def _tested(told: Told, row: Row, name: str, words: str, unit: str = "") -> Node | None:
    if row[name] is None:
        return None
    up, known = speedup(told, row), spread_of(row, told.chosen.spreads)
    more = (deviation(told, known),) if known and row["method"].startswith("spread") else ()
    inputs = (*([up] if up else []), *more)
    return Node(name, row[name], unit, how=How(words), inputs=inputs)


def _base(name: str) -> Callable[[Told, Row], Node | None]:
    return lambda told, row: pooled(told, row, name, "_base")


def _named(node: Node, name: str) -> Node:
    return replace(node, name=name)


VALUES = {
    "speedup": speedup, "change_percent": change, "p_value": p_value, "q_value": q_value,
    "could_see_percent": could_see, "cv_percent": variation(""),
    "cv_base_percent": variation("_base"),
    **{f"{name}_base": _base(name) for name in ("step_time_s", "tokens_per_s", "memory_gb")},
}  # fmt: skip
