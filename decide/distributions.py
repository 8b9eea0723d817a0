"""Tails and quantiles of tests, the differences that they find, and exact tests of counts.

Of these few functions alone; scipy, which has them too, takes longer to import than a whole answer
to compute. tests/test_distributions.py compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from statistics import NormalDist

_EXACT = 1e-16
_TINY = 1e-300
_MOST_STEPS, _SETTLED = 200, 1e-15
_MOST_TERMS = 10_000
_POINTS = 400  # of the integral of the noncentral t
_TAIL = 30.0  # in ln of its density: what lies beyond is less than any digit printed
_NORMAL = 8.0  # in standard deviations


def t_tail(dof: int, t: float) -> float:
    """The share of Student's t with `dof` degrees of freedom (1 or more) beyond t >= 0, on either
    side: the p of a two-sided test. It keeps its digits where it is small."""
    return _beta(dof / 2, 0.5, dof, t * t)


def signed_rank_p(shifts: Sequence[float]) -> float:
    """p of Wilcoxon's signed ranks by the normal approximation, of shifts that are not all zero:
    zeros are left out, equal sizes share their middle rank (Hollander, Wolfe and Chicken,
    Nonparametric Statistical Methods, 3.1)."""
    ordered = sorted((shift for shift in shifts if shift), key=abs)
    n, before, positive, ties = len(ordered), 0, 0.0, 0
    for _, group in groupby(ordered, key=abs):
        equal = list(group)
        many = len(equal)
        positive += (before + (many + 1) / 2) * sum(shift > 0 for shift in equal)
        before, ties = before + many, ties + many**3 - many
    deviation = math.sqrt((n * (n + 1) * (2 * n + 1) - ties / 2) / 24)
    return math.erfc(abs(positive - n * (n + 1) / 4) / deviation / math.sqrt(2))


@cache
def t_quantile(share: float, dof: int) -> float:
    """The value that a `share` (from 0.5 on, below 1) of Student's t is less than.

    By Newton's method: beyond its middle the tail is convex, so that every step stays below the
    quantile, and the normal one is where to begin.
    """
    beyond, t = 2 * (1 - share), NormalDist().inv_cdf(share)
    front = math.lgamma((dof + 1) / 2) - math.lgamma(dof / 2) - math.log(dof * math.pi) / 2
    for _ in range(_MOST_STEPS):
        density = 2 * math.exp(front - (dof + 1) / 2 * math.log1p(t * t / dof))
        step = (t_tail(dof, t) - beyond) / density
        t += step
        if step <= _SETTLED * t:  # rounding alone makes a step back
            break
    return t


def noncentral_t_tail(dof: int, delta: float, t: float) -> float:
    """The share beyond t of the noncentral t: a normal deviate with the mean `delta` over the root
    of an independent chi-square divided by its `dof` degrees of freedom."""
    # Summed over the wider of the two, seen from the other: what is summed is then smooth.
    if t * t > 2 * dof:
        return sum(w * _root_below(dof, (delta + z) / t) for z, w in _deviates())
    below = sum(w * math.erfc((t * s - delta) / math.sqrt(2)) for s, w in _roots(dof))
    return below / 2


@cache
def _deviates() -> tuple[tuple[float, float], ...]:
    """Normal deviates, each with its weight, by the trapezoidal rule."""
    places = [_NORMAL * (2 * at / _POINTS - 1) for at in range(_POINTS + 1)]
    return _weighted(places, [-z * z / 2 for z in places])


@cache
def _roots(dof: int) -> tuple[tuple[float, float], ...]:
    """Roots of chi-square over its degrees of freedom, each with its weight: the same rule over
    their logarithm, whose density falls to nothing on both sides."""
    spread = 1 / math.sqrt(2 * dof)
    low = -(_NORMAL * spread + _TAIL / dof)
    step = (_NORMAL * spread - low) / _POINTS
    places = [low + at * step for at in range(_POINTS + 1)]
    logs = [dof * (u - math.expm1(2 * u) / 2) for u in places]
    return _weighted([math.exp(u) for u in places], logs)


def _weighted(values: Sequence[float], logs: Sequence[float]) -> tuple[tuple[float, float], ...]:
    weights = [math.exp(log) for log in logs]
    total = sum(weights)
    return tuple((value, w / total) for value, w in zip(values, weights, strict=True) if w)


def _root_below(dof: int, s: float) -> float:
    """The share of such roots below s: the sum of NIST Handbook 8.4.7, and 8.4.8 of odd ones."""
    if s <= 0:
        return 0.0
    x = dof * s * s / 2
    if dof % 2:
        total, power, order = math.erfc(math.sqrt(x)), 2 * math.sqrt(x / math.pi), 1.5
    else:
        total, power, order = 0.0, 1.0, 1.0
    small = math.exp(-x)
    for _ in range(dof // 2):
        total += small * power
        power *= x / order
        order += 1
    return 1 - total


def _beta(a: float, b: float, dof: int, squared: float) -> float:
    """The regularized incomplete beta function of a and b at x = dof / (dof + squared), by the
    continued fraction of DiDonato and Morris (NIST Handbook, 8.17.22)."""
    # Both are computed from what is not near 1, so that neither loses its digits.
    x, y = dof / (dof + squared), squared / (dof + squared)
    if y < _TINY:
        return 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(y)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, y) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction, by the method of Lentz."""
    c, d = 1.0, 1 / _off_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MOST_TERMS):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _off_zero(1 + factor * d)
            c = _off_zero(1 + factor / c)
            value *= c * d
        if abs(c * d - 1) < _EXACT:
            break
    return value


def _off_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


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


@dataclass(frozen=True, slots=True)
class Stratum:
    """Jobs that compare: how many there are, how many of them are marked, and how many of all and
    of the marked have the property tested."""

    jobs: int
    marked: int
    having: int
    both: int


def at_least(strata: Sequence[Stratum]) -> float:
    """The chance that as many marked jobs have it, or more, where marks fall on jobs at random.

    Fisher's exact test, one-sided (The Design of Experiments, 1935); over several strata the exact
    conditional test: the sum of their hypergeometric counts (Agresti, Categorical Data Analysis,
    3rd ed., 7.3.5).
    """
    seen = sum(stratum.both for stratum in strata)
    return min(math.fsum(_sum_of(strata)[seen:]), 1.0)


def least_possible(strata: Sequence[Stratum]) -> float:
    """The smallest chance that these numbers of jobs could give at all."""
    most = sum(min(stratum.marked, stratum.having) for stratum in strata)
    return _sum_of(strata)[most]


def expected(strata: Sequence[Stratum]) -> float:
    """How many marked jobs would have it by chance alone."""
    return math.fsum(
        stratum.marked * stratum.having / stratum.jobs for stratum in strata if stratum.jobs
    )


def _sum_of(strata: Sequence[Stratum]) -> list[float]:
    """The chance of each total of marked jobs that have it, from 0 on."""
    found = [1.0]
    for stratum in strata:
        own = _hypergeometric(stratum)
        both = [0.0] * (len(found) + len(own) - 1)
        for n, chance in enumerate(found):
            for m, other in enumerate(own):
                both[n + m] += chance * other
        found = both
    return found


def _hypergeometric(stratum: Stratum) -> list[float]:
    every = math.comb(stratum.jobs, stratum.having)
    return [
        math.comb(stratum.marked, k)
        * math.comb(stratum.jobs - stratum.marked, stratum.having - k)
        / every
        for k in range(min(stratum.marked, stratum.having) + 1)
    ]
