"""A plain model of device memory: model states, activations and logits (physics.md 7.3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from ..vocabulary.hardware import device_of

if TYPE_CHECKING:
    from .input import Row

GB = {  # 1e9 bytes of each unit
    "GB": 1.0,
    "GiB": 1.073741824,
    "MB": 1e-3,
    "MiB": 1.048576e-3,
    "TB": 1e3,
    "TiB": 1099.511627776,
    "KB": 1e-6,
    "KiB": 1.024e-6,
    "kB": 1e-6,
    "bytes": 1e-9,
    "B": 1e-9,
}
_BASE = 1.5  # GB used by context and libraries
FEWEST = 5  # rows with memory needed to calibrate the model by their median
_REMEMBERED = 1 << 14  # set-ups


def gigabytes(row: Row) -> float | None:
    """The printed memory in GB."""
    printed = row.memory
    scale = GB.get(printed.unit or "GB") if printed else None
    return printed.value * scale if printed and scale else None


def capacity(row: Row) -> float | None:
    """GB (1e9 bytes) of the row's device, if its name states it."""
    size = capacity_gib(row)
    return size * GB["GiB"] if size else None


def capacity_gib(row: Row) -> float | None:
    """GiB of the row's device, if its name states it."""
    return gib_of(row.device)


def gib_of(name: str | None) -> float | None:
    """GiB of a device as its name states, else by its known specification; None without either."""
    named = re.search(r"(?i)(?<!\d)(\d++)\s?GB", name or "")
    device = device_of(name) if name else None
    return float(named[1]) if named else device.memory_gib if device else None


class _Setup(NamedTuple):
    """Input of the model, a cache key: the rows of a sweep share few configurations."""

    layers: int
    hidden: int
    heads: int
    vocab: int
    dp: int
    tp: int
    pp: int
    zero_stage: int
    seq_len: int | None
    mbs: int | None
    gbs: int | None
    full: bool  # activations are kept


def _setup(row: Row) -> _Setup | None:
    dp = row.data_parallel
    if not (row.layers and row.hidden and dp and row.tp):
        return None
    return _Setup(
        row.layers,
        row.hidden,
        row.heads or max(1, row.hidden // 128),
        row.vocab or row.vocab_fitted or 50304,
        dp,
        row.tp,
        row.pp or 1,
        1 if row.zero_stage is None else row.zero_stage,
        row.seq_len,
        row.mbs,
        row.gbs,
        row.recompute == "none",
    )


def states(row: Row) -> float | None:
    """GB for weights, gradients and optimizer of the first stage; None as in `predicted`."""
    setup = _setup(row)
    return _states(setup) if setup else None


def predicted(row: Row) -> float | None:
    """GB that the first pipeline stage needs; None if the row states too little."""
    setup = _setup(row)
    return _predicted(setup) if setup else None


def _states(setup: _Setup) -> float | None:
    dp, h = setup.dp, setup.hidden
    # Bytes a parameter of mixed-precision Adam: 2 weight, 2 gradient, 12 optimizer (fp32 copy, two
    # moments). ZeRO stage 1 shards the last over DP, 2 gradients too, 3 all (1910.02054, fig. 1).
    bytes_of_stage = {0: 16.0, 1: 4 + 12 / dp, 2: 2 + 14 / dp, 3: 16 / dp}
    each = bytes_of_stage.get(setup.zero_stage)
    if each is None:
        return None
    # Attention has 4 h^2 parameters a layer, an MLP of 4h twice that; TP splits the embedding too.
    layers = 12 * h * h * setup.layers / (setup.pp * setup.tp)
    return (layers + setup.vocab * h / setup.tp) * each / 1e9


@lru_cache(_REMEMBERED)
def _predicted(setup: _Setup) -> float | None:
    kept_states, s, b = _states(setup), setup.seq_len, setup.mbs
    if not (kept_states and s and b):
        return None
    t, h = setup.tp, setup.hidden
    # The first stage keeps as many micro-batches as there are stages (1F1B, 2104.04473).
    flying = min(setup.pp, max(1, (setup.gbs or b * setup.dp) // (b * setup.dp)))
    # Activations of a layer in fp16 (2205.05198, equation 2, without sequence parallelism).
    layer = s * b * h * (10 + 24 / t + 5 * setup.heads * s / (h * t))
    # Full recompute keeps a layer's input, 2 sbh; one layer at a time is materialized in full.
    # Logits exist in fp16 and, for the loss, in fp32: 6 bytes.
    kept = (layer if setup.full else 2 * s * b * h) * setup.layers / setup.pp * flying
    return kept_states + (kept + layer + 6 * s * b * setup.vocab / t) / 1e9 + _BASE


def ratio(row: Row) -> float | None:
    """Printed memory over predicted."""
    need = predicted(row)
    have = gigabytes(row)
    return have / need if have and need else None


def usual(rows: Sequence[Row]) -> float | None:
    """The median ratio of rows; None if there are too few."""
    found = [one for row in rows if (one := ratio(row))]
    return median(found) if len(found) >= FEWEST else None
