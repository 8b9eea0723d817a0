"""Why a run tells nothing of the speed of others."""

from __future__ import annotations

from ..schema.warehouse import Row
from .setting import setting

_APART = 2.5  # times that ways of counting FLOPs, attention and recomputation may differ


def lacking(row: Row) -> str | None:
    """What a run does not state, or how it contradicts itself; None if a model can be fitted to it.

    Printed TFLOP/s that its own time is far from mean that one of its batch, devices and times is
    not what it seems: of a device, not the job.
    """
    if not row["device_count"]:
        return "no number of devices"
    one = setting(row)
    if one is None:
        return "no size of the model"
    if one.s_per_token is None:
        return "no tokens/s or TFLOP/s, and no step time at a known batch and sequence length"
    times = one.s_per_token / (one.s_per_token_by_flops or one.s_per_token)
    if max(times, 1 / times) > _APART:
        return f"its TFLOP/s are {times:.2g} times those of its time or tokens/s"
    return None
