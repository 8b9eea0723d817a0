"""A statistic of a log: its window, n and rule, and its lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..schema.sql import sql_file
from ..schema.warehouse import Row
from ..vocabulary.format import counted
from .run import Interval, RunContext
from .tree import Arithmetic, Node

SHOWN = 12  # lines listed for a window; of more, the middle values and the ends
_GRADES = {1: "in the window", 2: "left out: an evaluation or a save in it", 3: "left out: warm-up",
           4: "left out: another batch size"}  # fmt: skip
_UNITS = {
    "step_time_s": "s",
    "samples_per_s": "1/s",
    "tflops": "TFLOP/s",
    "tokens_per_s": "tokens/s",
    "tokens_per_s_per_device": "tokens/s",
    "gbs": "sequences",
    "seq_len": "tokens",
}


def statistic(run: RunContext, metric: str) -> Node | None:
    """The median of a run's intervals; None if the log does not print the metric."""
    stats = run.statistics(metric)
    if stats is None:
        return None
    listed, left, total = (
        run.intervals[metric] if run.intervals else _shortened(intervals(run, metric))
    )
    window = f"iterations {stats['first_iteration']}-{stats['last_iteration']}"
    number = f"n = {stats['n']} in {counted(stats['lines'], 'line')}"
    return Node(
        metric,
        stats["median"],
        _UNITS.get(metric, ""),
        stats["min"],
        stats["max"],
        Arithmetic(f"median of {window}, {number}", title=_rule(stats)),
        note="; ".join(filter(None, (
            f"mean {stats['mean']:.6g}", f"95th percentile {stats['p95']:.6g}",
            f"standard deviation {stats['stddev']:.3g}" if stats["stddev"] is not None else "",
            f"{left} of {total} intervals left out" if left else "",
        ))),
        inputs=tuple(_interval(run, metric, one) for one in listed),
    )  # fmt: skip


def _rule(stats: Row) -> str:
    return f"rule {stats['rule_version']}: {stats['rule']}"


def intervals(run: RunContext, metric: str) -> list[Interval]:
    """All intervals that print the metric, with the rule's grade."""
    load = """SELECT load_id FROM raw.runs JOIN current_loads USING (load_id) WHERE run_id = ?"""
    [(load_id,)] = run.warehouse.rows(load, [run.run_id])
    query = f"""{judged_intervals()}
        SELECT line, iteration, {metric}::DOUBLE, grade, grade <= least FROM judged
        WHERE run_id = $run_id AND isfinite({metric}) ORDER BY line"""
    return run.warehouse.rows(query, {"load_ids": [load_id], "run_id": run.run_id})


def _shortened(every: Sequence[Interval]) -> tuple[Sequence[Interval], int, int]:
    """The listed intervals, how many are left out, and how many there are."""
    used = [interval for interval in every if interval[4]]
    return _listed(used, every), len(every) - len(used), len(every)


def _listed(used: Sequence[Interval], every: Sequence[Interval]) -> list[Interval]:
    if len(every) <= SHOWN:
        return list(every)
    # The median depends on the middle values, the range on the ends: these are always listed.
    by_value = sorted(used, key=lambda interval: interval[2])
    half = len(by_value) // 2
    middle = by_value[half - (len(by_value) % 2 == 0) : half + 1]
    return sorted({*used[:2], *middle, by_value[0], by_value[-1], *used[-2:]})


def _interval(run: RunContext, metric: str, interval: Interval) -> Node:
    line, iteration, value, grade, used = interval
    place = run.line_place(line)
    return Node(f"iteration {iteration}", value, _UNITS.get(metric, ""), place=place,
                note="in the window" if used else _GRADES[grade])  # fmt: skip


def printed(run: RunContext, metric: str, row: dict[str, Any]) -> Node:
    """A measured number: its cell with the range of its digits, or its statistic."""
    if row["basis"] == "log":
        node = statistic(run, metric)
        if node is not None:
            return node
    text = run.printed(metric, row["line"])
    cell = next((cell for cell in run.cells.values() if cell["raw"] == text and cell["name"]), None)
    place = run.cell_place(cell) if cell else run.line_place(row["line"], text)
    notes = [f"under {cell['heading']!r}"] if cell else []
    notes += [f"the largest {row['reading']} that the log prints"] if row["reading"] else []
    notes += [f"of a {row['scope']}"] if row["scope"] not in (None, "job") else []
    notes += [f"marked: {', '.join(row['flags'])}"] if row["flags"] else []
    return Node(metric, row["value"], row["unit"], row["low"], row["high"], place=place,
                note="; ".join(notes))  # fmt: skip


_JUDGED = """), judged AS (
    SELECT g.* EXCLUDE (grade), j.now AS grade, j.least FROM graded g JOIN grades j
        ON j.run_id = g.run_id AND j.before = g.grade AND j.gbs IS NOT DISTINCT FROM g.gbs
)"""


def judged_intervals() -> str:
    """The WITH clause up to `judged`: the intervals of $load_ids with their grade.

    Grade 1 is used, 2 contains an evaluation or a save, 3 is warm-up, 4 has another batch; a run's
    statistics use its lowest grade, its `least`.
    """
    text = sql_file("run_stats")
    return text[text.index("WITH requested") : text.index("), long AS")] + _JUDGED
