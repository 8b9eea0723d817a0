"""Requests that no prediction is made for, as they contradict themselves or the device."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from ..schema.errors import BenchError
from ..schema.warehouse import Row
from ..vocabulary.hardware import device_of
from .setting import ASPECT
from .sizes import changed, impossible, with_sizes

_SAME_SIZE = math.log(1.3)  # of the blocks alone, without embeddings
_SIZES = re.compile(r"\b(nodes|dp|tp|pp|cp|vpp|mbs|gbs|layers|hidden|heads)\s*=\s*(\d+)\b", re.I)
_SLIM, _WIDE = 8, 2048  # hidden size over layers: every model is within


def refuse_format(base: Row, dtype: str | None) -> None:
    """Raises BenchError for a number format that a known device does not compute in."""
    device = device_of(base["device"]) if base["device"] else None
    if dtype and device and dtype not in device.peak:
        raise BenchError(
            f"no speed of {device.name} in {dtype} is known",
            why=f"its data sheet has {', '.join(device.peak)}",
            hint="--dtype with one of these, or --where device = ... for another device",
        )


def refuse_shape(size: float | None, shape: Mapping[str, int]) -> None:
    """Raises BenchError for layers and a hidden size that contradict a model's size, in 1e9
    parameters: 12 x layers x hidden^2."""
    if not size or not {"layers", "hidden"} & shape.keys():
        return
    blocks = size * 1e9 / 12
    layers = shape.get("layers") or blocks / shape["hidden"] ** 2
    hidden = shape.get("hidden") or math.sqrt(blocks / layers)
    if abs(math.log(layers * hidden**2 / blocks)) > _SAME_SIZE:
        why = f"{layers} layers of hidden size {hidden:,} are {12e-9 * layers * hidden**2:.3g}B"
    elif not _SLIM <= hidden / layers <= _WIDE:
        why = f"{size:g}B would have {layers:,.0f} layers of hidden size {hidden:,.0f}"
    else:
        return
    usual = max(1, round((blocks * ASPECT) ** (1 / 3) / 128)) * 128
    raise BenchError(
        "this configuration cannot be", why=why,
        hint=f"the nearest that can: --hidden {usual} --layers {max(1, round(blocks / usual**2))}",
    )  # fmt: skip


def refuse_splits(base: Row, request: Mapping[str, Any]) -> NoReturn:
    """Raises BenchError for a request without a feasible split, with the rule and what is near."""
    near = with_sizes(base, request)  # raises if nothing that is free can move
    # Splits are free: the rule is that of the nearest one with the batch as it is.
    split = {**request, **{name: near[name] for name in near["moved"] if name != "gbs"}}
    why = impossible(changed(base, split), split) or "none keeps batch and layers whole"
    moved = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in near["moved"].items())
    raise BenchError(
        "no split of these devices is feasible", why=why,
        hint=f"the nearest that can: {moved}" if moved else "other --nodes or --gbs",
    )  # fmt: skip


def among_measured(error: BenchError, where: str | None) -> BenchError:
    """What to say where no run fits a condition: sizes in it are more likely asked for."""
    sizes = " ".join(f"--{name.lower()} {value}" for name, value in _SIZES.findall(where or ""))
    if not sizes:
        return error
    return BenchError(
        str(error), why="--where selects the measured runs that a prediction may start from",
        hint=f"{sizes} asks for sizes that nobody ran",
    )  # fmt: skip
