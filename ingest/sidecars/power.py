"""Sidecars with power samples of devices: nvidia-smi, DCGM, jpwr (CARAML)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from ..kinds import DMON, POWER, columns_of_power
from .statement import Statements

_FIGURE = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)(?: W)?")
_BUSY = 0.5  # of the most: below, a device waits for the job to begin or has ended it
Sample = tuple[float, str, int]  # W, as printed, line


def read_samples(text: str) -> Statements | None:
    """The power of a busy device, `power_w`: the median of samples of at least half the maximum.

    As printed; None without samples.
    """
    lines = text.split("\n")
    read = _of_dmon if DMON.match(lines[0]) else _of_table
    found = sorted(read(lines))
    if not found or not found[-1][0]:
        return None
    busy = [one for one in found if one[0] >= _BUSY * found[-1][0]]
    stated = Statements()
    _, printed, line = busy[(len(busy) - 1) // 2]
    stated.add("power_w", printed, "power", line)
    stated.lines.update(line for *_, line in found)
    return stated


def _of_table(lines: Sequence[str]) -> Iterator[Sample]:
    columns = columns_of_power(lines[0])
    for number, line in enumerate(lines[1:], 2):
        cells = line.split(",")
        yield from _samples([cells[at] for at in columns if at < len(cells)], number)


def _of_dmon(lines: Sequence[str]) -> Iterator[Sample]:
    at = lines[0].replace("#", " ").split().index(POWER) + 1  # an entity is two words: GPU 0
    for number, line in enumerate(lines[1:], 2):
        words = line.split()
        if words and words[0] == "GPU":
            yield from _samples(words[at : at + 1], number)


def _samples(texts: Sequence[str], line: int) -> Iterator[Sample]:
    for text in texts:
        match = _FIGURE.fullmatch(text.strip())
        if match and math.isfinite(float(match[1])):
            yield float(match[1]), match[1], line
