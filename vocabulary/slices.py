"""How many devices a name tells: slices of Cloud TPUs, `8xH200`, `48 x DGX A100`."""

from __future__ import annotations

import re

_SLICE = re.compile(r"(?:TPU[- ]?)?(v2|v3|v4|v5p|v5e|v5litepod|v6e)-(\d{1,6})", re.I)
# The number counts TensorCores, two a chip, of these, and chips of the others
# (https://cloud.google.com/tpu/docs/v5p, https://cloud.google.com/tpu/docs/v5e).
_TWO_CORES = frozenset({"v2", "v3", "v4", "v5p"})

# `8xH200`, `1x 4090`; `2x8` counts twice
_COUNTED = re.compile(r"(\d{1,6})\s*[x×*]\s*(?=[A-Za-z]|\d{4}(?!\d))(.+)", re.I)
# `H100 x 8`; `Max 1550` is no count of anything
_COUNT_BEHIND = re.compile(
    r"([A-Za-z][\w .-]{1,40}?)(?:\s*[×*]\s*|(?:\s+|(?<=[\dA-Z]))x\s*)(\d{1,6})"
)
_MACHINE = re.compile(r"(?:DGX|HGX|nodes?|hosts?|servers?)\b|\w+\.\w*(?:large|metal)\b", re.I)


def slice_of(text: str) -> tuple[str, int] | None:
    """The kind of chip and the chips of a slice's name: TPU v5p and 64 of `v5p-128`."""
    found = _SLICE.fullmatch(text.strip())
    if found is None:
        return None
    kind, count = found[1].lower(), int(found[2])
    return f"TPU {kind}", count // 2 if kind in _TWO_CORES else count


def counted_of(text: str) -> tuple[int, str] | None:
    """The count beside a name, and the name: 8 and H200 of `8xH200`; None of slices, kept whole."""
    behind = _COUNT_BEHIND.fullmatch(text.strip())
    if behind and not slice_of(behind[1]):
        return int(behind[2]), behind[1]
    found = _COUNTED.fullmatch(text.strip())
    if found is None or slice_of(found[2]):
        return None
    return int(found[1]), found[2].strip()


def is_machine(name: str) -> bool:
    """Whether a name is one of machines with several devices: `DGX A100`, `p5.48xlarge`."""
    return bool(_MACHINE.match(name))
