"""The measured numbers of a row: metric, unit, value and the range of the printed digits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ...vocabulary.cell import Cell
from ...vocabulary.cell_pieces import half_digit
from ...vocabulary.cell_units import DEVICE
from ...vocabulary.headings import Column
from ...vocabulary.outcome_words import failure_of
from .agreement import DEVICES_OF_RATES, ERROR_OF_RATES

_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_SPELLED = {
    "µs": "us", "μs": "us", "msec": "ms", "mil": "ms", "sec": "s", "hou": "h", "hr": "h",
    "秒": "s", "秒钟": "s", "分钟": "min", "小时": "h",
}  # fmt: skip
_FLOPS = {"G": 1e-3, "T": 1.0, "P": 1e3}
_FLOPS_OF = {"tflops": "TFLOP/s", "hardware_tflops": "TFLOP/s", "aggregate_pflops": "PFLOP/s"}
_RATES = (
    *((word, "samples_per_s", "1/s") for word in ("sample", "seq", "sentence", "example")),
    ("tok", "tokens_per_s", "tokens/s"),
)
_MEMORY = re.compile(
    r"^\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[KMGT]i?B)\b"
    r"(?!\s(?:global|total|in total|aggregate|host|CPU|RAM))"
)
_SOME_NUMBER = re.compile(
    r"[*`~≈+-]*\s?\d[\d,]*(?P<point>\.\d+)?\s?(?:%|x|×|(?P<timed>m?s|secs?|seconds?|min|h))?[*`]*"
)
_MEASURED = re.compile(
    r"\b(?:avg|average|mean|median|time|speed-?up|throughput|rate|pct|percent|gain|latency|loss)\b",
    re.I,
)
_OF_ALL = re.compile(r"\W*(?:agg\w*|total|sum|all|combined)\b", re.I)  # `1,180 (agg)`
_A_DEVICE = re.compile(rf"/(?:{DEVICE})\Z", re.I)
_SCALED = re.compile(r"\d\s?[kKM]\b")  # `102.8k`: the scale is in the cell
_STEPS_A_SECOND = re.compile(r"(?:it|iter|iteration|step)s?/s(?:ec)?\Z", re.I)
_POWER = {"W": 1.0, "kW": 1e3}
_ENERGY = {
    "Wh": 1e-3, "kWh": 1.0, "MWh": 1e3, "GWh": 1e6,
    "J": 1 / 3.6e6, "kJ": 1 / 3.6e3, "MJ": 1 / 3.6, "GJ": 1e3 / 3.6,
}  # fmt: skip
# Metrics of the job and of a device, and the factor between their units.
_PAIRS = (
    ("tokens_per_s", "tokens_per_s_per_device", 1.0),
    ("samples_per_s", "samples_per_s_per_device", 1.0),
    ("aggregate_pflops", "tflops", 1000.0),
)
_APART = 0.05  # the rates may be of different steps, and a PFLOP of 1024 TFLOPs
_NO_RATE_IN_TFLOPS = 1e9  # a device doing 1e9 TFLOP/s is one whose cell counts FLOP/s


@dataclass(frozen=True, slots=True)
class Result:
    """One measurement: `value` with its range `low` to `high` is in `unit`."""

    metric: str
    unit: str
    value: float
    low: float
    high: float
    raw: str
    printed_unit: str | None
    scope: str | None
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BareNumbers:
    """The meaning of bare numbers in a table, by the cells of its columns.

    `seconds`: a throughput without a unit is a step time; `percent`: shares are percentages.
    """

    seconds: bool = False
    percent: frozenset[str] = frozenset()


def habits_of(rows: Sequence[Sequence[Cell]], columns: Sequence[Column | None]) -> BareNumbers:
    """The habits of a table: by a unit of seconds anywhere, or half of the shares above one."""
    read = [
        (cell, column)
        for cells in rows
        for cell, column in zip(cells, columns, strict=False)
        if column
    ]
    above: dict[str, list[bool]] = {}
    for cell, column in read:
        if column.type == "percent" and cell.value:
            above.setdefault(column.name, []).append(cell.value > 1)
    return BareNumbers(
        any(c.unit and in_seconds(c.unit) for c, column in read if column.type == "throughput"),
        frozenset(name for name, found in above.items() if 2 * sum(found) >= len(found)),
    )


def results(
    cells: Sequence[Cell], columns: Sequence[Column | None], habits: BareNumbers
) -> Iterator[Result]:
    """The measurements of a row."""
    named = {column.name for column in columns if column}
    for cell, column in zip(cells, columns, strict=False):
        if column is None:
            continue
        if column.name == "notes" and "mem" not in named:
            yield from _memory_in_notes(cell)
        elif column.role == "result" and cell.kind in ("number", "pair"):
            yield from _result(cell, column, habits)


def devices_of_rates(found: Sequence[Result]) -> dict[str, float]:
    """The devices that the rates of a job and of one device imply, and their error; else empty."""
    by_metric = {result.metric: result for result in found}
    for of_job, of_device, factor in _PAIRS:
        job, device = by_metric.get(of_job), by_metric.get(of_device)
        if job and device and job.low > 0 and device.low > 0:
            count = factor * job.value / device.value
            rounding = max(job.high / job.low, device.high / device.low) ** 2 - 1
            error = count * (rounding + _APART)
            return {DEVICES_OF_RATES: float(f"{count:.3g}"), ERROR_OF_RATES: error}
    return {}


@lru_cache(1 << 10)  # a table has few units
def in_seconds(unit: str) -> float | None:
    """The seconds of a time unit; None when it is none."""
    word = unit.lower().partition("/")[0]
    known = (_SPELLED.get(spelled, spelled) for spelled in (word, word.rstrip("s"), word[:3]))
    return next((_SECONDS[name] for name in known if name in _SECONDS), None)


def _result(cell: Cell, column: Column, habits: BareNumbers) -> Iterator[Result]:
    meaning = _meaning(cell, column, habits)
    if column.scope != "job" and _OF_ALL.match(cell.text or ""):
        return
    if meaning is None or cell.value is None or cell.half is None:
        return
    metric, unit, scale = meaning
    ends = (cell.value, cell.value - cell.half, cell.value + cell.half)
    value, low, high = (number * scale for number in ends)
    if scale < 0:  # steps a second
        if not high < low < 0:
            return
        value, low, high = -1 / value, -1 / high, -1 / low
    yield Result(
        metric, unit, value, low, high, cell.raw, cell.unit or column.unit,
        column.scope, cell.marks,
    )  # fmt: skip


def _meaning(cell: Cell, column: Column, habits: BareNumbers) -> tuple[str, str, float] | None:
    """Metric, unit and the factor from the printed unit; None if they are unknown.

    A factor of -1 means one over the number.
    """
    unit = cell.unit or column.unit or ""
    if _STEPS_A_SECOND.match(unit) and column.type in ("throughput", "rate", "time"):
        return "step_time_s", "s", -1.0
    if column.metric == "step_time_s" and column.type == "rate":
        return "step_time_s", "s", in_seconds(unit) or 1.0
    if column.type == "throughput":
        return _throughput(unit, habits.seconds, column.scope)
    if column.metric is None:
        return None
    if column.type == "time":
        open_time = column.name == "train_time" and not unit  # minutes, hours or seconds
        return None if open_time else (column.metric, "s", in_seconds(unit) or 1.0)
    if column.type == "percent":
        return column.metric, "1", 0.01 if unit == "%" or column.name in habits.percent else 1.0
    if column.type == "memory":
        return column.metric, unit, 1.0
    if column.type in ("power", "energy"):
        known = _POWER if column.type == "power" else _ENERGY
        return column.metric, column.metric.rpartition("_")[2], known.get(unit, 1.0)
    if column.metric in _FLOPS_OF:
        unit = _FLOPS_OF[column.metric]
        return column.metric, unit, _flops_scale(cell, column, unit)
    bare = cell.unit is None and not _SCALED.search(cell.raw)
    return column.metric, column.unit or "", column.scale if bare else 1.0


def _throughput(unit: str, bare_seconds: bool, scope: str | None) -> tuple[str, str, float] | None:
    scale = in_seconds(unit) or (1.0 if bare_seconds and not unit else None)
    if scale and scale >= 60:  # `Time | 12h` is no step
        return None
    if scale:
        return "step_time_s", "s", scale
    device = "_per_device" if scope == "device" or _A_DEVICE.search(unit) else ""
    if "flop" in unit.lower():
        factor = _FLOPS[unit[0].upper()]
        if scope == "job" and not device:
            return "aggregate_pflops", "PFLOP/s", factor / _FLOPS["P"]
        return "tflops", "TFLOP/s", factor
    for stem, metric, per_s in _RATES:
        if unit.lower().startswith(stem):
            return f"{metric}{device}", per_s, 1.0
    return None


def _flops_scale(cell: Cell, column: Column, unit: str) -> float:
    printed = cell.unit or column.unit or unit
    if printed[0].upper() != unit[0]:
        return _FLOPS[printed[0].upper()] / _FLOPS[unit[0]]
    in_flops = unit == "TFLOP/s" and (cell.value or 0.0) >= _NO_RATE_IN_TFLOPS
    return 1e-12 if in_flops else 1.0


def _memory_in_notes(notes: Cell) -> Iterator[Result]:
    match = _MEMORY.match(notes.raw)
    if not match or failure_of(notes.raw):  # `32GB OOMs` names the node, not the memory used
        return
    value, half = float(match["number"]), half_digit(match["number"])
    unit = match["unit"]
    yield Result(
        "memory", unit, value, value - half, value + half, notes.raw, unit, None, notes.marks
    )


def is_measured(heading: str, column: Column | None, cell: Cell) -> bool:
    """Whether a cell under an unknown heading is a measured number."""
    if column is not None or not (match := _SOME_NUMBER.fullmatch(cell.raw)):
        return False
    return bool(match["point"] or match["timed"] or _MEASURED.search(heading.replace("_", " ")))
