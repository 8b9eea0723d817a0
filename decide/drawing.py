"""Answers as charts: which rows, in which series, with which names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..reports.format import number
from ..reports.short import Names
from ..schema.errors import BenchError
from .answer import Answer
from .rows import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("effects", "efficiency", "pareto", "days")
_MOST_SERIES, _MOST_EFFECTS = 7, 11
_TOLD: dict[str, Callable[[Any], str]] = {
    "size": str, "machine": str,
    "nodes": lambda v: f"{number(v)} {'node' if v == 1 else 'nodes'}",
    "dp": lambda v: f"DP{v}", "tp": lambda v: f"TP{v}", "pp": lambda v: f"PP{v}",
    "mbs": lambda v: f"MBS {v}", "gbs": lambda v: f"GBS {v}", "heads": lambda v: f"{v} heads",
    "hidden": lambda v: f"hidden {v}", "layers": lambda v: f"{v} layers",
    "zero_stage": lambda v: f"ZeRO-{v}",
    "recompute": lambda v: "no recompute" if v == "none" else f"{v} recompute",
    "settings": str, "date": str, "scaling": lambda v: f"{v} scaling", "level": str,
}  # fmt: skip
_SETTING = ("size", "machine", "tp", "pp", "recompute", "settings")


def effects(names: Names, answer: Answer, title: str) -> Figure:
    """Speed-ups of pairs that differ in nothing else, one row a configuration."""
    from ..reports.chart import Bar, paired_effects

    rows = [row for row in answer.rows if not row["also_differs"]][:_MOST_EFFECTS]
    _require(rows, "no pair differs in one thing alone")
    columns = ("nodes", "dp", "tp", "pp", "mbs", "gbs", "date", *_SETTING)
    shown = any(all(str(row[name]) == row["level"] for row in rows) for name in columns)
    labels = _labels(names, rows, columns if shown else ("level", *columns))
    bars = [
        Bar(label, row["speedup"], row["speedup_low"], row["speedup_high"], _short(row["verdict"]))
        for label, row in zip(labels, rows, strict=True)
    ]
    sure = [row["verdict"] in ("faster", "slower") for row in rows]
    levels = sorted({row["level"] for row in rows})
    what = f"Speed-up of {levels[0]}" if len(levels) == 1 else "Speed-up"
    base = f"{rows[0]['factor']} {rows[0]['base']}".strip() if shown else rows[0]["base"]
    return paired_effects(bars, sure, title=title, x_label=f"{what} against {base}")


def efficiency(names: Names, answer: Answer, title: str) -> Figure:
    """Efficiency over nodes or devices, one line a scaling group."""
    from ..reports.chart import Point, Series, scaling_efficiency

    _require(answer.rows, "no two runs differ in the number of devices alone")
    groups: dict[int, list[Row]] = {}
    for row in answer.rows:
        groups.setdefault(row["group"], []).append(row)
    found = sorted(groups.values(), key=len, reverse=True)[:_MOST_SERIES]
    count = "nodes" if all(row["nodes"] for row in answer.rows) else "device_count"
    labels = _labels(names, [rows[0] for rows in found], ("scaling", "mbs", "gbs", *_SETTING))

    def point(row: Row) -> Point:
        ends = [row["efficiency_low"], row["efficiency_high"]]
        shown = [None if end is None or row["efficiency"] == 1 else 100 * end for end in ends]
        return Point(row[count], 100 * row["efficiency"], *shown)

    series = [
        Series(label, tuple(map(point, rows))) for label, rows in zip(labels, found, strict=True)
    ]
    return scaling_efficiency(series, title=title, x_label=count.split("_")[0].capitalize())


def pareto(names: Names, answer: Answer, title: str) -> Figure:
    """Devices against days: the configurations that none beats in both, and the others."""
    from ..reports.chart import Point, Series, days_over_devices

    rows = _sized(answer)
    others = tuple(Point(row["device_count"], row["days"]) for row in rows if not row["pareto"])
    series = [Series("others", others, joined=False, lowest=True)] if others else []
    systems = list(dict.fromkeys(row["machine"] for row in rows))
    for system in systems[: _MOST_SERIES - 1]:
        front = [row for row in rows if row["pareto"] and row["machine"] == system]
        labels = _labels(names, front, ("tp", "pp", "mbs", *_SETTING), named=False)
        points = tuple(
            Point(row["device_count"], row["days"], label=label or None)
            for row, label in zip(front, labels, strict=True)
        )
        name = names.system(system) if len(systems) > 1 else "none better in both"
        series.append(Series(name, points, lowest=True))
    return days_over_devices(series, title=title)


def days(names: Names, answer: Answer, title: str) -> Figure:
    """Days over devices with their ranges, a line for each setting of several sizes."""
    from ..reports.chart import Point, Series, days_over_devices

    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in _sized(answer):
        groups.setdefault(tuple(row[name] for name in _SETTING), []).append(row)
    found = sorted(groups.values(), key=lambda rows: min(row["days"] for row in rows))
    found = found[:_MOST_SERIES]
    labels = _labels(names, [rows[0] for rows in found], _SETTING)
    series = [
        Series(
            label,
            tuple(
                Point(row["device_count"], row["days"], row["days_low"], row["days_high"])
                for row in rows
            ),
            lowest=True,
        )
        for label, rows in zip(labels, found, strict=True)
    ]
    return days_over_devices(series, title=title)


def footer(names: Names, sources: Mapping[str, str], answer: Answer, version: str) -> str:
    """Where a chart's numbers come from: sources with their digests, what is left out, version."""
    used: dict[str, list[int]] = {}
    for row in answer.rows:
        for where in (row["where"], row.get("where_base")):
            if where:
                uri, _, line = where.rpartition(":")
                used.setdefault(uri, []).append(int(line))
    told = []
    for uri, lines in sorted(used.items()):
        digest = sources.get(uri, "?")[:12]
        told.append(f"{uri.rsplit('/', 1)[-1]} l.{min(lines)}-{max(lines)} (sha256 {digest})")
    more = f" and {len(told) - 3} more" if len(told) > 3 else ""
    left = f" {len(answer.left_out)} runs left out." if answer.left_out else ""
    return f"{'; '.join(told[:3])}{more}.{left} bench {version}"


