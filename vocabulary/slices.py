"""Slices of Cloud TPUs, which are named by their kind of chip and their size."""

from __future__ import annotations

import re

_SLICE = re.compile(r"(?:TPU[- ]?)?(v2|v3|v4|v5p|v5e|v5litepod|v6e)-(\d{1,6})", re.I)
# The number counts TensorCores, two a chip, of these, and chips of the others
# (https://cloud.google.com/tpu/docs/v5p, https://cloud.google.com/tpu/docs/v5e).
_TWO_CORES = frozenset({"v2", "v3", "v4", "v5p"})


def slice_of(text: str) -> tuple[str, int] | None:
    """The kind of chip and the chips of a slice's name: TPU v5p and 64 of `v5p-128`."""
    found = _SLICE.fullmatch(text.strip())
    if found is None:
        return None
    kind, count = found[1].lower(), int(found[2])
    return f"TPU {kind}", count // 2 if kind in _TWO_CORES else count
