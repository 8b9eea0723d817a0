"""The charts of a page: selection of runs, grouping into series, captions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..decide.scaling_curves import has_one_layout
from ..project.short_names import ShortNames
from ..schema.warehouse import Row, Warehouse
from ..vocabulary.format import counted, days_words, percent, significant
from .chart_parts import counts_nodes, left_over
from .words import label_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .charts.data import Bar, Series
MOST_SERIES, MOST_BARS = 9, 12
MOST_POINTS = 400  # of a chart; more would blur, in a file of megabytes
# Columns that distinguish settings; a chart with too many series uses the coarser ones.
_FINE = (
    "size", "system", "framework", "procs_per_node", "layers", "hidden", "heads", "tp", "pp", "cp",
    "mbs", "gbs", "seq_len", "zero_stage", "recompute", "settings",
    "regime",
)  # fmt: skip
# One bar a configuration: rows are ranked, so the first of each is its best.
_BAR = (
    "size", "system", "world_size", "dp", "tp", "pp", "mbs", "gbs", "recompute", "settings",
    "regime",
)  # fmt: skip
_COARSE = ("size", "system", "framework", "procs_per_node", "regime")
_KEYS = (
    _FINE,
    (*_COARSE, "tp", "pp", "recompute", "settings"),
    (*_COARSE, "tp", "pp", "recompute"),
    (*_COARSE, "tp", "recompute"),
    (*_COARSE, "recompute"),
    _COARSE,
    ("size", "system", "regime"),
    ("system", "regime"),
)


def draw(
    warehouse: Warehouse, name: str, ranked: Sequence[Row], names: ShortNames, folder: Path
) -> list[dict[str, str]]:
    """Write the charts of a page as SVG and PNG; title, file and caption of each that has data."""
    from . import chart

    stem = re.sub(r"[^\w.-]+", "-", name)
    runs = warehouse.dicts(_runs())
    drawn: list[dict[str, str]] = []
    runs = [{**row, "system": names.system(row["system"])} for row in runs]
    axis, rows, remarks = _on_axis(runs)
    count = "nodes" if axis == "Nodes" else "device_count"
    shown = _thinned(rows, count)
    remarks += _remarks(rows, shown, names)
    # A setting measured at several counts shows scaling and keeps its own line; single points are
    # grouped as coarsely as the number of series demands.
    groups = _grouped(shown, _FINE)
    scaling = {
        key: found for key, found in groups.items() if len({row[count] for row in found}) > 1
    }
    systems = len({row["system"] for row in rows}) > 1
    scaled = _series(_FINE, dict(list(scaling.items())[:MOST_SERIES]), count, systems)
    alone = [row for key, found in groups.items() if key not in scaling for row in found]
    loose = _series(*_groups(alone, max(3, MOST_SERIES - len(scaled))), count, systems)
    taken = {one.name for one in scaled}
    loose = [
        replace(one, name=f"{one.name}, other settings") if one.name in taken else one
        for one in loose
    ]
    many = scaled + [replace(one, joined=False) for one in loose]
    efficiency = [chart.relative_to_smallest(one) for one in scaled]

    def add(figure: Figure, title: str, file: str, caption: str) -> None:
        chart.save(figure, folder, f"{stem}-{file}")
        drawn.append({"title": title, "file": f"{stem}-{file}.svg", "caption": caption})

    if many:
        best = max(shown, key=lambda row: row["aggregate_pflops"])
        place = f"{best[count]:,} {axis.lower() if best[count] != 1 else axis[:-1].lower()}"
        message = (
            f"{name}: {significant(best['aggregate_pflops'])} model PFLOP/s at best, on {place}"
        )
        # For one size the dots would overlap.
        if len({row[count] for row in shown}) == 1:
            figure = _one_size(shown, names, message)
        else:
            figure = chart.aggregate_pflops(many, title=message, x_label=axis)
        title = f"{name}: aggregate model PFLOP/s"
        add(figure, title, "aggregate-pflops", _formula_words(shown, axis) + remarks)
    if efficiency:
        title = f"{name}: scaling efficiency"
        last = [max(one.points, key=lambda point: point.x) for one in efficiency]
        most = max(point.x for point in last)
        shares = [point.y / 100 for point in last if point.x == most]
        least, top = percent(min(shares)), percent(max(shares))
        share = top if least == top else f"{least} to {top}"
        message = f"{name}: {share} efficiency on {most:,.0f} {axis.lower()}"
        figure = chart.scaling_efficiency(efficiency, title=message, x_label=axis)
        caption = f"Model PFLOP/s per {axis[:-1].lower()} against the fewest of the same setting."
        add(figure, title, "scaling", caption + remarks)
    if bars := _bars(ranked, names):
        title = f"{name}: days to train"
        caption = (
            "Fastest of each setting, goodput 1. Thin bars: the printed digits of a cell, or "
            "a log's fastest and slowest interval."
        )
        message = f"{name}: {days_words(min(bar.value for bar in bars))} at best"
        add(chart.days_to_train(bars, title=message), title, "days", caption)
    return drawn


def _on_axis(rows: Sequence[Row]) -> tuple[str, Sequence[Row], str]:
    """The axis of sizes, Nodes or Devices, the runs that have a place on it, and a remark on the
    others; runs that scale into each other are those of the sentences on scaling."""
    setting = tuple(name for name in _FINE if name != "procs_per_node")
    one_layout = has_one_layout(rows)
    if counts_nodes(_grouped(rows, setting if one_layout else _FINE).values()):
        return "Nodes", rows, ""
    placed = [row for row in rows if row["device_count"]]
    left = left_over(len(rows) - len(placed), "run without a number of devices")
    if one_layout:  # processes a node follow from the devices: no setting
        placed = [{**row, "procs_per_node": None} for row in placed]
    return "Devices", placed, "".join(f" Not drawn: {words}." for words in left)


def _one_size(rows: Sequence[Row], names: ShortNames, title: str) -> Figure:
    """Aggregates at one number of nodes or devices, a bar per configuration, the best first."""
    from . import chart
    from .charts.data import Bar

    ranked = sorted(rows, key=lambda row: -row["aggregate_pflops"])
    several = len({row["size"] for row in ranked}) > 1
    bars: dict[tuple[Any, ...], Bar] = {}
    for row in ranked:
        bar = Bar(
            _bar_label(row, names, several), row["aggregate_pflops"],
            row["aggregate_low"], row["aggregate_high"], estimated=bool(row["time_is_marked"]),
        )  # fmt: skip
        bars.setdefault(tuple(row[name] for name in _BAR), bar)
    shown = list(bars.values())[:MOST_BARS]
    return chart.ranked_bars(shown, title=title, x_label="Aggregate model PFLOP/s")


def _thinned(rows: Sequence[Row], count: str) -> list[Row]:
    """All runs, or for too many the best of each setting and count, then of each coarser one."""
    kept = list(rows)
    for keys in _KEYS:
        if len(kept) <= MOST_POINTS:
            break
        best: dict[tuple[Any, ...], Row] = {}
        for row in kept:
            key = (row[count], *(row[name] for name in keys))
            if key not in best or row["aggregate_pflops"] > best[key]["aggregate_pflops"]:
                best[key] = row
        kept = list(best.values())
    return kept


def _remarks(rows: Sequence[Row], shown: Sequence[Row], names: ShortNames) -> str:
    """Notes on points: the omitted ones, and those marked by the authors."""
    remarks = ""
    if len(shown) < len(rows):
        remarks += f" Drawn: the best {len(shown):,} of {len(rows):,} runs, by setting."
    marked = [f"{names.short(row['uri'])}:{row['line']}" for row in shown if row["time_is_marked"]]
    if marked:
        more = f" and {len(marked) - 5} more" if len(marked) > 5 else ""
        remarks += f" Marked by the authors (^): {', '.join(marked[:5])}{more}."
    return remarks


def _formula_words(rows: Sequence[Row], axis: str) -> str:
    formulas = sorted({row["model_formula"] for row in rows})
    words = {"F7": "F7, from the shape", "F5": "F5, from the size label"}
    counted = " and ".join(words.get(formula, formula) for formula in formulas)
    unit = axis[:-1].lower()
    return (
        f"Model FLOPs ({counted}), 1 PFLOP/s = 1000 TFLOP/s. One marker a run (of one size: a "
        "bar a configuration); a line joins the "
        f"best of each {unit} count, dashed: ideal scaling from its fewest {unit}s. Markers that "
        f"would hide each other stand beside their {unit} count."
    )


def _groups(
    rows: Sequence[Row], most: int
) -> tuple[tuple[str, ...], dict[tuple[Any, ...], list[Row]]]:
    """Runs by setting, as finely as `most` series allow."""
    fitting = ((keys, _grouped(rows, keys)) for keys in _KEYS)
    return next(
        (found for found in fitting if len(found[1]) <= most),
        (_KEYS[-1], _grouped(rows, _KEYS[-1])),
    )


def _grouped(rows: Sequence[Row], keys: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def _series(
    keys: Sequence[str],
    groups: Mapping[tuple[Any, ...], Sequence[Row]],
    count: str,
    systems: bool,
) -> list[Series]:
    """One series per group, named by differences between them (and by system, on request)."""
    from .charts.data import Point, Series

    shown = [
        place
        for place, key in enumerate(keys)
        if (systems and key == "system") or len({group[place] for group in groups}) > 1
    ]
    return [
        Series(
            _name(keys, group, shown or [keys.index("system")]),
            tuple(
                Point(
                    row[count], row["aggregate_pflops"], row["aggregate_low"], row["aggregate_high"]
                )
                for row in found
            ),
        )
        for group, found in groups.items()
    ]


def _name(keys: Sequence[str], group: Sequence[Any], shown: Sequence[int]) -> str:
    parts = [label_of(keys[place], group[place]) for place in shown if group[place] is not None]
    return ", ".join(parts) or "not stated"


def _bars(ranked: Sequence[Row], names: ShortNames) -> list[Bar]:
    from .charts.data import Bar

    seen: set[tuple[Any, ...]] = set()
    bars: list[Bar] = []
    several = len({row["size"] for row in ranked}) > 1
    for row in ranked:
        key = tuple(row[name] for name in _BAR)
        if key not in seen and len(bars) < MOST_BARS:
            seen.add(key)
            bars.append(
                Bar(
                    _bar_label(row, names, several),
                    row["days"],
                    row["days_low"],
                    row["days_high"],
                    estimated=bool(row["time_is_marked"]),
                )
            )
    return bars


def _bar_label(row: Row, names: ShortNames, several: bool) -> str:
    split = "/".join(
        str(row[name]) if row[name] is not None else "-" for name in ("dp", "tp", "pp")
    )
    parts = [row["size"] or "model not stated"] if several else []
    parts.append(names.system(row["system"]))
    parts += [counted(row["world_size"], "device")] if row["world_size"] else []
    parts.append(f"DP/TP/PP {split}")
    parts += [label_of(name, row[name]) for name in ("mbs", "recompute") if row[name] is not None]
    parts += [row["regime"]] if row["regime"] else []
    return ", ".join([*parts, f"{names.short(row['uri'])}:{row['line']}"])


@cache
def _runs() -> str:
    return (files(__package__ or "bench.reports") / "pictures.sql").read_text("utf-8")
