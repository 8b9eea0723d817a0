"""Where the level of a series changes, judged by the spread of its values.

ruptures is not used: the number of changes follows from a penalty, and they have no p-values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING

from .distributions import t_tail

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    Array = NDArray[float64]

STRICT = 0.005  # of each test: a history is looked at in many places, and in two ways
FEWEST = 8  # values: of fewer, hardly an order of them is rare enough
_SIDE = 2  # values on either side of a change
_FAR = 3.0  # deviations from the median, where values are cut off
_MANY = 200  # values: of more, fewer shuffles are enough work
_SHUFFLES, _FEW_SHUFFLES = 1999, 499
_SEED = 20200101  # so that the same values give the same answer


@dataclass(frozen=True, slots=True)
class Change:
    """A change of level: the index of the first value after it, and the p of its test."""

    at: int
    p: float


def changes(values: Sequence[float], level: float = STRICT) -> list[Change]:
    """The changes of level of values in order of time; fewer than FEWEST show none.

    Binary segmentation (Vostrikova 1981) and, where one split shows nothing, a stretch that
    differs from what is on both sides of it (circular binary segmentation, Olshen et al. 2004).
    Both compare the largest difference of means with that of shuffled values, so that the
    choice of the place is accounted for; outliers are cut off, so that a single one is no change.
    """
    if len(values) < FEWEST or min(values) == max(values):
        return []
    for found, p in _most_apart(values):
        if p < level:
            inside = [at for at in found if 0 < at < len(values)]
            ends = [0, *inside, len(values)]
            parts = [
                Change(begin + change.at, change.p)
                for begin, end in pairwise(ends)
                for change in changes(values[begin:end], level)
            ]
            return sorted([*parts, *(Change(at, p) for at in inside)], key=lambda change: change.at)
    return []


def newest_p(before: Sequence[float], newest: Sequence[float], known: float, dof: int) -> float:
    """p of newest jobs against the level before them, by Student's t as of a prediction interval
    (Hahn and Meeker, Statistical Intervals, 4.8): `known` is the spread of single jobs."""
    error = known * math.sqrt(1 / len(before) + 1 / len(newest))
    apart = abs(fmean(newest) - fmean(before))
    return t_tail(dof, apart / error) if error else float(apart == 0)


def levels(values: Sequence[float], found: Sequence[Change]) -> list[tuple[int, int, float]]:
    """The stretches between changes: their first place, the place after the last, their median."""
    ends = [0, *(change.at for change in found), len(values)]
    return [(begin, end, median(values[begin:end])) for begin, end in pairwise(ends)]


def _most_apart(values: Sequence[float]) -> list[tuple[tuple[int, ...], float]]:
    """The split, then the stretch, that differs most from the rest, each with its p."""
    import numpy

    cut = numpy.array(_cut_off(values))
    cut -= cut.mean()
    count = len(values)
    shuffles = _SHUFFLES if count <= _MANY else _FEW_SHUFFLES
    rows = numpy.tile(cut, (shuffles + 1, 1))
    rows[1:] = numpy.random.default_rng(_SEED).permuted(rows[1:], axis=1)
    sums = numpy.zeros((shuffles + 1, count + 1))
    numpy.cumsum(rows, axis=1, out=sums[:, 1:])

    sizes = numpy.arange(_SIDE, count - _SIDE + 1)
    splits = numpy.abs(sums[:, sizes]) / numpy.sqrt(sizes * (count - sizes) / count)
    at = int(splits[0].argmax()) + _SIDE

    best = numpy.zeros(shuffles + 1)
    stretch, widest = (0, count), 0.0
    for size in range(_SIDE, count - _SIDE + 1):
        apart = numpy.abs(sums[:, size:] - sums[:, :-size])
        apart /= math.sqrt(size * (count - size) / count)
        best = numpy.maximum(best, apart.max(axis=1))
        if best[0] > widest:
            begin = int(apart[0].argmax())
            stretch, widest = (begin, begin + size), float(best[0])
    # A stretch that begins or ends next to an end of the series has no other side there.
    begin = stretch[0] if stretch[0] >= _SIDE else 0
    end = stretch[1] if count - stretch[1] >= _SIDE else count
    return [((at,), _share(splits.max(axis=1))), ((begin, end), _share(best))]


def _share(statistics: Array) -> float:
    """How many of the shuffled values are as far apart as the first, which are not shuffled."""
    return float((statistics >= statistics[0] - 1e-9).mean())


def _cut_off(values: Sequence[float]) -> list[float]:
    """The values without what lies beyond _FAR deviations: of neighbours, as steps widen others."""
    steps = [abs(after - before) for before, after in pairwise(values)]
    deviation = 1.4826 * median(steps) / math.sqrt(2)
    if not deviation:  # most neighbours are equal, as rounded values are
        return list(values)
    middle = median(values)
    low, high = middle - _FAR * deviation, middle + _FAR * deviation
    return [min(max(value, low), high) for value in values]
