"""Charts of differences: the effect of a setting, and the efficiency of many devices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..project.short_names import ShortNames
from ..schema.warehouse import Row
from ..vocabulary.format import number, percent, times
from .answer import Answer
from .chart_parts import (
    MOST_BARS,
    MOST_SERIES,
    SETTING,
    ChartDraft,
    counts_nodes,
    cut,
    labels_of,
    left_over,
    placed,
    require,
    subject,
    told_apart,
)
from .words import level_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_CHANGES = 3  # that a title names
_CHANGE = {False: "level", True: "change"}  # labels of a pair, with one base and with several


def effects(names: ShortNames, answer: Answer) -> ChartDraft:
    """Speed-ups of pairs that differ in nothing else, one row per configuration."""
    from .chart import paired_effects
    from .charts.data import Bar

    alone = [row for row in answer.rows if not row["also_differs"]]
    found = [
        {**row, "change": f"{row['base']} → {row['level']}", "devices": row["device_count"]}
        for row in alone
        if row["speedup"] is not None
    ]
    rows = found[:MOST_BARS]
    require(rows, "no pair differs in one column only")
    size = "nodes" if counts_nodes([found]) else "devices"
    columns = [size, "dp", "tp", "pp", "mbs", "gbs", "device_batch", "date", *SETTING]
    same = [name for name in columns if all(str(row[name]) == row["level"] for row in found)]
    several = len({row["base"] for row in found}) > 1
    shown = bool(same) and not several
    if several:
        columns = [name for name in columns if name not in same]
    labels = labels_of(names, found, columns if shown else [_CHANGE[several], *columns])
    labels = placed(names, found, told_apart(found, labels))
    bars = [
        Bar(label, row["speedup"], row["speedup_low"], row["speedup_high"], _short(row["verdict"]))
        for label, row in zip(labels, rows, strict=False)
    ]
    sure = [row["verdict"] in ("faster", "slower") for row in rows]
    levels = sorted({row["level"] for row in rows})
    factor = str(rows[0]["factor"] or "")
    what = level_words(levels[0], factor) if len(levels) == 1 else ""
    base = str(rows[0]["base"])
    base = base if base == "none" else level_words(base, factor)
    left = [
        *cut("pairs", labels, MOST_BARS),
        *left_over(len(answer.rows) - len(alone), "pair with more differences"),
        *left_over(len(alone) - len(found), "pair of which one side failed"),
    ]

    x_label = "Speed-up against the first value" if several else f"Speed-up against {base}"
    x_label = f"Speed-up of {what}{x_label.removeprefix('Speed-up')}" if what else x_label

    def draw(title: str) -> Figure:
        return paired_effects(bars, sure, title=title, x_label=x_label)

    of_one = f"{what}: {_ends(rows)} the speed of {base}"
    message = _changes(rows, factor) if several or not what else of_one
    message = f"{subject(names, rows)}{message}"
    message = message[:1].upper() + message[1:]
    return ChartDraft(draw, tuple(rows), tuple(left), message)


def _changes(rows: Sequence[Row], factor: str) -> str:
    """The speed-ups of each change of a setting: recompute full → none: 1.1x to 1.3x the speed."""
    changes: dict[str, list[Row]] = {}
    for row in rows:
        changes.setdefault(f"{row['base']} → {row['level']}", []).append(row)
    name = level_words("", factor).strip()
    if len(changes) > _MOST_CHANGES:
        return f"changing {name} gives {_ends(rows)} the speed"
    each = ", ".join(f"{change} {_ends(of)}" for change, of in changes.items())
    return f"{name}: {each} the speed"


def _ends(rows: Sequence[Row]) -> str:
    """The least and the largest speed-up: 0.93x to 1.23x."""
    least, most = (times(end([row["speedup"] for row in rows])) for end in (min, max))
    return least if least == most else f"{least} to {most}"


def _short(verdict: str) -> str:
    """A verdict without its advice, for which only a table has room."""
    return re.sub(r"(not significant|not tested).*", r"\1", verdict)


def efficiency(names: ShortNames, answer: Answer) -> ChartDraft:
    """Efficiency over nodes or devices, one line per scaling group."""
    from .chart import scaling_efficiency
    from .charts.data import Point, Series

    require(answer.rows, "no two runs differ only in the number of devices")
    groups: dict[int, list[Row]] = {}
    for row in answer.rows:
        groups.setdefault(row["group"], []).append(row)
    count = "nodes" if counts_nodes(groups.values()) else "device_count"
    placeable = [rows for rows in groups.values() if all(row[count] for row in rows)]
    require(placeable, "no two runs differ only in a known number of devices")
    found = sorted(placeable, key=len, reverse=True)
    columns = ("scaling", "mbs", "gbs", "device_batch", "seq_len", "dtype", *SETTING)
    firsts = [_with_batch(rows[0]) for rows in found]
    labels = placed(names, firsts, told_apart(firsts, labels_of(names, firsts, columns)))

    def point(row: Row) -> Point:
        ends = [row["efficiency_low"], row["efficiency_high"]]
        shown = [None if end is None or row["efficiency"] == 1 else 100 * end for end in ends]
        return Point(row[count], 100 * row["efficiency"], shown[0], shown[1])

    drawn = found[:MOST_SERIES]
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

    left = [
        *cut("groups, of fewest sizes", labels, MOST_SERIES),
        *left_over(len(groups) - len(found), "group without a number of devices"),
    ]
    every = tuple(row for rows in drawn for row in rows)
    return ChartDraft(draw, every, tuple(left), _efficiency_message(names, drawn, count))


def _efficiency_message(names: ShortNames, groups: Sequence[Sequence[Row]], count: str) -> str:
    """The efficiency at the most nodes or devices: 7B on A100: 88% efficiency on 1,024 devices."""
    unit = "nodes" if count == "nodes" else "devices"
    lasts = [max(rows, key=lambda row: row[count]) for rows in groups]
    most = max(row[count] for row in lasts)
    shares = [row["efficiency"] for row in lasts if row[count] == most]
    low, high = percent(min(shares)), percent(max(shares))
    share = high if low == high else f"{low} to {high}"
    largest = [rows for rows in groups if any(row[count] == most for row in rows)]
    machine = subject(names, [row for rows in largest for row in rows])
    return f"{machine}{share} efficiency on {number(most)} {unit}"


def _with_batch(row: Row) -> Row:
    """The first row of a group with the batch common to all its sizes: of a step, or a device."""
    batch = row["batch"]
    if row["scaling"] == "strong":
        return {**row, "gbs": f"{batch:.10g}", "device_batch": None}
    if row["scaling"] != "weak":  # its kind is not known
        return {**row, "scaling": None, "gbs": None}
    share = batch / row["device_count"] if batch else None
    return {**row, "gbs": None, "device_batch": share or row["device_batch"]}
