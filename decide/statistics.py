"""Two groups of jobs against each other: how large the difference is, and whether it is one.

All in ln(seconds a token), so that a difference is a ratio. scipy is imported where it is needed.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import mean, median, stdev

from ..vocabulary.format import significant
from .distributions import rank_shift, signed_rank_p, t_quantile, t_shift, t_tail
from .provenance import Derivation, Number, input_number
from .spreads import Spread

LEVEL = 0.05
POWER = 0.8
_ENOUGH_PAIRS = 6  # below, no signed-rank test can reach 5% (6 pairs: p = 0.031)
_MANY_PAIRS = 50  # beyond, scipy takes the normal approximation, which needs no scipy
_FEW = 8  # jobs of the smaller side up to which untied times are tested exactly, as scipy does
_MOST_WAYS = 20_000  # in which jobs are dealt to two sides, for an exact test of tied times
UNKNOWN = "not tested: no repeats"
ENOUGH = 4  # jobs a side: below, no rank test can reach 5% (4 against 4: p = 0.029)
RESAMPLES = 4000
_SEED = 20200101  # of the bootstrap, so that the same jobs give the same interval


@dataclass(frozen=True, slots=True)
class Effect:
    """The second group against the first: `speedup` > 1 where the second is faster.

    `low`, `high`: 95% interval of it. Of a t test `error` and `dof` are the standard error of
    ln(speed-up) and its degrees of freedom; of a rank test `jobs` and `deviation` are the jobs a
    side and their deviation. `rounding` is what printed digits could make. `seen`: the smallest
    change, as a share, that would have been detected 4 times in 5, among all pairs. `p` and `q`
    (Benjamini-Hochberg, over `pairs`) are None if no test was possible.
    """

    speedup: float
    low: float | None
    high: float | None
    p: float | None
    detectable: float | None
    method: str
    floor: float = 0.0  # the least p that so many jobs can reach
    q: float | None = None
    pairs: int = 1
    error: float = 0.0
    dof: int = 0
    jobs: tuple[int, int] = (0, 0)
    deviation: float = 0.0
    rounding: float = 0.0
    confounded: bool = False

    @property
    def verdict(self) -> str:
        """The verdict on the difference."""
        if self.confounded:
            return "more differs: no effect of it alone"
        if self.p is None:
            return UNKNOWN
        if (self.p if self.q is None else self.q) < LEVEL:
            return "faster" if self.speedup > 1 else "slower"
        # A reader who sees an interval without 1 in it wants to know why it does not count.
        if self.p < LEVEL:  # of many pairs, some look so by chance
            way = "faster" if self.speedup > 1 else "slower"
            return f"{way}, not significant among {self.pairs} pairs (p = {self.p:.2g} alone)"
        if self.detectable is None:
            jobs = _jobs_for(self.pairs)
            return f"not significant: one of {self.pairs} pairs needs {jobs} jobs a side"
        # Twice the time is no threshold that a reader can use: the jobs are too few.
        if self.detectable >= 1:
            return "not significant: too few repeats"
        return f"not significant: only {significant(100 * self.detectable, 2)}% or more would be"


def effect(
    before: Sequence[float], after: Sequence[float], known: Spread | None, rounding: float = 0.0
) -> Effect:
    """The effect between two groups of jobs, in seconds a token of each job's median.

    `known` is the spread between jobs, theirs or of other repeats: it decides where a side has
    fewer than ENOUGH jobs. `rounding` is the part of a difference, in ln, that printed digits alone
    could make: more jobs do not average it away, so it is taken off what is tested.
    """
    shift = _shift(before, after)
    if _enough(before, after):
        return _ranks(before, after, shift, rounding)
    if known is None:
        return Effect(math.exp(shift), None, None, None, None, "one job, spread not known")
    return _by_spread(len(before), len(after), shift, known, rounding)


def separates(
    before: Sequence[float], after: Sequence[float], known: Spread | None, rounding: float = 0.0
) -> bool | None:
    """Whether the test of `effect` finds a difference, without computing the rest; None if there
    is no spread to test by."""
    if _enough(before, after):
        p = _nudged_p(before, after, _shift(before, after), rounding)
        return p < LEVEL
    error = _error(known, len(before), len(after)) if known else 0.0
    if known is None or not error:
        return None
    beyond = max(abs(_shift(before, after)) - rounding, 0) / error
    # The fewer degrees of freedom, the larger the quantile: two of a few bound it, most times.
    wide = 1 << known.dof.bit_length() - 1
    for dof, apart in ((2 * wide, False), (wide, True)):
        if (beyond > t_quantile(1 - LEVEL / 2, dof)) is apart:
            return apart
    return beyond > t_quantile(1 - LEVEL / 2, known.dof)


def _shift(before: Sequence[float], after: Sequence[float]) -> float:
    return math.log(median(before)) - math.log(median(after))


def _enough(before: Sequence[float], after: Sequence[float]) -> bool:
    """With enough jobs their spread decides, without assuming a distribution; with fewer, only
    repeats elsewhere show how far jobs of one configuration lie apart."""
    return min(len(before), len(after)) >= ENOUGH


def critical_difference(known: Spread, jobs: int = 1) -> float:
    """The difference, as a share, that one job and the median of `jobs` of its configuration exceed
    in 5 of 100 cases: by Student's t, since the spread itself is known from few repeats."""
    return math.expm1(t_quantile(1 - LEVEL / 2, known.dof) * _error(known, jobs, 1))