def _sized(answer: Answer) -> list[Row]:
    rows = [row for row in answer.rows if row["device_count"] and row["days"]]
    _require(rows, "no run states its devices and a time")
    return rows


def _require(rows: Sequence[Row], why: str) -> None:
    if not rows:
        raise BenchError("there is nothing to draw", why=why, hint="bench runs lists what there is")


def _labels(
    names: Names, rows: Sequence[Row], columns: Sequence[str], named: bool = True
) -> list[str]:
    """What tells each row from the others; what all share is not said.

    Where nothing does, a row is `named` by its model, or not at all.
    """
    differ = [name for name in dict.fromkeys(columns) if len({row[name] for row in rows}) > 1]
    if "nodes" in differ and "dp" in differ:
        differ.remove("dp")  # follows
    found = []
    for row in rows:
        system = names.system(row["machine"])
        said = [
            system if name == "machine" else _TOLD[name](row[name])
            for name in differ
            if row[name] is not None
        ]
        found.append(", ".join(said) or (str(row["size"] or system) if named else ""))
    return found


def _short(verdict: str) -> str:
    if verdict.startswith("cannot tell"):
        return "one job a side"
    short = verdict.replace("no detectable change", "not detected").replace(" among all pairs", "")
    return short.replace("could see >= ", "sees ")


DRAW: dict[str, Callable[[Names, Answer, str], Figure]] = {
    "effects": effects, "efficiency": efficiency, "pareto": pareto, "days": days,
}  # fmt: skip
