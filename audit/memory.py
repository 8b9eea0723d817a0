"""A plain model of device memory: model states, activations and logits (physics.md 7.3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median

from ..schema.hardware import device_of
from .book import Row

_GB = {
    "GB": 1.0,
    "GiB": 1.073741824,
    "MB": 1e-3,
    "MiB": 1.048576e-3,
    "TB": 1e3,
    "TiB": 1099.511627776,
    "KB": 1e-6,
    "KiB": 1.024e-6,
    "bytes": 1e-9,
}
_BASE = 1.5  # GB that context and libraries take


def gigabytes(row: Row) -> float | None:
    """The printed memory in GB."""
    printed = row.memory
    scale = _GB.get(printed.unit or "GB") if printed else None
    return printed.value * scale if printed and scale else None


def capacity(row: Row) -> float | None:
    """GB (1e9 bytes) of the row's device, where its name says so."""
    size = capacity_gib(row)
    return size * _GB["GiB"] if size else None


def capacity_gib(row: Row) -> float | None:
    """GiB of the row's device, where its name says so."""
    named = re.search(r"(\d+)\s?GB", row.device or "")
    device = device_of(row.device) if row.device else None
    return float(named[1]) if named else device.memory_gib if device else None


def states(row: Row) -> float | None:
    """What weights, gradients and optimizer of the first stage need, in GB; None as below."""
    dp = row.data_parallel
    if not (row.layers and row.hidden and dp and row.tp):
        return None
    v = row.vocab or row.vocab_fitted or 50304
    stage = 1 if row.zero_stage is None else row.zero_stage
    bytes_each = {0: 16.0, 1: 4 + 12 / dp, 2: 2 + 14 / dp, 3: 16 / dp}.get(stage)
    if bytes_each is None:
        return None
    h, t, p = row.hidden, row.tp, row.pp or 1
    return (12 * h * h * row.layers / (p * t) + v * h / t) * bytes_each / 1e9


def predicted(row: Row) -> float | None:
    """What the first pipeline stage needs, in GB; None where the row says too little."""
    dp, kept_states = row.data_parallel, states(row)
    if not (
        kept_states and row.layers and row.hidden and row.seq_len and row.mbs and dp and row.tp
    ):
        return None
    t, p, h, s, b = row.tp, row.pp or 1, row.hidden, row.seq_len, row.mbs
    v, a = row.vocab or row.vocab_fitted or 50304, row.heads or max(1, h // 128)
    flying = min(p, max(1, (row.gbs or b * dp) // (b * dp)))
    layer = s * b * h * (10 + 24 / t + 5 * a * s / (h * t))
    kept = (layer if row.recompute == "none" else 2 * s * b * h) * row.layers / p * flying
    return kept_states + (kept + layer + 6 * s * b * v / t) / 1e9 + _BASE


def ratio(row: Row) -> float | None:
    """Printed memory over predicted."""
    need = predicted(row)
    have = gigabytes(row)
    return have / need if have and need else None


def usual(rows: Sequence[Row]) -> float | None:
    """The median ratio of rows, where there are enough of them."""
    found = [one for row in rows if (one := ratio(row))]
    return median(found) if len(found) >= 5 else None