def critical_number(known: Spread, jobs: int) -> Number:
    """The critical difference of one job and the median of `jobs`, and how it was made."""
    variance = "1 / jobs" if jobs < 3 else "(pi / 2) / (jobs + pi / 2 - 1)"
    derivation = Derivation(
        expression=f"exp(t x deviation x sqrt({variance} + 1)) - 1",
        inputs=(known.number, input_number("jobs", jobs, note="measured of the first")),
        unit="of the time",
        title="95 in 100 differences between jobs of one configuration are less",
        counts=f"t: of Student at {1 - LEVEL / 2} with {known.dof} degrees of freedom",
    )
    return Number("critical_difference", critical_difference(known, jobs), derivation)


def _error(known: Spread, n: int, m: int) -> float:
    """The standard error of the difference of two medians."""
    return known.deviation * math.sqrt(_of_median(n) + _of_median(m))


def _of_median(n: int) -> float:
    """The variance of the median of n normal values over that of one; exact for one and two.

    (pi / 2) / (n + pi / 2 - 1), within 2% for odd n and above it for even n (against the integrals
    of order statistics).
    """
    return 1 / n if n < 3 else (math.pi / 2) / (n + math.pi / 2 - 1)


def smallest_detectable(one: Effect, level: float) -> float | None:
    """The smallest change, as a share, that would have been detected with POWER at a level of
    significance; None where so few jobs could show none."""
    if one.dof:
        shift: float | None = one.error * t_shift(one.dof, level, POWER)
    else:
        found = rank_shift(*one.jobs, level, POWER)
        shift = None if found is None else one.deviation * found
    return None if shift is None else math.expm1(shift + one.rounding)


def untested(before: Sequence[float], after: Sequence[float]) -> Effect:
    """The ratio of two groups that differ in more than what is compared."""
    shift = median(before) / median(after)
    return Effect(shift, None, None, None, None, "not tested", confounded=True)


def corrected(effects: Sequence[Effect]) -> list[Effect]:
    """The effects with q, the p of Benjamini and Hochberg over all of them."""
    tested = [one.p for one in effects if one.p is not None]
    if not tested:
        return list(effects)
    qs = iter(false_discovery(tested))
    return [
        one
        if one.p is None
        else replace(
            one, q=next(qs), pairs=len(tested), detectable=_detectable_among(one, len(tested))
        )
        for one in effects
    ]


def false_discovery(ps: Sequence[float]) -> list[float]:
    """Each p as the rate of false discoveries among all that are as small: of the i-th smallest of
    m the least of p m / i from there on (Benjamini and Hochberg 1995, procedure (1))."""
    ranks = sorted(range(len(ps)), key=ps.__getitem__)
    found, least = [1.0] * len(ps), 1.0
    for i in range(len(ps), 0, -1):
        at = ranks[i - 1]
        least = min(least, ps[at] * (len(ps) / i))
        found[at] = least
    return found


def _detectable_among(one: Effect, count: int) -> float | None:
    """The smallest change seen of one pair among so many, which has to pass LEVEL / count; None
    where the jobs are too few for any."""
    # Bonferroni, though q is of Benjamini and Hochberg: what one pair needs there hangs on the
    # others, and this bound holds whatever they are.
    return None if one.floor * count > LEVEL else smallest_detectable(one, LEVEL / count)


def _jobs_for(pairs: int) -> int:
    """The least number of jobs a side for a rank test to be significant in one of so many pairs."""
    jobs = ENOUGH
    while 2 / math.comb(2 * jobs, jobs) * pairs > LEVEL:
        jobs += 1
    return jobs


def over_configurations(shifts: Sequence[float]) -> float | None:
    """p of paired jobs over configurations, by Wilcoxon's signed ranks; None below 6 pairs, of
    which none could reach 5%."""
    if len(shifts) < _ENOUGH_PAIRS or not any(shifts):
        return None
    if len(shifts) > _MANY_PAIRS:
        return signed_rank_p(shifts)
    from scipy.stats import wilcoxon

    return float(wilcoxon(shifts).pvalue)


