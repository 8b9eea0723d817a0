"""What an answer says besides a prediction: assumptions that no source states; other devices, a
split with room, the change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..schema.warehouse import Row
from ..vocabulary.format import counted
from ..vocabulary.hardware import device_of
from .failures import split_of
from .memory import most_room, usual_room
from .predictor import Predictor
from .setting import ASSUMED_SEQ_LEN, ZERO, room, system_of
from .sizes import usual_node

START = "start"  # the power of a device is that of the base run


def assumptions(row: Row, predictor: Predictor) -> list[str]:
    """What an answer says besides a prediction: assumptions that no source states; other devices, a
    split with room, the change."""
    found = []
    if row["moved"]:
        base, moved = row["base"], row["moved"]
        words = ", ".join(f"{name.upper()} {size} for {base[name]}" for name, size in moved.items())
        found.append(f"{words}, as the sizes of the run it starts from do not fit")
    if not (row["layers"] and row["hidden"]):
        found.append("layers and hidden size of a usual model of its size")
    if row["nodes"] and not row["base"]["nodes"]:
        many = counted(usual_node(row["base"]), "device")
        found.append(
            f"{many} a node, as {row['base']['where']} states no nodes;"
            " --dp asks for devices by replicas"
        )
    if row["zero_stage"] is None:
        stage = row["stage_inferred"]
        found.append(
            f"ZeRO {ZERO}, as {row['base']['where']} states no stage"
            if stage is None
            else f"ZeRO {stage}, which {row['base']['where']} does not state: weights and states of"
            " its source's runs exceed their memory with a lower stage"
        )
    if row["recompute"] is None:
        silent = f"which {row['base']['where']} does not state"
        found.append(
            f"full recompute, {silent}: most such runs of its source would not fit otherwise"
            if row["recompute_inferred"]
            else f"no recompute, {silent}"
        )
    if row["seq_len"] is None:
        found.append(f"attention over {ASSUMED_SEQ_LEN:,.0f} tokens: no sequence length is known")
    if (row["cp"] or 1) > 1 and not predictor.has_context_parallelism(system_of(row)):
        found.append(
            "usual times for keys and values between CP ranks, as no run of this system has CP"
        )
    if not row["peak_known"]:
        found.append("no peak of the device: speeds are relative to its own runs")
    found += _of_room(row)
    if row["batch"] is None:
        found.append("the batch as in the runs it rests on, which do not state it")
    if row["base"].get("by_flops"):
        found.append(
            f"the speed of {row['base']['where']} from the TFLOP/s that it prints: a token counts 6"
            " FLOPs a parameter and 12 a channel and position of attention, a third more with full"
            " recompute"
        )
    if row["power_from"] == START:
        found.append(f"{row['power_w']:.4g} W a device, as {row['base']['where']} states it")
    return found


def _of_room(row: Row) -> list[str]:
    """The memory of a device whose name does not state it."""
    device = row["device"]
    if not device or not row["memory_gb_predicted"] or room(device):
        return []
    if usual := usual_room(device):
        return [f"{usual:.3g} GB a device, the usual memory of {device}"]
    why = "is a name of several sizes" if device_of(device) else "is not known"
    return [
        f"at most {most_room(device):.3g} GB a device, as {device} {why}:"
        " P(OOM) is known only of what needs more"
    ]


LIKELY = 0.5  # a probability of out of memory above which a configuration is not ranked
_HARDLY = 0.1
_SPLIT = ("dp", "tp", "pp", "cp", "vpp", "mbs")


def with_room(start: Any, row: Row, request: Mapping[str, Any]) -> Row | None:
    """For a configuration that probably runs out of memory, the fastest split of its devices that
    hardly does, else the one with the most room; None where all probably do."""
    if (row["out_of_memory"] or 0.0) <= LIKELY:
        return None
    kept = {name: size for name, size in request.items() if name not in _SPLIT}
    same = {"nodes": row["nodes"]} if row["nodes"] else {}
    rows, _ = start.ranked(start.rated(start.splits({**kept, **same})), [])
    hardly = [one for one in rows if (one["out_of_memory"] or 0.0) <= _HARDLY]
    return min(hardly[:1] or rows, key=lambda one: one["out_of_memory"] or 0.0, default=None)


def elsewhere(start: Any) -> list[str]:
    """The other devices that the model was measured on, of those that a start was chosen from; none
    for a size that was never measured."""
    if start.model:
        return []
    here = system_of(start.base)
    alike = [row for row in start.rows if row["size"] == start.base["size"] and row["device"]]
    found = {str(system_of(row)): row["device"] for row in alike if system_of(row) != here}
    return sorted(found.values())


def change(row: Row) -> dict[str, Any] | None:
    """The change of the rate of a device from the measured run that a prediction starts from; None
    for the same configuration, or another model."""
    base = row["base"]
    before = base["tokens_per_s_per_device"]
    same = split_of(base) == split_of(row) and all(base[of] == row[of] for of in ("gbs", "seq_len"))
    if same or not before or base["size"] != row["size"]:
        return None
    each = [row[f"tokens_per_s_per_device{end}"] / before - 1 for end in ("", "_low", "_high")]
    middle, low, high = (f"{one:+.1%}" for one in each)
    return {"change": each[0], "text": f"{middle} ({low} to {high})"}
