"""Sidecars with power samples of devices: nvidia-smi, DCGM, jpwr (CARAML)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from .statement import Statements

# The column of `nvidia-smi --query-gpu=...,power.draw --format=csv`, with and without units.
_SMI = re.compile(r"power\.draw(?:\.average|\.instant)?(?: \[W\])?")
_DMON, _POWER = re.compile(r"#\s{0,4}Entity\s"), "POWER"  # dcgmi dmon -e 155
_JPWR = re.compile(r"(?:pynvml|rocm):.+")  # of a device; other methods measure the same devices
_FIGURE = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)(?: W)?")
LARGEST_OF_SAMPLES = 64 << 20  # bytes: a day of eight devices, each second
_BUSY = 0.5  # of the most: below, a device waits for the job to begin or has ended it
Sample = tuple[float, str, int]  # W, as printed, line


def are_samples(head: bytes) -> bool:
    """Whether the head of a file is that of power samples."""
    first = head[:2000].decode("utf-8", "replace").partition("\n")[0]
    return bool(_DMON.match(first) and _POWER in first.split()) or bool(_columns(first))


def read_samples(text: str) -> Statements | None:
    """The power of a busy device, `power_w`: the median of samples of at least half the maximum.

    As printed; None without samples.
    """
    lines = text.split("\n")
    read = _of_dmon if _DMON.match(lines[0]) else _of_table
    found = sorted(read(lines))
    if not found or not found[-1][0]:
        return None
    busy = [one for one in found if one[0] >= _BUSY * found[-1][0]]
    stated = Statements()
    _, printed, line = busy[(len(busy) - 1) // 2]
    stated.add("power_w", printed, "power", line)
    stated.lines.update(line for *_, line in found)
    return stated


def _columns(first: str) -> list[int]:
    """The columns of power in the first line of a table."""
    heads = [head.strip().strip('"') for head in first.split(",")]
    smi = [at for at, head in enumerate(heads) if _SMI.fullmatch(head)]
    timed = heads[:2] == ["", "timestamps"]
    return smi[:1] or [at for at, head in enumerate(heads) if timed and _JPWR.fullmatch(head)]


def _of_table(lines: Sequence[str]) -> Iterator[Sample]:
    columns = _columns(lines[0])
    for number, line in enumerate(lines[1:], 2):
        cells = line.split(",")
        yield from _samples([cells[at] for at in columns if at < len(cells)], number)


def _of_dmon(lines: Sequence[str]) -> Iterator[Sample]:
    at = lines[0].replace("#", " ").split().index(_POWER) + 1  # an entity is two words: GPU 0
    for number, line in enumerate(lines[1:], 2):
        words = line.split()
        if words and words[0] == "GPU":
            yield from _samples(words[at : at + 1], number)


def _samples(texts: Sequence[str], line: int) -> Iterator[Sample]:
    for text in texts:
        match = _FIGURE.fullmatch(text.strip())
        if match and math.isfinite(float(match[1])):
            yield float(match[1]), match[1], line
