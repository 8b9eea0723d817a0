"""Quantities that equations can name: printed numbers, settings, and values derived from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from math import log2
from operator import attrgetter
from typing import Any

from ..vocabulary.hardware import device_of
from ..vocabulary.heading_words import is_per_device
from ..vocabulary.headings import column_of
from .fixes import devices_a_node
from .formula_detection import expected, rate_of, time_of
from .formulas import shape_of
from .input import Row, Table, title
from .memory import capacity, capacity_gib, gigabytes, states
from .sequence_flops import token_share, tokens_of
from .topology import SIZES, counts_otherwise

MEASURED = frozenset((
    "step_time_s", "tflops", "aggregate_pflops", "samples_per_s", "samples_per_s_per_device",
    "tokens_per_s", "tokens_per_s_per_device", "mfu", "hfu", "peak_share",
))  # fmt: skip
# TFLOP/s of one device: twice the highest low-precision dense peak on the market.
_FASTEST = 20_000.0
_CLOCK = "clock_ghz="
# Above this length attention scores matter, and their cost needs a shape.
_LONG = 8192


def quantity_of(table: Table, row: Row, name: str) -> Any:
    """A printed number as an interval, a setting or mark, or a derived value; None if unknown."""
    return reader_of(name)(table, row)


@cache
def reader_of(name: str) -> Callable[[Table, Row], Any]:
    """The function of a table and a row that has the quantity of this name."""
    if name in MEASURED:
        return lambda _, row: printed.either if (printed := row.printed.get(name)) else None
    if name in _OF_TABLES:
        return _OF_TABLES[name]
    of_row = _OF_ROWS.get(name) or attrgetter(name)
    return lambda _, row: of_row(row)


def _peak(row: Row) -> tuple[float, str]:
    """The dense peak of its device for its number format, or the highest possible one."""
    device = device_of(row.device) if row.device else None
    if device is None or not device.peak:
        return _FASTEST, "any device"
    if row.dtype and (bound := device.bound(row.dtype)):
        return bound, f"{device.name} in {row.dtype}"
    # int8 doubles the peak of bf16 where fp8, whose peak is the same, is not stored.
    doubled = 0.0 if "fp8" in device.peak else device.peak.get("bf16", 0.0) * 2
    return max(doubled, *device.peak.values()), f"{device.name} in any number format"


def _rate_of_device(row: Row) -> float | None:
    """TFLOPs, unless they are stated to be the whole job's."""
    return row.tflops.value if row.tflops and row.tflops.scope != "job" else None


def _may_be_of_job(table: Table, row: Row) -> bool:
    """Whether TFLOPs above the peak are explained as the whole job's, and no heading denies it."""
    if "per_device" not in table.counted:
        named = zip(table.headings, table.columns, strict=False)
        table.counted["per_device"] = any(
            is_per_device(heading) for heading, column in named if column == "tflops"
        )
    return not table.counted["per_device"] and (not row.world or bool(_as_of_job(row)))


def _as_of_job(row: Row) -> str:
    """TFLOPs above the peak explained as the whole job's, if that is plausible."""
    if row.tflops is None or not row.world or row.world < 2:
        return ""
    each = row.tflops.value / row.world
    text = f"; as the TFLOPs of all {row.world} processes it is {each:.4g} each"
    return text if each <= _peak(row)[0] else ""


def _scores(row: Row) -> float | None:
    """Relative extra work of attention scores per token; None without a shape."""
    if (row.seq_len or 0) <= _LONG:
        return 1.0
    shape = shape_of(row.params_b) if row.hidden is None else (0, row.hidden, 0)
    return 1 + (row.seq_len or 0) / (6 * shape[1]) if shape else float("inf")


def _gibibytes(row: Row) -> float | None:
    """Memory in GiB; GB counts as GiB, since most tools that print it mean that."""
    have = gigabytes(row)
    if have is None or row.memory is None:
        return None
    return row.memory.value if row.memory.unit in ("GB", "") else have / 1.073741824


def _copies(row: Row) -> int | None:
    """DP, or every process if the model is not split."""
    return row.data_parallel or (row.world if row.tp is None and row.pp is None else None)


def _copies_of_world(row: Row) -> int | None:
    """The processes over TP x PP x CP, where these are stated and divide them."""
    if row.world is None or row.tp is None or row.pp is None:
        return None
    model = row.tp * row.pp * (row.cp or 1)
    return row.world // model if model and row.world % model == 0 else None