def variation(values: Sequence[float]) -> float | None:
    """The coefficient of variation of jobs, None for one."""
    return stdev(values) / mean(values) if len(values) > 1 else None


def _ranks(
    before: Sequence[float], after: Sequence[float], shift: float, rounding: float
) -> Effect:
    """Enough jobs: a rank test, and a bootstrap of the ratio of medians."""
    import numpy
    from scipy.stats import bootstrap

    a, b = ([math.log(x) for x in side] for side in (before, after))
    low = high = shift
    if len({*a}) > 1 or len({*b}) > 1:
        # Of medians, since one slow node makes a long tail.
        found = bootstrap(
            (a, b),
            lambda x, y, axis: numpy.median(x, axis=axis) - numpy.median(y, axis=axis),
            n_resamples=RESAMPLES, method="percentile", rng=numpy.random.default_rng(_SEED),
        )  # fmt: skip
        low, high = (float(end) for end in found.confidence_interval)
    middles = [mean(one) for one in (a, b)]
    squares = sum((x - at) ** 2 for one, at in zip((a, b), middles, strict=True) for x in one)
    deviation = math.sqrt(squares / (len(a) + len(b) - 2))
    least = 2 / math.comb(len(a) + len(b), len(a))
    made = Effect(
        math.exp(shift), math.exp(low - rounding), math.exp(high + rounding),
        _nudged_p(before, after, shift, rounding), None, "rank test, bootstrap", least,
        jobs=(len(a), len(b)), deviation=deviation, rounding=rounding,
    )  # fmt: skip
    return replace(made, detectable=smallest_detectable(made, LEVEL))


def _nudged_p(
    before: Sequence[float], after: Sequence[float], shift: float, rounding: float
) -> float:
    """p of the rank test of ln(time), the sides moved together by what rounding could have made,
    which is granted to chance."""
    a, b = ([math.log(x) for x in side] for side in (before, after))
    nearer = math.copysign(min(rounding, abs(shift)), shift)
    return _rank_p(a, [x + nearer for x in b])


def _rank_p(a: Sequence[float], b: Sequence[float]) -> float:
    """p of the rank test of Mann and Whitney: exact, with ties over all ways to deal the jobs to
    the sides (Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 4.1); of many jobs
    the normal approximation."""
    tied = len({*a, *b}) < len(a) + len(b)
    # The exact p of scipy allows no ties, its asymptotic one wants many jobs; printed times tie.
    few = math.comb(len(a) + len(b), len(a)) <= _MOST_WAYS
    if few or (not tied and min(len(a), len(b)) <= _FEW):
        return exact_rank_p(a, b)
    from scipy.stats import mannwhitneyu

    return float(mannwhitneyu(a, b).pvalue)


def exact_rank_p(a: Sequence[float], b: Sequence[float]) -> float:
    """The exact p of the rank test, two-sided; counted here since an import of scipy.stats takes
    longer than an answer. tests/test_ties.py compares the two."""
    pooled = sorted([*a, *b])
    # Twice the middle rank of equal values is a whole number.
    ranks = [bisect_left(pooled, x) + bisect_right(pooled, x) + 1 for x in pooled]
    ways: list[Counter[int]] = [Counter({0: 1}), *(Counter() for _ in a)]
    for rank in ranks:
        for size in range(len(a), 0, -1):
            for total, count in ways[size - 1].items():
                ways[size][total + rank] += count
    seen_sum = sum(bisect_left(pooled, x) + bisect_right(pooled, x) + 1 for x in a)
    below = sum(count for total, count in ways[-1].items() if total <= seen_sum)
    above = sum(count for total, count in ways[-1].items() if total >= seen_sum)
    return min(2 * min(below, above) / math.comb(len(pooled), len(a)), 1.0)


def _by_spread(n: int, m: int, shift: float, known: Spread, rounding: float) -> Effect:
    """Few jobs: Student's t with the spread that repeats show."""
    error = _error(known, n, m)
    if not error:
        return Effect(math.exp(shift), None, None, None, None, "repeats without spread")
    p = t_tail(known.dof, max(abs(shift) - rounding, 0) / error)
    about = t_quantile(1 - LEVEL / 2, known.dof) * error + rounding
    made = Effect(
        math.exp(shift), math.exp(shift - about), math.exp(shift + about), p, None,
        "spread of repeats, t test", error=error, dof=known.dof, rounding=rounding,
    )  # fmt: skip
    return replace(made, detectable=smallest_detectable(made, LEVEL))
