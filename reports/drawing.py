"""Answers as charts: which rows, in which series, with which names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..decide.comparable import comparable, far_apart
from ..decide.rows import Row
from ..schema.errors import BenchError
from ..vocabulary.format import number, percent, significant, times
from .answer import Answer, devices_words
from .short import Names
from .words import label_of, topology_short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_SERIES, _MOST_EFFECTS, _MOST_NAMED = 7, 11, 4
_CHANGE = {False: "level", True: "change"}  # what labels a pair, with one base and with several
_SETTING = ("size", "system", "tp", "pp", "recompute", "settings")


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart under way: what draws it, of which rows, what it leaves out and says, in words."""

    draw: Callable[[str], Figure]
    rows: tuple[Row, ...]
    left: tuple[str, ...] = ()
    message: str = ""

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

    return Picture(draw, tuple(rows), tuple(left), _effect_message(names, rows, what, base))


def _effect_message(names: Names, rows: Sequence[Row], what: str, base: str) -> str:
    """How much the pairs differ: LD_PRELOAD x: 1.3x to 1.8x of none (124M on A64FX)."""
    ups = [row["speedup"] for row in rows]
    least, most = min(ups), max(ups)
    much = times(least) if least == most else f"{times(least)} to {times(most)}"
    return f"{_told(names, rows)}{what.removeprefix('Speed-up of ')}: {much} the speed of {base}"


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
        return Point(row[count], 100 * row["efficiency"], shown[0], shown[1])

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
    every = tuple(row for rows in drawn for row in rows)
    return Picture(draw, every, tuple(left), _efficiency_message(names, drawn, count))


def _efficiency_message(names: Names, groups: Sequence[Sequence[Row]], count: str) -> str:
    """What is left on the most nodes or devices: 7B on A100: 88% efficiency on 1,024 devices."""
    unit = "nodes" if count == "nodes" else "devices"
    lasts = [max(rows, key=lambda row: row[count]) for rows in groups]
    most = max(row[count] for row in lasts)
    shares = [row["efficiency"] for row in lasts if row[count] == most]
    low, high = percent(min(shares)), percent(max(shares))
    share = high if low == high else f"{low} to {high}"
    told = _told(names, [row for rows in groups for row in rows])
    return f"{told}{share} efficiency on {number(most)} {unit}"


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
    if len({row["device_count"] for row in rows}) == 1:
        return _days_of_one_size(names, answer, rows, left)
    apart = far_apart(rows)
    sets = list(dict.fromkeys(comparable(row, apart) for row in rows))
    called = [
        _front_words(names, rows, [row for row in rows if comparable(row, apart) == one])
        for one in sets
    ]
    left += _cut("fronts", called, _MOST_SERIES - 1)
    sets = sets[: _MOST_SERIES - 1]
    rows = [row for row in rows if comparable(row, apart) in sets]
    others = tuple(
        Point(row["device_count"], row["days"], estimated=_is_estimated(row))
        for row in rows
        if not row["pareto"]
    )
    series = [Series("slower configurations", others, joined=False, lowest=True)] if others else []
    for one, name in zip(sets, called, strict=False):
        front = [row for row in rows if row["pareto"] and comparable(row, apart) == one]
        labels = labels_of(names, front, ("tp", "pp", "mbs", *_SETTING), named=False)
        points = tuple(
            Point(
                row["device_count"], row["days"], label=label or None, estimated=_is_estimated(row)
            )
            for row, label in zip(front, labels, strict=True)
        )
        series.append(Series(name, points, lowest=True))

    def draw(title: str) -> Figure:
        return days_over_devices(series, title=title, y_label=_days_head(answer))

    return Picture(draw, tuple(rows), tuple(left), _days_message(names, answer, rows))


def _front_words(names: Names, rows: Sequence[Row], members: Sequence[Row]) -> str:
    """What tells a front from the others: its system, where there are several, and its model."""
    sizes = {row["size"] for row in members if row["pareto"]} - {None}
    several = len({row["size"] for row in rows}) > 1
    size = [" and ".join(sorted(map(str, sizes)))] if len(sizes) in (1, 2) and several else []
    system = [names.system(members[0]["system"])] if len({r["system"] for r in rows}) > 1 else []
    return ", ".join([*size, *(system or ["fastest at each size"])])


def days(names: Names, answer: Answer) -> Picture:
    """Days over devices with their ranges, a line for each setting of several sizes; of runs of
    one size, a bar a configuration."""
    from .chart import Point, Series, days_over_devices

    rows, left = _sized(answer)
    if len({row["device_count"] for row in rows}) == 1:
        return _days_of_one_size(names, answer, rows, left)
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
                Point(
                    row["device_count"],
                    row["days"],
                    row["days_low"],
                    row["days_high"],
                    estimated=_is_estimated(row),
                )
                for row in rows
            ),
            lowest=True,
        )
        for label, rows in zip(labels, drawn, strict=False)
    ]

    def draw(title: str) -> Figure:
        return days_over_devices(series, title=title, y_label=_days_head(answer))

    every = tuple(row for rows in drawn for row in rows)
    return Picture(draw, every, tuple(left), _days_message(names, answer, every))


def _days_head(answer: Answer) -> str:
    """What the days are for: Days per 100B tokens."""
    return next((head for name, head in answer.shown if name == "days"), "Days")


