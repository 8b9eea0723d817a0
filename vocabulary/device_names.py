"""Numbers of devices in names: slices of Cloud TPUs, `8xH200`, `48 x DGX A100`."""

from __future__ import annotations

import re
from functools import cache

from .hardware import device_pattern

# `v5p-128`, `TPU v4-32`; `2x v5p-128` are two slices
_SLICE = re.compile(
    r"(?:(?P<slices>\d{1,4})\s*[x×*]\s*)?(?:TPU[- ]?)?"
    r"(?P<kind>v2|v3|v4|v5p|v5e|v5litepod|v6e)-(?P<size>\d{1,6})",
    re.I,
)
# The number counts TensorCores, two a chip, for these, and chips for the others
# (https://cloud.google.com/tpu/docs/v5p, https://cloud.google.com/tpu/docs/v5e).
_TWO_CORES = frozenset({"v2", "v3", "v4", "v5p"})

# `8xH200`, `1x 4090`; `2x8` counts twice
_COUNTED = re.compile(r"(\d{1,6})\s*[x×*]\s*(?=[A-Za-z]|\d{4}(?!\d))(.+)", re.I)
# `H100 x 8`; `Max 1550` is no count of anything
_COUNT_BEHIND = re.compile(
    r"([A-Za-z][\w .-]{1,40}?)(?:\s*[×*]\s*|(?:\s+|(?<=[\dA-Z]))x\s*)(\d{1,6})"
)
# `6144 TPUv4`, `10,000+ H100`: a count before a device with no sign between
_BEFORE = re.compile(
    r"(?P<about>[~≈>]\s?)?(?P<count>\d{1,3}(?:,\d{3})+|\d{1,6})(?P<more>\+)?\s+"
    r"(?P<name>(?:NVIDIA |AMD |Intel |Google )?"
    r"[A-Za-z]{1,8}[- ]?v?\d{1,4}[A-Za-z]{0,3}(?:[- ]\w{2,8}){0,2}?)"
    r"(?:\s(?:GPU|NPU|TPU|HPU|chip|card|device|accelerator)s?)?",
    re.I,
)
# https://www.nvidia.com/en-us/data-center/dgx-platform/; boards of HGX have four or eight
_DGX = re.compile(r"DGX[ -]?(?:A100|H100|H200|B200|B300)(?!\w)", re.I)
_OF_DGX = 8
_NAMED_MACHINE = re.compile(r"(?<!\w)(?:(?:DGX|HGX)\b|\w+\.\w*(?:large|metal)\b)", re.I)
_MACHINE = re.compile(r"(?:DGX|HGX|nodes?|hosts?|servers?)\b|\w+\.\w*(?:large|metal)\b", re.I)


def slice_of(text: str) -> tuple[str, int] | None:
    """The kind of chip and the chips of one slice or several of a name: TPU v5p and 64 of
    `v5p-128`, 128 of `2x v5p-128`."""
    match = _SLICE.fullmatch(text.strip())
    if match is None:
        return None
    kind, size = match["kind"].lower(), int(match["size"])
    chips = size // 2 if kind in _TWO_CORES else size
    return f"TPU {kind}", int(match["slices"] or 1) * chips


@cache
def slices_of(text: str) -> int | None:
    """How many slices a name counts: 2 of `2x v5p-128`, 1 of `v5p-128`; None if it names none."""
    match = _SLICE.fullmatch(text.strip())
    return int(match["slices"] or 1) if match else None


def counted_of(text: str) -> tuple[int, str] | None:
    """The count next to a name, and the name: 8 and H200 of `8xH200`; None for slices, kept whole.

    The count is 0 if the text gives only a bound or a round number.
    """
    behind = _COUNT_BEHIND.fullmatch(text.strip())
    if behind and not slice_of(behind[1]):
        return int(behind[2]), behind[1]
    match = _COUNTED.fullmatch(text.strip())
    if match and not slice_of(match[2]):
        return int(match[1]), match[2].strip()
    before = None if match else _BEFORE.fullmatch(text.strip())
    if before is None or not device_pattern().search(before["name"]):
        return None
    # `10,000+` is no exact number.
    exact = not (before["more"] or before["about"])
    return int(before["count"].replace(",", "")) if exact else 0, re.sub(
        r"(?<=00)s$", "", before["name"]
    )


def devices_in(name: str) -> int | None:
    """The devices of one machine of a name, if all such machines have equally many."""
    return _OF_DGX if _DGX.match(name) else None


def names_machines(text: str) -> bool:
    """Whether a text names machines with several devices."""
    return bool(_NAMED_MACHINE.search(text))


def is_machine(name: str) -> bool:
    """Whether a name is one of machines with several devices: `DGX A100`, `p5.48xlarge`."""
    return bool(_MACHINE.match(name))
