"""The requested configuration of a prediction: a measured run with some sizes changed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..decide.neighbours import broken_rule
from ..decide.rows import batch_of, with_dp
from ..schema.errors import BenchError
from ..schema.warehouse import Row
from ..vocabulary.format import number
from ..vocabulary.hardware import device_of
from .setting import NODE, VOCAB, is_of_the_pipeline, setting

SHAPE = ("layers", "hidden", "heads")
_MICRO = (1, 2, 4, 8, 16, 32)
_MOVABLE = ("nodes", "tp", "pp", "mbs", "gbs", "hidden")
_LAST = ("heads", "cp", "vpp")  # move only where nothing else helps, one if that is enough
_WEIGHT = {
    "tp": 0.6,
    "pp": 0.5,
    "mbs": 0.4,
    "gbs": 0.9,
}  # of a doubling, for `_nearest`
# Doublings that a run counts as farther from a request: a size that it does not state; adapters
# trained, which nobody means who asks for a model.
_UNSTATED, _ADAPTED = 2.0, 4.0
# Measurements of the base, which are not those of the new configuration.
_MEASURED = (
    "step_time_s", "step_time_low", "step_time_high", "steps_per_s", "tokens_per_s",
    "tokens_per_s_low", "tokens_per_s_high", "tokens_per_s_per_device", "mfu", "hfu", "tflops",
    "tflops_low", "tflops_high", "model_tflops", "memory", "memory_gb", "pace", "rate", "date",
)  # fmt: skip


def base_of(rows: Sequence[Row], request: Mapping[str, Any]) -> Row:
    """The measured run nearest to the request, of equal ones the fastest.

    `rows` are not empty.
    """

    def distance(row: Row) -> tuple[float, float, str, int]:
        apart = 0.0
        for name, value in request.items():
            have = _nodes(row) if name == "nodes" else row[name]
            if isinstance(value, (int, float)) and name != "zero_stage":
                apart += abs(math.log2(value / have)) if have else _UNSTATED
            else:
                apart += float(have != value)
        stated = sum(row[name] is None for name in ("dp", "tp", "pp", "mbs", "gbs", "layers"))
        apart += _ADAPTED * ("adapters" in (row["flags"] or ()))
        per_device = row["tokens_per_s_per_device"] or 0.0
        return apart + 0.5 * stated, -per_device, row["uri"], row["line"]

    return min(rows, key=distance)


def with_sizes(base: Row, request: Mapping[str, Any]) -> Row:
    """The base with the requested sizes; DP follows from the devices and TP, PP and CP.

    If that is impossible, TP, PP, MBS and GBS that are not requested move to the nearest possible
    sizes, and `moved` has them. Raises BenchError if none are possible, with the violated rule and
    the nearest possible sizes.
    """
    base = _own(base)
    made = changed(base, request)
    why = impossible(made, request)
    if why is None:
        return made
    free = [name for name in ("tp", "pp", "mbs", "gbs") if name not in request and base[name]]
    row = _nearest(base, request, (), free)
    if row is not None:
        moved = {name: row[name] for name in free if row[name] != base[name]}
        return {**row, "moved": moved}
    axes = [name for name in _MOVABLE if request.get(name)]
    last = [name for name in _LAST if request.get(name)]
    tries = ([*axes, *more] for more in ((), *((name,) for name in last), last))
    row = next((found for of in tries if (found := _nearest(base, request, of, free))), None)
    if row is None:
        raise BenchError("this configuration cannot be", why=why, hint="change --tp, --pp or --gbs")
    movable = (*_MOVABLE, *_LAST)
    options = [name for name in movable if request.get(name) or row[name] != base[name]]
    options = [name for name in options if row[name]]
    options += ["dp"] if "dp" in request else []
    shown = " ".join(f"--{name.replace('_', '-')} {row[name]}" for name in options)
    raise BenchError("this configuration cannot be", why=why, hint=f"the nearest that can: {shown}")


def changed(base: Row, request: Mapping[str, Any]) -> dict[str, Any]:
    """The base with the requested sizes, possible or not."""
    base = _own(base)
    made: dict[str, Any] = {**base, **request}
    per_node = (
        base["device_count"] / base["nodes"] if base["nodes"] and base["device_count"] else None
    )
    usual = usual_node(base)
    split = math.prod(made[name] or 1 for name in ("tp", "pp", "cp"))
    devices = base["device_count"]
    if "nodes" in request:
        devices = round(request["nodes"] * (per_node or usual))
    elif "dp" in request:
        devices = request["dp"] * split
        made["nodes"] = math.ceil(devices / per_node) if per_node else None
    made["dp"] = request.get("dp") or (devices // split if devices else None)
    batch = request.get("gbs") or base["gbs"]
    if base["device_batch"] and not batch:
        batch = None
        made["tokens_per_step"] = base["tokens_per_step"] and (
            base["tokens_per_step"] * devices // base["device_count"]
        )
    seq_len = made["seq_len"]
    if batch and seq_len:
        made["tokens_per_step"] = batch * seq_len
    # Heads divide a hidden size, they add no parameter; a model that is asked for states its own.
    shaped = "params_b" not in request and any(made[of] != base[of] for of in ("layers", "hidden"))
    params = _parameters(made) if shaped else None
    flops = (
        base["model_flops"]
        and base["tokens_per_step"]
        and (base["model_flops"] / base["tokens_per_step"])
    )
    if "dtype" in request and request["dtype"] != base["dtype"]:
        device = device_of(base["device"]) if base["device"] else None
        peak = device.peak.get(request["dtype"]) if device else None
        made["peak_tflops"], made["dtype_printed"], made["recipe"] = peak, None, None
        made["peak_name"] = f"{device.name} {request['dtype']}" if device and peak else None
    elif base["peak_tflops"] is None and (base["mfu_from"] == "printed" or base.get("by_flops")):
        made |= _peak(base)
    made |= dict.fromkeys(_MEASURED)
    made |= {
        "devices": devices, "device_count": devices, "world_size": devices, "gbs": batch,
        "batch": batch or base["batch"], "grad_accum": None, "status": "planned", "jobs": 0,
        "basis": None, "run": None, "run_id": None, "places": (), "origin": "prediction",
        "flops_per_token": flops, "base": base, "derivations": {},
        "left_out": None, "annotated": None, "moved": {},
    }  # fmt: skip
    if "params_b" in request:  # another model has not the FLOPs of the base
        made |= {"model_flops": None, "flops_per_token": 6e9 * request["params_b"]}
    if params:
        made |= {
            "params_b": None, "params_computed": params, "params_stated": None, "model_flops": None,
            "flops_per_token": 6.0 * params, "size": f"{params / 1e9:.3g}B", "model": None,
        }  # fmt: skip
    return made


def _own(base: Row) -> Row:
    """A run with its DP, and without a batch of a whole pipeline in place of the micro-batch, which
    no other split would inherit."""
    base = with_dp(base)
    return {**base, "mbs": None} if is_of_the_pipeline(base, batch_of(base)) else base


def usual_node(row: Row) -> int:
    """Devices of a node that no source describes: as many as are sold with links between them."""
    device = device_of(row["device"]) if row["device"] else None
    return NODE if device and device.link_gb_s else 1


def _nodes(row: Row) -> float | None:
    """The nodes of a run, else those that its devices usually fill."""
    devices = row["device_count"]
    return row["nodes"] or (devices / usual_node(row) if devices else None)


def _peak(base: Row) -> dict[str, Any]:
    """The peak of the device of a run that shows none, as its MFU is printed."""
    device = device_of(base["device"]) if base["device"] else None
    if device is None or (device.family == "A64FX" and not base["dtype"]):
        return {}
    formats = (base["dtype"],) if base["dtype"] else ("bf16", "fp16")
    peaks = [device.peak[name] for name in formats if name in device.peak]
    if not peaks:
        return {}
    name = f"{device.name} {base['dtype'] or 'fp16/bf16'}"
    return {"peak_tflops": max(peaks), "peak_name": name, "peak_assumed": not base["dtype"]}


def _parameters(row: Row) -> float | None:
    """Parameters of a GPT of this shape (P1), if it is stated."""
    layers, hidden = row["layers"], row["hidden"]
    if not (layers and hidden):
        return None
    vocab, s = row["vocab_used"] or VOCAB, row["seq_len"] or 2048
    return float(layers * (12 * hidden**2 + 13 * hidden) + hidden * (vocab + s) + 2 * hidden)


def impossible(row: Row, request: Mapping[str, Any]) -> str | None:
    """The arithmetic rule that a configuration violates."""
    devices = row["device_count"]
    split = {name: row[name] or 1 for name in ("tp", "pp", "cp")}
    product = math.prod(split.values())
    words = " x ".join(f"{name.upper()} {size}" for name, size in split.items() if size > 1)
    if devices and devices % product:
        words += f" = {product}" if " x " in words else ""
        return f"{words} does not divide {number(devices)} devices"
    if devices and request.get("dp") and request["dp"] * product != devices:
        return (
            f"DP {request['dp']} x {words or 'TP 1'} = {request['dp'] * product},"
            f" of {number(devices)} devices"
        )
    heads, hidden = row["heads"], row["hidden"]
    if {"heads", "hidden"} & request.keys() and heads and hidden and hidden % heads:
        return f"hidden size {number(hidden)} does not divide by {number(heads)} heads"
    if not row["dp"]:
        return None
    return broken_rule({**row, "tp": row["tp"] or 1, "pp": row["pp"] or 1})


def _has_idle_stages(row: Row) -> bool:
    """Whether the reference trainer, as bench launch starts it, refuses a pipeline: its 1F1B needs
    a micro-batch for each stage."""
    if row["framework"] != "bench.trainer" or not (row["gbs"] and row["mbs"] and row["dp"]):
        return False
    return bool(row["gbs"] < row["mbs"] * row["dp"] * (row["pp"] or 1))


def _nearest(
    base: Row, request: Mapping[str, Any], axes: Sequence[str], free: Sequence[str]
) -> Row | None:
    """The possible configuration with the fewest doublings from the request and the base; `axes` of
    the request may move, and `free` sizes of the base."""
    best: tuple[float, Row] | None = None
    names = [name for name in (*axes, *free) if name != "gbs"]
    start = {name: int(request[name] if name in axes else base[name]) for name in (*axes, *free)}
    ranges = [tuple(_tried(name, start[name], {**base, **request}, name in axes)) for name in names]
    for values in itertools.product(*ranges):
        tried = {**request, **dict(zip(names, values, strict=True))}
        # Moving a size that was not requested costs less; moving the batch costs most.
        apart = sum(
            abs(math.log2(tried[name] / start[name])) * (1 if name in axes else _WEIGHT[name])
            for name in names
        )
        if best is not None and apart >= best[0]:
            continue
        if axes:
            tried.pop("dp", None)
        if "gbs" in start:
            tried["gbs"] = _batch(changed(base, tried), start["gbs"])
            weight = 1 if "gbs" in axes else _WEIGHT["gbs"]
            apart += abs(math.log2(tried["gbs"] / start["gbs"])) * weight
        made = changed(base, tried)
        if (best is None or apart < best[0]) and impossible(made, tried) is None:
            best = (apart, made)
    return best[1] if best else None


def _tried(name: str, value: int, row: Row, far: bool) -> Iterable[int]:
    """Candidate values of a size."""
    if name == "hidden":
        return _multiples(value, row)
    if name == "heads" and row["hidden"]:
        return _parts(row["hidden"], row["hidden"])
    return _around(value, far)


def _batch(row: Row, about: int) -> int:
    """The batch nearest to one that is divisible by replicas and interleaved stages."""
    unit = max(1, (row["mbs"] or 1) * (row["dp"] or 1))
    unit *= row["pp"] if (row["vpp"] or 1) > 1 else 1
    return max(1, round(about / unit)) * unit


def _around(value: int, far: bool) -> Iterator[int]:
    """Candidate sizes: itself, its neighbors by one, and doublings; `far`: of all halves."""
    near = (value, value - 1, value + 1, value // 2, value * 2, value // 4, value * 4,
            1 << (value.bit_length() - 1), value - 2, value + 2)  # fmt: skip
    halves = (value >> by for by in range(3, value.bit_length())) if far else ()
    yield from dict.fromkeys(one for one in (*near, *halves) if one > 0)


def _multiples(hidden: int, row: Row) -> Iterator[int]:
    """Candidate hidden sizes divisible by heads and TP."""
    unit = math.lcm(row["heads"] or 1, row["tp"] or 1)
    yield from dict.fromkeys((hidden, max(1, hidden // unit) * unit, (hidden // unit + 1) * unit))


def all_splits(base: Row, request: Mapping[str, Any]) -> list[Row]:
    """Every feasible split of the base's devices into TP, PP and micro-batches.

    TP stays within the node; sizes divide the heads and the layers, else are powers of two.
    """
    start = changed(base, request)
    devices = int(start["device_count"])
    inside = round(devices / start["nodes"]) if start["nodes"] else 8
    tps = [request["tp"]] if "tp" in request else _parts(start["heads"], inside)
    layers = start["layers"]
    pps = [request["pp"]] if "pp" in request else _stages(base, layers, devices)
    micro = [request["mbs"]] if "mbs" in request else list(_MICRO) if base["mbs"] else [None]
    rows: list[Row] = []
    for tp, pp, mbs in itertools.product(tps, pps, micro):
        tried = {**request, "tp": tp, "pp": pp, **({"mbs": mbs} if mbs else {})}
        if (start["vpp"] or 1) > 1 and pp == 1:
            tried["vpp"] = 1
        made = changed(base, tried)
        whole = devices % (tp * pp * (made["cp"] or 1)) == 0
        if whole and impossible(made, tried) is None and not _has_idle_stages(made):
            rows.append(made)
    return rows


def _stages(base: Row, layers: int | None, devices: int) -> list[int]:
    """Numbers of stages: divisors of the layers, also with the embedding's as two more; for unknown
    layers powers of two up to those of a usual model of its size, and the run's own."""
    if layers:
        return sorted({*_parts(layers, devices), *_parts(layers + 2, devices)})
    one = setting(base)
    most = min(devices, int(one.layers)) if one else devices
    own = {base["pp"]} if base["pp"] else set()
    return sorted({*(size for size in _parts(None, devices) if size <= most), *own})


def _parts(whole: int | None, most: int) -> list[int]:
    """The divisors of a number up to a limit; for an unknown one the powers of two."""
    if not whole:
        return [1 << n for n in range(most.bit_length()) if 1 << n <= min(most, 128)]
    return [n for n in range(1, min(whole, most) + 1) if whole % n == 0]
