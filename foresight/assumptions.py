"""The assumptions of a prediction that no source states."""

from __future__ import annotations

from ..schema.warehouse import Row
from ..vocabulary.format import counted
from ..vocabulary.hardware import device_of
from .memory import most_room, usual_room
from .predictor import Predictor
from .setting import ASSUMED_SEQ_LEN, ZERO, room, system_of
from .sizes import usual_node

START = "start"  # the power of a device is that of the base run


def assumptions(row: Row, predictor: Predictor) -> list[str]:
    """The assumptions of a prediction that no source states."""
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
