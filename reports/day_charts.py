"""Charts of days: over devices, with their Pareto front, and as bars for one size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..decide.comparable import comparable, far_apart
from ..project.short_names import ShortNames
from ..schema.warehouse import Row
from ..vocabulary.format import significant
from .answer import Answer, devices_words
from .chart_parts import (
    MOST_BARS,
    MOST_SERIES,
    SETTING,
    ChartDraft,
    bar_labels,
    cut,
    is_estimated,
    labels_of,
    left_over,
    require,
    sized_labels,
    subject,
)
from .words import topology_short

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_STACK = 0.75  # of the rows on one size: their ranking tells more than their dots


def pareto(names: ShortNames, answer: Answer) -> ChartDraft:
    """Devices against days: the Pareto-optimal configurations, and the others."""
    from .chart import days_over_devices
    from .charts.data import Point, Series

    rows, left = _sized(answer)
    apart = far_apart(rows)
    sets = list(dict.fromkeys(comparable(row, apart) for row in rows))
    if _is_stack(rows) or _of_one_size_each(
        (comparable(row, apart), row["device_count"]) for row in rows
    ):
        return _days_as_bars(names, answer, rows, left)
    called = [
        _front_words(names, rows, [row for row in rows if comparable(row, apart) == one])
        for one in sets
    ]
    left += cut("fronts", called, MOST_SERIES - 1)
    sets = sets[: MOST_SERIES - 1]
    rows = [row for row in rows if comparable(row, apart) in sets]
    others = tuple(
        Point(row["device_count"], row["days"], estimated=is_estimated(row))
        for row in rows
        if not row["pareto"]
    )
    series = [Series("slower configurations", others, joined=False, lowest=True)] if others else []
    for one, name in zip(sets, called, strict=False):
        front = [row for row in rows if row["pareto"] and comparable(row, apart) == one]
        labels = labels_of(names, front, ("tp", "pp", "mbs", *SETTING), named=False)
        points = tuple(
            Point(
                row["device_count"], row["days"], label=label or None, estimated=is_estimated(row)
            )
            for row, label in zip(front, labels, strict=True)
        )
        series.append(Series(name, points, lowest=True))

    def draw(title: str) -> Figure:
        return days_over_devices(series, title=title, y_label=_days_head(answer))

    return ChartDraft(draw, tuple(rows), tuple(left), _days_message(names, answer, rows))


def _front_words(names: ShortNames, rows: Sequence[Row], members: Sequence[Row]) -> str:
    """A label that distinguishes a front: its system, if there are several, and its model."""
    sizes = {row["size"] for row in members if row["pareto"]} - {None}
    several = len({row["size"] for row in rows}) > 1
    size = [" and ".join(sorted(map(str, sizes)))] if len(sizes) in (1, 2) and several else []
    system = [names.system(members[0]["system"])] if len({r["system"] for r in rows}) > 1 else []
    return ", ".join([*size, *(system or ["fastest at each size"])])


def days(names: ShortNames, answer: Answer) -> ChartDraft:
    """Days over devices with their ranges, a line for each setting with several sizes; for runs of
    one size, a bar per configuration."""
    from .chart import days_over_devices
    from .charts.data import Point, Series

    rows, left = _sized(answer)

    def setting(row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in SETTING)

    if _of_one_size_each((setting(row), row["device_count"]) for row in rows):
        return _days_as_bars(names, answer, rows, left)
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(setting(row), []).append(row)
    found = sorted(groups.values(), key=lambda rows: min(row["days"] for row in rows))
    labels = labels_of(names, [rows[0] for rows in found], SETTING)
    left += cut("settings, of most days", labels, MOST_SERIES)
    drawn = found[:MOST_SERIES]
    series = [
        Series(
            label,
            tuple(
                Point(
                    row["device_count"],
                    row["days"],
                    row["days_low"],
                    row["days_high"],
                    estimated=is_estimated(row),
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
    return ChartDraft(draw, every, tuple(left), _days_message(names, answer, every))


def _of_one_size_each(found: Iterable[tuple[Hashable, int]]) -> bool:
    """Whether nothing ran on two sizes, so that no line has two points."""
    pairs = set(found)
    return len({one for one, _ in pairs}) == len(pairs)


def _is_stack(rows: Sequence[Row]) -> bool:
    """Whether more ran on one size than bars have room, and few on others: dots above one x."""
    most = max(Counter(row["device_count"] for row in rows).values())
    return most > MOST_BARS and most > _STACK * len(rows)


def _days_as_bars(
    names: ShortNames, answer: Answer, rows: Sequence[Row], left: Sequence[str]
) -> ChartDraft:
    from .chart import days_to_train
    from .charts.data import Bar

    found = sorted(rows, key=lambda row: row["days"])
    drawn = found[:MOST_BARS]
    labels, every = sized_labels(names, drawn), bar_labels(names, found)
    bars = [
        Bar(
            label,
            row["days"],
            row.get("days_low"),
            row.get("days_high"),
            estimated=is_estimated(row),
        )
        for label, row in zip(labels, drawn, strict=False)
    ]

    def draw(title: str) -> Figure:
        sizes = {row["device_count"] for row in rows}
        at = f", on {devices_words(rows[0])}" if len(sizes) == 1 else ""
        head = f"{_days_head(answer)}{at}"
        return days_to_train(bars, title=title, x_label=head)

    more = cut("configurations, of most days", every, MOST_BARS)
    return ChartDraft(draw, tuple(drawn), (*left, *more), _days_message(names, answer, drawn))


def _days_head(answer: Answer) -> str:
    """The heading with the budget: Days per 100B tokens."""
    return next((head for name, head in answer.shown if name == "days"), "Days")


def _days_message(names: ShortNames, answer: Answer, rows: Sequence[Row]) -> str:
    """The fewest days, and their configuration: 7B on A100: 0.36 days per 100B tokens on 1,024
    devices."""
    best = min(rows, key=lambda row: row["days"])
    head = _days_head(answer)
    what = head[0].lower() + head[1:] if head != "Days" else "days to train"
    split = f"DP/TP/PP {topology_short(best)}" if best["tp"] and best["dp"] and best["pp"] else ""
    batch = f"MBS {best['mbs']}" if best["mbs"] else ""
    # For several machines and models, those of the best.
    machine = subject(names, [best])
    at = ", ".join(filter(None, (f"on {devices_words(best)}", split, batch)))
    return f"{machine}{significant(best['days'], 3)} {what} at best, {at}"


def _sized(answer: Answer) -> tuple[list[Row], list[str]]:
    """The rows with devices and days, and a note on the number without."""
    rows = [row for row in answer.rows if row["device_count"] and row["days"]]
    require(rows, "no run states its devices and a time")
    return rows, left_over(len(answer.rows) - len(rows), "run without devices")
