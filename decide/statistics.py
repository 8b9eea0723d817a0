"""Two groups of jobs against each other: how large the difference is, and whether it is one.

All in ln(seconds a token), so that a difference is a ratio. scipy is imported where it is needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import mean, median, stdev

from ..reports.format import number, significant
from .jobs import Spread

LEVEL = 0.05
POWER = 0.8
UNKNOWN = "cannot tell this from the spread between jobs"
ENOUGH = 4  # jobs a side: below, no rank test can reach 5% (4 against 4: p = 0.029)
RESAMPLES = 4000
_SEED = 20200101  # of the bootstrap, so that the same jobs give the same interval


@dataclass(frozen=True, slots=True)
class Effect:
    """The second group against the first: `speedup` > 1 where the second is faster.

    `low`, `high`: 95% interval of it. `error`, `freedom`: the standard error of ln(speed-up) and
    its degrees of freedom. `seen`: the smallest change, as a share, that would have been detected 4
    times in 5, among all pairs. `p` and `q` (Benjamini-Hochberg, over `pairs`) are None where jobs
    tell nothing.
    """

    speedup: float
    low: float | None
    high: float | None
    p: float | None
    seen: float | None
    method: str
    floor: float = 0.0  # the least p that so many jobs can reach
    q: float | None = None
    pairs: int = 1
    error: float = 0.0
    freedom: int = 0
    confounded: bool = False

    @property
    def verdict(self) -> str:
        """What can be said of the difference."""
        if self.confounded:
            return "more differs: no effect of it alone"
        if self.p is None:
            return UNKNOWN
        if (self.p if self.q is None else self.q) < LEVEL:
            return "faster" if self.speedup > 1 else "slower"
        if self.p < LEVEL:  # of many pairs, some look so by chance
            way = "faster" if self.speedup > 1 else "slower"
            return f"{way} alone (p = {self.p:.2g}), not sure among {self.pairs} pairs"
        if self.seen is None:
            jobs = _jobs_for(self.pairs)
            return f"no detectable change (one of {self.pairs} pairs needs {jobs} jobs a side)"
        seen = 100 * self.seen
        told = significant(seen, 2) if seen < 100 else number(seen, 0)
        return f"no detectable change (could see >= {told}%)"


def effect(before: Sequence[float], after: Sequence[float], known: Spread | None) -> Effect:
    """The effect between two groups of jobs, in seconds a token of each job's median.

    `known` is the spread between jobs, theirs or of other repeats: it decides where a side has
    fewer than ENOUGH jobs.
    """
    a, b = [math.log(x) for x in before], [math.log(x) for x in after]
    shift = median(a) - median(b)
    if min(len(a), len(b)) >= ENOUGH:
        return _ranks(a, b, shift)
    if known is None:
        return Effect(math.exp(shift), None, None, None, None, "one job, spread not known")
    return _by_spread(len(a), len(b), shift, known)


def limit(known: Spread, n: int = 1, m: int = 1) -> float:
    """The difference, as a share, that the medians of n and m jobs of one configuration exceed in
    5 of 100 cases: by Student's t, since the spread itself is known from few repeats."""
    about = _quantile(1 - LEVEL / 2, known.freedom) * known.deviation
    return math.expm1(about * math.sqrt(1 / n + 1 / m))


def untested(before: Sequence[float], after: Sequence[float]) -> Effect:
    """The ratio of two groups that differ in more than what is compared."""
    shift = median(before) / median(after)
    return Effect(shift, None, None, None, None, "not tested", confounded=True)


def corrected(effects: Sequence[Effect]) -> list[Effect]:
    """The effects with q, the p of Benjamini and Hochberg over all of them."""
    tested = [one.p for one in effects if one.p is not None]
    if not tested:
        return list(effects)
    from scipy.stats import false_discovery_control

    qs = iter(false_discovery_control(tested, method="bh").tolist())
    return [
        one
        if one.p is None
        else replace(one, q=next(qs), pairs=len(tested), seen=_alone(one, len(tested)))
        for one in effects
    ]


def _alone(one: Effect, count: int) -> float | None:
    """The smallest change seen of one pair among so many, which has to pass LEVEL / count; None
    where too few jobs could show one at all."""
    if one.floor * count > LEVEL:
        return None
    return _seen(one.error, one.freedom, LEVEL / count) if one.freedom else one.seen


def _jobs_for(pairs: int) -> int:
    """The least number of jobs a side of which a rank test can tell one of so many pairs."""
    jobs = ENOUGH
    while 2 / math.comb(2 * jobs, jobs) * pairs > LEVEL:
        jobs += 1
    return jobs


def over_configurations(shifts: Sequence[float]) -> float | None:
    """p of paired jobs over configurations, by Wilcoxon's signed ranks; None below 5 pairs."""
    if len(shifts) < ENOUGH + 1 or not any(shifts):
        return None
    from scipy.stats import wilcoxon

    return float(wilcoxon(shifts).pvalue)


def variation(values: Sequence[float]) -> float | None:
    """The coefficient of variation of jobs, None for one."""
    return stdev(values) / mean(values) if len(values) > 1 else None


def _ranks(a: Sequence[float], b: Sequence[float], shift: float) -> Effect:
    """Enough jobs: a rank test, and a bootstrap of the ratio of medians."""
    import numpy
    from scipy.stats import bootstrap, mannwhitneyu

    p = float(mannwhitneyu(a, b).pvalue)
    low = high = math.exp(shift)
    if len({*a}) > 1 or len({*b}) > 1:
        found = bootstrap(
            (a, b),
            lambda x, y, axis: numpy.median(x, axis=axis) - numpy.median(y, axis=axis),
            n_resamples=RESAMPLES, method="percentile", rng=numpy.random.default_rng(_SEED),
        )  # fmt: skip
        low, high = (math.exp(float(end)) for end in found.confidence_interval)
    squares = sum((x - mean(one)) ** 2 for one in (a, b) for x in one)
    freedom = len(a) + len(b) - 2
    error = math.sqrt(squares / freedom * (1 / len(a) + 1 / len(b)))
    least = 2 / math.comb(len(a) + len(b), len(a))
    return Effect(
        math.exp(shift), low, high, p, _seen(error, freedom), "rank test, bootstrap", least,
        error=error, freedom=freedom,
    )  # fmt: skip


def _by_spread(n: int, m: int, shift: float, known: Spread) -> Effect:
    """Few jobs: Student's t with the spread that repeats show."""
    from scipy.special import stdtr

    error = known.deviation * math.sqrt(1 / n + 1 / m)
    if not error:
        return Effect(math.exp(shift), None, None, None, None, "repeats without spread")
    p = 2 * float(stdtr(known.freedom, -abs(shift) / error))
    about = _quantile(1 - LEVEL / 2, known.freedom) * error
    return Effect(
        math.exp(shift), math.exp(shift - about), math.exp(shift + about), p,
        _seen(error, known.freedom), "spread of repeats, t test",
        error=error, freedom=known.freedom,
    )  # fmt: skip


def _seen(error: float, freedom: int, level: float = LEVEL) -> float:
    """The smallest change that is detected with this power, at a level of significance."""
    quantiles = _quantile(1 - level / 2, freedom) + _quantile(POWER, freedom)
    return math.expm1(quantiles * error)


def _quantile(share: float, freedom: int) -> float:
    """The quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, share))
