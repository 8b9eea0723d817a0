"""Answers as charts: which rows, in which series, with which names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..decide.comparable import comparable, far_apart
from ..decide.rows import Row
from ..schema.errors import BenchError
from .answer import Answer, devices_words
from .short import Names
from .words import label_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("effects", "efficiency", "pareto", "days")
_MOST_SERIES, _MOST_EFFECTS, _MOST_NAMED = 7, 11, 4
_CHANGE = {False: "level", True: "change"}  # what labels a pair, with one base and with several
_SETTING = ("size", "system", "tp", "pp", "recompute", "settings")


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart under way: what draws it, of which rows, and what it leaves out, in words."""

    draw: Callable[[str], Figure]
    rows: tuple[Row, ...]
    left: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What is not drawn, for a line below the chart."""
        return f"Not drawn: {'; '.join(self.left)}." if self.left else ""


def effects(names: Names, answer: Answer) -> Picture:
    """Speed-ups of pairs that differ in nothing else, one row a configuration."""
    from .chart import Bar, paired_effects

    alone = [row for row in answer.rows if not row["also_differs"]]
    found = [
        {**row, "change": f"{row['base']} → {row['level']}"}
        for row in alone
        if row["speedup"] is not None
    ]
    rows = found[:_MOST_EFFECTS]
    _require(rows, "no pair differs in one column only")
    columns = ["nodes", "dp", "tp", "pp", "mbs", "gbs", "device_batch", "date", *_SETTING]
    same = [name for name in columns if all(str(row[name]) == row["level"] for row in found)]
    several = len({row["base"] for row in found}) > 1
    shown = bool(same) and not several
    if several:
        columns = [name for name in columns if name not in same]
    labels = labels_of(names, found, columns if shown else [_CHANGE[several], *columns])
    bars = [
        Bar(label, row["speedup"], row["speedup_low"], row["speedup_high"], _short(row["verdict"]))
        for label, row in zip(labels, rows, strict=False)
    ]
    sure = [row["verdict"] in ("faster", "slower") for row in rows]
    levels = sorted({row["level"] for row in rows})
    what = f"Speed-up of {levels[0]}" if len(levels) == 1 else "Speed-up"
    base = f"{rows[0]['factor']} {rows[0]['base']}".strip() if shown else rows[0]["base"]
    base = "the first value" if several else base
    left = [
        *_cut("pairs", labels, _MOST_EFFECTS),
        *_counted(len(answer.rows) - len(alone), "pair that differs in other columns"),
        *_counted(len(alone) - len(found), "pair of which one side failed"),
    ]

    def draw(title: str) -> Figure:
        return paired_effects(bars, sure, title=title, x_label=f"{what} against {base}")

    return Picture(draw, tuple(rows), tuple(left))


def efficiency(names: Names, answer: Answer) -> Picture:
    """Efficiency over nodes or devices, one line a scaling group."""
    from .chart import Point, Series, scaling_efficiency

    _require(answer.rows, "no two runs differ only in the number of devices")
    groups: dict[int, list[Row]] = {}
    for row in answer.rows:
        groups.setdefault(row["group"], []).append(row)
    found = sorted(groups.values(), key=len, reverse=True)
    count = "nodes" if all(row["nodes"] for row in answer.rows) else "device_count"
    columns = ("scaling", "mbs", "gbs", "device_batch", "seq_len", "dtype", *_SETTING)
    labels = labels_of(names, [_with_batch(rows[0]) for rows in found], columns)

    def point(row: Row) -> Point:
        ends = [row["efficiency_low"], row["efficiency_high"]]
        shown = [None if end is None or row["efficiency"] == 1 else 100 * end for end in ends]
        return Point(row[count], 100 * row["efficiency"], *shown)

    drawn = found[:_MOST_SERIES]
    series = [
        Series(label, tuple(map(point, rows))) for label, rows in zip(labels, drawn, strict=False)
    ]

    def draw(title: str) -> Figure:
        unit = "node" if count == "nodes" else "device"
        measures = {row["measure"] for rows in drawn for row in rows}
        only = {"tflops": "TFLOP/s", "step_time_s": "Sequences/s"}.get(min(measures), "Tokens/s")
        rate = only if len(measures) == 1 else "Speed"
        y_label = f"{rate} a {unit}, against the smallest run"
        x_label = f"{unit.capitalize()}s"
        return scaling_efficiency(series, title=title, x_label=x_label, y_label=y_label)

    left = _cut("groups, of fewest sizes", labels, _MOST_SERIES)
    return Picture(draw, tuple(row for rows in drawn for row in rows), tuple(left))


def _with_batch(row: Row) -> Row:
    """The first row of a group with the batch that all its sizes have: of a step, or a device."""
    batch = row["batch"]
    if row["scaling"] == "strong":
        return {**row, "gbs": f"{batch:.10g}", "device_batch": None}
    share = batch / row["device_count"] if batch and row["scaling"] == "weak" else None
    return {**row, "gbs": None, "device_batch": share or row["device_batch"]}


def pareto(names: Names, answer: Answer) -> Picture:
    """Devices against days: the configurations that none beats in both, and the others."""
    from .chart import Point, Series, days_over_devices

    rows, left = _sized(answer)
    apart = far_apart(rows)
    sets = list(dict.fromkeys(comparable(row, apart) for row in rows))
    called = [
        _front_words(names, rows, [row for row in rows if comparable(row, apart) == one])
        for one in sets
    ]
    left += _cut("fronts", called, _MOST_SERIES - 1)
    sets = sets[: _MOST_SERIES - 1]
    rows = [row for row in rows if comparable(row, apart) in sets]
    others = tuple(Point(row["device_count"], row["days"]) for row in rows if not row["pareto"])
    series = [Series("others", others, joined=False, lowest=True)] if others else []
    for one, name in zip(sets, called, strict=False):
        front = [row for row in rows if row["pareto"] and comparable(row, apart) == one]
        labels = labels_of(names, front, ("tp", "pp", "mbs", *_SETTING), named=False)
        points = tuple(
            Point(row["device_count"], row["days"], label=label or None)
            for row, label in zip(front, labels, strict=True)
        )
        series.append(Series(name, points, lowest=True))

    def draw(title: str) -> Figure:
        return days_over_devices(series, title=title)

    return Picture(draw, tuple(rows), tuple(left))


def _front_words(names: Names, rows: Sequence[Row], members: Sequence[Row]) -> str:
    """What tells a front from the others: its system, where there are several, and its model."""
    sizes = {row["size"] or row["model"] for row in members if row["pareto"]} - {None}
    several = len({row["size"] or row["model"] for row in rows}) > 1
    size = [" and ".join(sorted(map(str, sizes)))] if len(sizes) in (1, 2) and several else []
    system = [names.system(members[0]["system"])] if len({r["system"] for r in rows}) > 1 else []
    return ", ".join([*size, *(system or ["none better in both"])])


def days(names: Names, answer: Answer) -> Picture:
    """Days over devices with their ranges, a line for each setting of several sizes; of runs of
    one size, a bar a configuration."""
    from .chart import Point, Series, days_over_devices

    rows, left = _sized(answer)
    if len({row["device_count"] for row in rows}) == 1:
        return _days_of_one_size(names, rows, left)
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in _SETTING), []).append(row)
    found = sorted(groups.values(), key=lambda rows: min(row["days"] for row in rows))
    labels = labels_of(names, [rows[0] for rows in found], _SETTING)
    left += _cut("settings, of most days", labels, _MOST_SERIES)
    drawn = found[:_MOST_SERIES]
    series = [
        Series(
            label,
            tuple(
                Point(row["device_count"], row["days"], row["days_low"], row["days_high"])
                for row in rows
            ),
            lowest=True,
        )
        for label, rows in zip(labels, drawn, strict=False)
    ]

    def draw(title: str) -> Figure:
        return days_over_devices(series, title=title)

    return Picture(draw, tuple(row for rows in drawn for row in rows), tuple(left))


def _days_of_one_size(names: Names, rows: Sequence[Row], left: Sequence[str]) -> Picture:
    from .chart import Bar, days_to_train

    found = sorted(rows, key=lambda row: row["days"])
    columns = (*_SETTING[:2], "dp", *_SETTING[2:], "mbs", "gbs", "device_batch", "date")
    labels = labels_of(names, found, columns)
    drawn = found[:_MOST_EFFECTS]
    bars = [
        Bar(label, row["days"], row["days_low"], row["days_high"])
        for label, row in zip(labels, drawn, strict=False)
    ]

    def draw(title: str) -> Figure:
        return days_to_train(bars, title=title, x_label=f"Days on {devices_words(rows[0])}")

    cut = _cut("configurations, of most days", labels, _MOST_EFFECTS)
    return Picture(draw, tuple(drawn), (*left, *cut))


def footer(sources: Mapping[str, str], picture: Picture, answer: Answer, version: str) -> str:
    """Where a chart's numbers come from: sources with their digests, what is left out, version."""
    used: dict[str, list[int]] = {}
    for row in picture.rows:
        for where in (row["where"], row.get("where_base")):
            if where:
                uri, _, line = where.rpartition(":")
                used.setdefault(uri, []).append(int(line))
    sources_used = []
    for uri, lines in sorted(used.items()):
        digest = sources.get(uri, "?")[:12]
        sources_used.append(f"{uri.rsplit('/', 1)[-1]}:{min(lines)}-{max(lines)} (sha256 {digest})")
    more = f" and {len(sources_used) - 3} more" if len(sources_used) > 3 else ""
    left = f" {len(answer.left_out)} runs excluded." if answer.left_out else ""
    cut = f"{picture.note} " if picture.left else ""
    return f"{cut}{'; '.join(sources_used[:3])}{more}.{left} bench {version}"


