"""The effects of single changes, by pair, as intervals around no change."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from markupsafe import Markup

from ..reports.answer import configuration_words
from ..reports.words import label_of
from ..schema.warehouse import Row
from ..vocabulary.format import counted, times
from . import svg
from .charts import Chart
from .dot_charts import DotRow, dot_rows
from .labels import Labels
from .load import Content
from .run_table import run_cell
from .svg import Mark
from .table import Cell, Column, Table, column

SMALL = 0.01  # relative speed differences below this are ignored
_MOST = 30  # pairs drawn
_WIDEST = 100.0  # ends of an interval this many times apart say nothing
_PARTS = (
    "size", "nodes", "device_count", "dp", "tp", "pp", "cp", "mbs", "gbs", "zero_stage",
    "recompute", "seq_len", "heads",
)  # fmt: skip


def effects_chart(labels: Labels, pairs: Sequence[Row], root: str) -> Chart | None:
    """The speed-ups of pairs that differ in one setting, by setting; uncertain ones grey."""
    by_change: dict[str, list[Row]] = {}
    for row in pairs:
        if row["speedup"] and not row["also_differs"]:
            by_change.setdefault(_change(row), []).append(row)
    groups = list(by_change.items())
    every = [row for _, rows in groups for row in rows]
    if not every:
        return None
    # Certain ones first: readers may skip small and uncertain effects.
    groups.sort(key=lambda group: (-sum(_sure(row) for row in group[1]), -len(group[1]), group[0]))
    kept: list[tuple[str, list[Row]]] = []
    for name, rows in groups:
        room = _MOST - sum(len(of) for _, of in kept)
        if room > 0:
            kept.append((name, sorted(rows, key=lambda row: -row["speedup"])[:room]))
    return _drawn(labels, kept, every, root)


def effects_data(content: Content, pairs: Sequence[Row]) -> dict[str, Any]:
    """The pairs as data of the comparison page, the most certain and largest first."""

    def pair(row: Row) -> dict[str, Any]:
        low, high = _interval(row)
        return {
            "base": [content.id(member["run"]) for member in row["first_base"]["members"]],
            "with": [content.id(member["run"]) for member in row["members"]],
            "setting": content.text.line(str(row["factor"]), 80),
            "change": content.text.line(_change(row), 80),
            "of": content.text.line(content_words(row), 120),
            "text": times(row["speedup"]),
            "range": f"{times(low)} to {times(high)}" if low and high else "not known",
            "verdict": content.text.line(row["verdict"], 80),
            "sure": _sure(row) and abs(row["speedup"] - 1) >= SMALL,
        }

    counted = [row for row in pairs if row["speedup"] and not row["also_differs"]]
    counted.sort(key=lambda row: (not _sure(row), -abs(math.log(row["speedup"]))))
    return {"pairs": [pair(row) for row in counted]}


def _change(row: Row) -> str:
    """The changed setting, or the two compared files or runs."""
    change = f"{row['base']} → {row['level']}"
    return f"{row['factor']}: {change}" if row["factor"] else change


def _label(row: Row, apart: Sequence[str]) -> str:
    """The settings that distinguish a pair within the chart, except the changed one."""
    parts = [name for name in apart if name != row["factor"] and row[name] is not None]
    words = [
        counted(row[name], "device") if name == "device_count" else label_of(name, row[name])
        for name in parts
        if not (name == "nodes" and "device_count" in parts)
    ]
    return " ".join(words) or content_words(row)


def _labels(labels: Labels, rows: Sequence[Row], apart: Sequence[str]) -> list[str]:
    """The labels of the pairs of one change; equal ones with their system, where it tells them
    apart, else with the place of their run."""
    words = [_label(row, apart) for row in rows]
    of_systems = [
        f"{labels.names.system(row['system'])} {one}" for row, one in zip(rows, words, strict=True)
    ]
    many, alike = Counter(words), Counter(of_systems)
    return [
        one if many[one] == 1 else on if alike[on] == 1 else f"{labels.place(row)} {one}"
        for row, one, on in zip(rows, words, of_systems, strict=True)
    ]


def content_words(row: Row) -> str:
    """The label of a pair with the same configuration as all others."""
    return configuration_words({**row, "settings": None})


def _interval(row: Row) -> tuple[float, float] | tuple[None, None]:
    """The ends of the 95% interval of a speed-up; none where it is unknown or boundless."""
    low, high = row["speedup_low"], row["speedup_high"]
    if not low or not high or low <= 0 or high > _WIDEST * low:
        return None, None
    return low, high


def _sure(row: Row) -> bool:
    return row["verdict"] in ("faster", "slower")


def _drawn(
    labels: Labels, groups: Sequence[tuple[str, list[Row]]], every: Sequence[Row], root: str
) -> Chart:
    shown = [row for _, rows in groups for row in rows]
    apart = [name for name in _PARTS if len({str(row[name]) for row in shown}) > 1]
    drawn = []
    for name, rows in groups:
        drawn.append(DotRow(labels.text.line(name, 60)))
        words = zip(rows, _labels(labels, rows, apart), strict=True)
        drawn += [_row(labels, row, labels.text.line(label, 60)) for row, label in words]
    left = len(every) - len(shown)
    known = sum(_interval(row) != (None, None) for row in shown)
    grey = "within the spread between jobs" if known else "not tested, as nothing was repeated"
    note = f"pairs of runs that differ only in this; grey: {grey}"
    note += "; bar: 95% interval" if known else ""
    note += ", where repeats give one" if 0 < known < len(shown) else ""
    note += f"; {left} more in the table" if left else ""
    return Chart(
        "effects",
        "What one change does",
        note,
        dot_rows(
            "effects", drawn, "times as fast as without the change (log scale)", root,
            ideal=1.0, log=True, text=lambda value: f"{svg.plain(value)}×",
        ),
        Markup(""),
        _table(labels, every).html(root),
    )  # fmt: skip


def _row(labels: Labels, row: Row, label: str) -> DotRow:
    words = labels.text.line(content_words(row), 90)
    low, high = _interval(row)
    mark = Mark(
        row["speedup"],
        0,
        f"{words}: {times(row['speedup'])}, {row['verdict']}",
        labels.href(row["run"]),
        labels.id(row["run"]),
        look="" if _sure(row) else "unsure",
        low=low,
        high=high,
    )
    return DotRow(label, mark, times(row["speedup"]))


def _table(labels: Labels, rows: Sequence[Row]) -> Table:
    line = labels.text.line

    def ratio(key: str, title: str, value: Callable[[Row], float | None]) -> Column:
        def cell(row: Row) -> Cell:
            number = value(row)
            return Cell(number, times(number), look="computed") if number else Cell()

        return column(key, title, rows, cell, kind="number")

    def change(row: Row) -> Cell:
        return Cell(line(_change(row), 80))

    return Table(
        "effects-table",
        "What one change does",
        [
            column("factor", "Change", rows, change),
            column("of", "Of", rows, lambda row: Cell(line(content_words(row), 120))),
            ratio("speedup", "Speed-up", lambda row: row["speedup"]),
            ratio("speedup_low", "from", lambda row: _interval(row)[0]),
            ratio("speedup_high", "to", lambda row: _interval(row)[1]),
            column("verdict", "Verdict", rows, lambda row: Cell(line(row["verdict"], 80))),
            column("base", "Without", rows, lambda row: run_cell(labels, row["first_base"])),
            column("with", "With", rows, lambda row: run_cell(labels, row)),
        ],
    )
