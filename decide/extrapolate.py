"""Runs at sizes that were not measured, by a fitted law, with the interval of the fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..schema.warehouse import Row
from ..vocabulary.format import number
from .eligible import Rows
from .pairing import agree
from .rows import configuration
from .scaling_curves import Group, groups

# Measurements of other sizes.
_RATES = ("step_time_s", "step_time_low", "step_time_high", "steps_per_s", "tokens_per_s",
          "tokens_per_s_low", "tokens_per_s_high", "tokens_per_s_per_device", "mfu", "hfu",
          "tflops", "model_tflops", "memory_gb")  # fmt: skip


def at_nodes(rows: Sequence[Row], nodes: int, failed: Sequence[Row]) -> Rows:
    """One run of so many nodes for each scaling group with a fit, and those that cannot be: the
    batch does not divide, or one of the runs that `failed` was of this configuration.

    Its tokens/s are the law's, their range the 95% interval of a new measurement.
    """
    kept: list[Row] = []
    left: list[Row] = []
    for group in groups(rows)[0]:
        # A measured size needs no fit, and a law over devices does not apply to nodes.
        if group.unit != "nodes" or any(point.x == nodes for point in group.points):
            continue
        made = _extrapolated(group, nodes, failed)
        (left if made["left_out"] else kept).append(made)
    return Rows(tuple(kept), tuple(left))


def _extrapolated(group: Group, nodes: int, failed: Sequence[Row]) -> dict[str, Any]:
    # Columns without a law, such as TP, are those of the nearest size.
    nearest = min(group.points, key=lambda point: abs(point.x - nodes))
    row = nearest.row
    law, first_fitted = group.law
    base = group.points[first_fitted]
    made: dict[str, Any] = {**row, "nodes": nodes, "jobs": 0, "basis": "fit", "left_out": None}
    made["derivations"] = {}  # numbers of a fit are of no run
    for name in ("devices", "world_size", "device_count", "dp"):
        made[name] = _scaled(row[name], nodes, nearest.x)
    made["dp_replicate"] = made["dp_shard"] = None  # which of the two grows is not known
    if group.kind == "weak":
        made["gbs"], made["tokens_per_step"] = (
            _scaled(row[name], nodes, nearest.x) for name in ("gbs", "tokens_per_step")
        )
        made["batch"] = row["batch"] and row["batch"] * nodes / nearest.x
    made["left_out"] = _impossible(row, made) or _failed(made, failed)
    if law is None or made["left_out"]:
        reason = made["left_out"] or f"{len(group.points)} sizes: no fit"
        return {**made, **dict.fromkeys(_RATES), "left_out": reason}
    per_node = base.rate / base.x
    # Of a new measurement, not of the law: who runs it meets the noise as well.
    low, high = law.predicted(nodes / base.x)
    rate = per_node * nodes * law.efficiency(nodes / base.x)
    made["tokens_per_s"] = rate
    made["tokens_per_s_low"] = per_node * nodes * low
    made["tokens_per_s_high"] = per_node * nodes * high
    made["step_time_s"] = made["tokens_per_step"] / rate if made["tokens_per_step"] else None
    made["steps_per_s"] = 1 / made["step_time_s"] if made["step_time_s"] else None
    made["step_time_low"] = made["step_time_high"] = made["mfu"] = made["hfu"] = None
    made["tflops"] = made["model_tflops"] = None
    made["tokens_per_s_per_device"] = rate / made["device_count"] if made["device_count"] else None
    first, last = number(base.x), number(group.points[-1].x)
    scaled = f"{group.kind} scaling, {law.points} sizes, {first} to {last} nodes"
    made["range_from"] = f"{law.law} fit of {scaled}"
    return made


def _scaled(value: int | None, nodes: int, of: float) -> int | None:
    """A count of a run `of` so many nodes, grown to others; None where that is no whole number."""
    if value is None:
        return None
    grown, rest = divmod(value * nodes, int(of))
    return None if rest else grown


def _impossible(of: Row, row: Row) -> str | None:
    """Why a run grown from another cannot be, if the batch does not divide, as far as that states
    it."""
    if row["device_batch"] and row["tokens_per_step"]:
        return None
    if any(row[name] is None and of[name] is not None for name in ("dp", "gbs")):
        return "DP or GBS would be no whole number at this size"
    if row["mbs"] and row["dp"] and row["gbs"] and row["gbs"] % (row["mbs"] * row["dp"]):
        return f"GBS {row['gbs']} is no multiple of MBS x DP = {row['mbs']} x {row['dp']}"
    return None


def _failed(row: Row, failed: Sequence[Row]) -> str | None:
    """How a run of this configuration and size failed, if one did."""
    stated = _stated(row)
    found = next((row for row in failed if agree(stated, _stated(row))), None)
    return f"a run of this size failed: {found['status']} ({found['where']})" if found else None


def _stated(row: Row) -> dict[str, Any]:
    return {name: value for name, value in configuration(row).items() if value is not None}