def _days_message(names: Names, answer: Answer, rows: Sequence[Row]) -> str:
    """The fewest days, and where: 7B on A100: 0.36 days per 100B tokens on 1,024 devices."""
    best = min(rows, key=lambda row: row["days"])
    head = _days_head(answer)
    what = head[0].lower() + head[1:] if head != "Days" else "days to train"
    split = f"DP/TP/PP {topology_short(best)}" if best["tp"] and best["dp"] and best["pp"] else ""
    batch = f"MBS {best['mbs']}" if best["mbs"] else ""
    # Of several machines and models, those of the best.
    told = _told(names, [best])
    at = ", ".join(filter(None, (f"on {devices_words(best)}", split, batch)))
    return f"{told}{significant(best['days'], 3)} {what} at best, {at}"


def _told(names: Names, rows: Sequence[Row]) -> str:
    """Model, machine and batch, as far as the rows share them: `176B on A100, GBS 2048: `."""

    def one(name: str) -> str | None:
        found = {row.get(name) for row in rows}
        value = found.pop() if len(found) == 1 else None
        return None if value is None else str(value)

    model, system, gbs = one("size") or one("model"), one("system"), one("gbs")
    # A document that states no device says nothing of the machine.
    known = system if system and names.system(system) == system else None
    machine = f"on {known}" if model and known else known
    words = [" ".join(filter(None, (model, machine)))] + ([f"GBS {gbs}"] if gbs else [])
    return f"{', '.join(filter(None, words))}: " if any(words) else ""


def _is_estimated(row: Row) -> bool:
    """Whether nobody measured it: a fit, or marked so by the authors."""
    return row.get("basis") == "fit" or bool(row.get("time_is_marked"))


def _days_of_one_size(
    names: Names, answer: Answer, rows: Sequence[Row], left: Sequence[str]
) -> Picture:
    from .chart import Bar, days_to_train

    found = sorted(rows, key=lambda row: row["days"])
    drawn = found[:_MOST_EFFECTS]
    labels, every = _bar_labels(names, drawn), _bar_labels(names, found)
    bars = [
        Bar(
            label,
            row["days"],
            row.get("days_low"),
            row.get("days_high"),
            estimated=_is_estimated(row),
        )
        for label, row in zip(labels, drawn, strict=False)
    ]

    def draw(title: str) -> Figure:
        head = f"{_days_head(answer)}, on {devices_words(rows[0])}"
        return days_to_train(bars, title=title, x_label=head)

    cut = _cut("configurations, of most days", every, _MOST_EFFECTS)
    return Picture(draw, tuple(drawn), (*left, *cut), _days_message(names, answer, drawn))


def _bar_labels(names: Names, rows: Sequence[Row]) -> list[str]:
    """A name for each bar; those that would be equal bear their line."""
    columns = (*_SETTING[:2], "dp", *_SETTING[2:], "mbs", "gbs", "device_batch", "date")
    labels = labels_of(
        names, [{**row, "size": row["size"] or row["model"]} for row in rows], columns
    )
    alone = len({row["uri"] for row in rows}) == 1
    lines = [f"line {row['line']}" if alone else names.place(row["where"]) for row in rows]
    return [
        label if labels.count(label) == 1 else ", ".join(filter(None, (label, line)))
        for label, line in zip(labels, lines, strict=True)
    ]


def tflops(names: Names, answer: Answer) -> Picture:
    """TFLOP/s of a device, a bar a configuration, with the MFU where it is known."""
    return _ranking(names, answer, "tflops", "TFLOP/s", "TFLOP/s per device, as printed")


def memory(names: Names, answer: Answer) -> Picture:
    """Memory, a bar a configuration, the least first."""
    return _ranking(names, answer, "memory_gb", "GB", "Memory, GB as printed")


def _ranking(names: Names, answer: Answer, column: str, unit: str, head: str) -> Picture:
    from .chart import Bar, ranked_bars

    rows = [row for row in answer.rows if row[column]]
    _require(rows, f"no run states {head.partition(',')[0]}")
    drawn = rows[:_MOST_EFFECTS]
    labels, every = _bar_labels(names, drawn), _bar_labels(names, rows)
    sizes = {row["device_count"] for row in drawn}
    if len(sizes) > 1:
        labels = [
            f"{label}, {devices_words(row)}" if row["device_count"] else label
            for label, row in zip(labels, drawn, strict=True)
        ]
    bars = [
        Bar(
            label,
            row[column],
            note=f"MFU {percent(row['mfu'])}" if row.get("mfu") else None,
            estimated=_is_estimated(row),
        )
        for label, row in zip(labels, drawn, strict=True)
    ]

    def draw(title: str) -> Figure:
        def text(value: float) -> str:
            return f"{significant(value, 3)} {unit}"

        return ranked_bars(bars, title=title, x_label=head, value_text=text)

    best = f"{significant(drawn[0][column], 3)} {unit}"
    at = labels[0] or devices_words(drawn[0])
    message = f"{_told(names, drawn)}{best} at best, {at}"
    cut = _cut("configurations, ranked below", every, _MOST_EFFECTS)
    return Picture(draw, tuple(drawn), tuple(cut), message)


def footer(sources: Mapping[str, str], picture: Picture, left_out: int, version: str) -> str:
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
    left = f" {left_out} runs excluded." if left_out else ""
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
    "tflops": tflops, "memory": memory,
}  # fmt: skip
NAMES = (*PICTURES, "steps", "loss")
