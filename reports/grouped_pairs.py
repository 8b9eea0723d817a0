"""Pairs of a comparison grouped by columns: the mean of their speed-ups, and the ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..schema.warehouse import Row
from ..vocabulary.format import times
from .answer import Answer

_MORE = ("pairs", "speedup", "speedup_least", "speedup_most", "faster", "slower", "newly_failing",
         "worse")  # fmt: skip
_HEADS = ("Pairs", "Speed-up", "Least", "Most", "Faster", "Slower", "Newly failing", "Worse")


def grouped(answer: Answer, names: Sequence[str]) -> Answer:
    """One row for each value of the columns: the geometric mean of its speed-ups and their ends.

    Pairs that differ in more columns do not count.
    """
    sets: dict[tuple[str, ...], list[Row]] = {}
    for row in answer.rows:
        if not row["also_differs"]:
            sets.setdefault(tuple(str(row[name]) for name in names), []).append(row)
    rows = tuple(
        {**{name: of[0][name] for name in names}, **_aggregate(of)} for of in sets.values()
    )
    cells = tuple({**row, **_texts(row)} for row in rows)
    shown = (*((name, name) for name in names), *zip(_MORE, _HEADS, strict=True))
    summary = (*answer.summary, f"One row for each {', '.join(names)}: geometric means.")
    columns = (*names, *(name for name in _MORE if name not in names), "left_out")
    return Answer(summary, columns, shown, rows, answer.left_out, answer.notes, cells)


def _aggregate(rows: Sequence[Row]) -> dict[str, Any]:
    ups = [row["speedup"] for row in rows if row["speedup"] is not None]
    return {
        "pairs": len(rows),
        "speedup": math.exp(sum(map(math.log, ups)) / len(ups)) if ups else None,
        "speedup_least": min(ups, default=None),
        "speedup_most": max(ups, default=None),
        "faster": sum(row["verdict"] == "faster" for row in rows),
        "slower": sum(row["verdict"] == "slower" for row in rows),
        "newly_failing": sum(bool(row["newly_fails"]) for row in rows),
        "worse": sum(bool(row["worse"]) for row in rows),
        "left_out": None,
    }


def _texts(row: Row) -> dict[str, str]:
    names = ("speedup", "speedup_least", "speedup_most")
    return {name: times(row[name]) for name in names if row[name] is not None}