def _sized(answer: Answer) -> tuple[list[Row], list[str]]:
    """The rows that have a place in devices and days, and in words how many have none."""
    rows = [row for row in answer.rows if row["device_count"] and row["days"]]
    _require(rows, "no run states its devices and a time")
    return rows, _counted(len(answer.rows) - len(rows), "run without devices")


def _cut(what: str, labels: Sequence[str], most: int) -> list[str]:
    """What a chart has no room for, by name."""
    more = [label for label in labels[most:] if label]
    if len(labels) <= most:
        return []
    named = f" ({', '.join(f'{label!r}' for label in more[:_MOST_NAMED])}" if more else ""
    rest = f" and {len(more) - _MOST_NAMED} more)" if len(more) > _MOST_NAMED else ")"
    return [f"{len(labels) - most} of {len(labels)} {what}{named}{rest if named else ''}"]


def _counted(count: int, what: str) -> list[str]:
    noun, *rest = what.split(" ", 1)
    return [" ".join([f"{count} {noun}{'' if count == 1 else 's'}", *rest])] if count else []


def _require(rows: Sequence[Row], why: str) -> None:
    if not rows:
        raise BenchError("nothing to draw", why=why, hint="bench runs lists what there is")


def labels_of(
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
        system = names.system(row["system"])
        said = [
            system if name == "system" else label_of(name, row[name])
            for name in differ
            if row[name] is not None
        ]
        found.append(", ".join(said) or (str(row["size"] or system) if named else ""))
    return found


def _short(verdict: str) -> str:
    """A verdict without the advice that a table has room for."""
    return re.sub(r"(not significant|not tested).*", r"\1", verdict)


PICTURES: dict[str, Callable[[Names, Answer], Picture]] = {
    "effects": effects, "efficiency": efficiency, "pareto": pareto, "days": days,
}  # fmt: skip
