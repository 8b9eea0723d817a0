"""Jobs of one configuration that fall into two clusters, such as those that met a slow node."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import fsum


@dataclass(frozen=True, slots=True)
class Modes:
    """Jobs that fall into two clusters: their places in the group, fast ones first."""

    fast: tuple[int, ...]
    slow: tuple[int, ...]


def modes(values: Sequence[float], grain: float = 0.0) -> Modes | None:
    """Two clusters of two jobs or more, if they stand too far apart for one.

    `grain` is the deviation that rounding alone gives, as a share: digits make no clusters.

    The distance of their means over the deviation within them; 4 + 220 / n^2 is what the best split
    of normal jobs exceeds once in a hundred (simulated for n of 4 to 20).
    """
    n = len(values)
    order = sorted(range(n), key=values.__getitem__)
    logs = [math.log(values[at]) for at in order]
    middle = fsum(logs) / n
    sums = [0.0, *accumulate(x - middle for x in logs)]
    squares = [0.0, *accumulate((x - middle) ** 2 for x in logs)]
    best: tuple[float, int] = (0.0, 0)
    for cut in range(2, n - 1):
        low, high = sums[cut] / cut, (sums[n] - sums[cut]) / (n - cut)
        within = max(squares[n] - cut * low**2 - (n - cut) * high**2, 0.0)
        apart = high - low
        best = max(best, (apart / max(math.sqrt(within / (n - 2)), grain, 1e-6), cut))
    ratio, cut = best
    return Modes(tuple(order[:cut]), tuple(order[cut:])) if ratio > 4 + 220 / n**2 else None
