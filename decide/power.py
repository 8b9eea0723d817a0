"""How large a difference has to be for a test to find it: of Student's t, of the rank test."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from .distributions import noncentral_t_tail, t_quantile

_TRIALS = 4000
_SEED = 20200101
_MOST = 40  # jobs a side that are simulated; of more, as many as that scaled by their root
_STEPS = 24


@cache
def t_shift(dof: int, level: float, power: float) -> float:
    """The difference, in standard errors, that a two-sided t test detects with this power.

    By the noncentral t distribution (Cohen, Statistical Power Analysis, chapter 2).
    """
    edge = t_quantile(1 - level / 2, dof)
    return _least_detected(
        lambda delta: noncentral_t_tail(dof, delta, edge), power, 2 * edge + 10.0
    )


@cache
def rank_shift(n: int, m: int, level: float, power: float) -> float | None:
    """The difference, in deviations of a job, that a two-sided rank test of n against m normal jobs
    detects with this power; None where the test cannot reach the level. Simulated, fixed seed."""
    import numpy

    # The shift that is found goes with 1 / sqrt(n), so many jobs are simulated by fewer.
    scale = math.sqrt(max(n, m) / _MOST) if max(n, m) > _MOST else 1.0
    n, m = max(round(n / scale**2), 1), max(round(m / scale**2), 1)
    edge = _critical(n, m, level)
    if edge is None:
        return None
    rng = numpy.random.default_rng(_SEED)
    a, b = rng.standard_normal((_TRIALS, n, 1)), rng.standard_normal((_TRIALS, 1, m))
    # U is the number of pairs in which the first is less: one shift of all pairs tries a
    # difference without drawing anew, so the power grows steadily and bisection applies.
    apart = a - b

    def detected(shift: float) -> float:
        return float(((apart + shift < 0).sum(axis=(1, 2)) <= edge).mean())

    return _least_detected(detected, power, 1.0) / scale


def _least_detected(detected: Callable[[float], float], power: float, high: float) -> float:
    """The least shift that is detected with this power, by bisection from [0, high] on."""
    low = 0.0
    while detected(high) < power:
        high *= 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if detected(middle) >= power else (middle, high)
    return high


def _critical(n: int, m: int, level: float) -> int | None:
    """The largest U of which twice the probability of U or less is within the level."""
    ways = _ways(n, m)
    total, least, edge = math.comb(n + m, n), 0, None
    for u, count in enumerate(ways):
        least += count
        if 2 * least > level * total:
            break
        edge = u
    return edge


def _ways(n: int, m: int) -> list[int]:
    """How many ways to deal n + m ranks give each U, from 0 to n m: the coefficients of the
    Gaussian binomial (Mann and Whitney 1947)."""
    found = [1] + [0] * (n * m)
    for k in range(1, n + 1):
        top, bottom = m + k, k
        for at in range(n * m, top - 1, -1):
            found[at] -= found[at - top]
        for at in range(bottom, n * m + 1):
            found[at] += found[at - bottom]
    return found