def _length_of_rates(row: Row) -> float | None:
    """Sequence length by tokens/s and samples/s of the job: a power of two in 0.5% or digits."""
    samples = row.printed.get("samples_per_s")
    tokens, each = row.printed.get("tokens_per_s"), row.printed.get("tokens_per_s_per_device")
    if tokens is not None:
        rate = tokens.either
    elif each is not None and row.world:
        rate = each.either * float(row.world)
    else:
        return None
    if samples is None:
        return None
    ends = (rate.low / samples.either.high, rate.high / samples.either.low)
    length = 2.0 ** round(log2((ends[0] * ends[1]) ** 0.5))
    return length if ends[0] / 1.005 <= length <= ends[1] * 1.005 else None  # windows may differ


def _split(row: Row) -> int:
    """The product of the stated parallel sizes."""
    copies = 1 if row.sharded else row.dp or 1
    return copies * (row.tp or 1) * (row.pp or 1) * (row.cp or 1)


def _split_names(row: Row) -> str:
    return " x ".join(title(name) for name in SIZES if (getattr(row, name) or 1) > 1)


def _shard_names(row: Row) -> str:
    return " x ".join(
        [
            "shards",
            *(title(name) for name in SIZES if name != "dp" and (getattr(row, name) or 1) > 1),
        ]
    )


def _sum_divisor(table: Table) -> float:
    """The divisor of a table's aggregate TFLOPs: 1024 or 1000, whichever fits more rows."""
    both = [
        (row, row.printed["aggregate_pflops"].either, row.tflops.rounded)
        for row in table.rows
        if row.tflops and "aggregate_pflops" in row.printed
    ]

    def right(divisor: float) -> int:
        return sum(
            any(total.meets(each * units / divisor) for units in (row.nodes, row.world) if units)
            for row, total, each in both
        )

    if "sum_divisor" not in table.counted:
        table.counted["sum_divisor"] = max((1024.0, 1000.0), key=right)
    found: float = table.counted["sum_divisor"]
    return found


def _clock(row: Row) -> float:
    """GHz; 2.0 for an A64FX without a stated boost."""
    stated = [flag.partition("=")[2] for flag in row.env if flag.startswith(_CLOCK)]
    return float(stated[0]) if stated and stated[0] else 2.0


def _only_cut(table: Table, row: Row) -> bool | None:
    """Whether the TFLOPs fit a truncated time, but no rounded one."""
    certain = table.detected and table.detected.certain
    reading = table.detected.reading if certain and table.detected else None
    if reading is None or row.time is None or row.tflops is None:
        return None
    wanted = expected(row, reading)
    if wanted is None:
        return None
    # The work of a step, and the rate at the longest time that rounds to the printed one.
    slowest = wanted.low * time_of(row).high / row.time.rounded.high
    rate = rate_of(row, reading)
    return slowest > rate.high * (1 + 1e-9) and wanted.meets(rate)


def _has_two_mbs(table: Table) -> bool:
    """Whether a table prints a micro-batch and a local batch: GA may count either."""
    return [column.name for one in table.headings if (column := column_of(one))].count("mbs") > 1


_OF_ROWS: Mapping[str, Callable[[Row], Any]] = {
    "copies": _copies,
    "slots": lambda row: (row.mbs or 0) * (row.grad_accum or 0) * (_copies(row) or 0),
    "copies_of_world": _copies_of_world,
    "length_of_rates": _length_of_rates,
    "split": _split,
    "split_names": _split_names,
    "shards": lambda row: (row.dp_shard or 1) * (row.tp or 1) * (row.pp or 1) * (row.cp or 1),
    "shard_names": _shard_names,
    "clock_ghz": _clock,
    "other_flags": lambda row: tuple(flag for flag in row.env if not flag.startswith(_CLOCK)),
    "replicas": lambda row: row.data_parallel,
    "ran": lambda row: row.status == "ok" and row.measured,
    "rate_of_device": _rate_of_device,
    "as_of_job": _as_of_job,
    "peak": lambda row: _peak(row)[0],
    "peak_name": lambda row: _peak(row)[1],
    "token_share": token_share,
    "tokens": tokens_of,
    "scores": _scores,
    "memory_gib": _gibibytes,
    "capacity_gib": capacity_gib,
    "capacity_gb": capacity,
    "states_gb": states,
}
_OF_TABLES: Mapping[str, Callable[[Table, Row], Any]] = {
    "columns": lambda table, _: table.columns,
    "sum_divisor": lambda table, _: _sum_divisor(table),
    "usual_devices": lambda table, _: devices_a_node(table),
    "may_be_of_job": _may_be_of_job,
    "only_cut": _only_cut,
    "has_two_mbs": lambda table, _: _has_two_mbs(table),
    "counts_otherwise": lambda table, _: counts_otherwise(table),
}
