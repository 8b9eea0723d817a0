"""The worth of runs: expected improvement and information."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .intervals import END
from .similarity import Array

_DOUBT = 3.0  # factor on deviations of a fit: a few runs underestimate them
_CERTAIN = 1e-6  # the least deviation: an end may be the peak of the device
_TEACHES = 0.02  # worth of a reduction of all candidates' deviations, next to improvement


@dataclass(frozen=True, slots=True)
class ChosenCandidate:
    """A chosen candidate, and its information about others."""

    at: int
    narrows: float  # relative reduction of the others' deviations, weighted to those near the best
    most: int | None  # the candidate with the largest reduction
    narrows_most: float  # and its reduction


def order(
    mean: Array, covariance: Array, best: float, noise: float, fits: Array, most: int,
    wide: Array | None = None,
) -> list[ChosenCandidate]:  # fmt: skip
    """The candidates to run, the most valuable first.

    `mean` and `covariance` are of ln(cost), `best` is the least measured, `fits` the probability of
    each to have room. A run is worth its expected improvement (Jones, Schonlau and Welch, J. Global
    Optimization 13, 1998) and a share of the reduction of all candidates' deviations. Chosen runs
    count as measured at their mean (Ginsbourger, Le Riche and Carraro, 2010), so that the next
    gives other information. `wide`: the deviations by calibrated intervals, as rough as those of
    the fit when runs are few: the geometric mean of both counts.
    """
    doubt = np.full(len(mean), _DOUBT)
    if wide is not None:
        doubt = np.sqrt(_DOUBT * wide / np.sqrt(np.maximum(np.diag(covariance), 1e-12)))
    covariance = covariance * np.outer(doubt, doubt)
    chosen: list[ChosenCandidate] = []
    while len(chosen) < min(most, len(mean)):
        variance = np.maximum(np.diag(covariance), 1e-12)
        gain = expected_improvement(mean, np.sqrt(variance), best)
        # Deviations are weighted by closeness to the best: slow candidates may stay uncertain.
        weight = np.exp(-np.maximum(mean - best, 0) / 0.1)
        removed = covariance**2 / (variance + noise**2)[None, :]
        after = np.sqrt(np.maximum(variance[:, None] - removed, 0))
        taught = ((np.sqrt(variance)[:, None] - after) * weight[:, None]).sum(0) / weight.sum()
        value = fits * (gain + _TEACHES * taught)
        value[[worth.at for worth in chosen]] = -np.inf
        at = int(np.argmax(value))
        narrowing = _narrowing(at, np.sqrt(variance), after[:, at], weight)
        chosen.append(ChosenCandidate(at, *narrowing))
        best = min(best, float(mean[at]))
        column = covariance[:, at].copy()
        covariance -= np.outer(column, column) / (variance[at] + noise**2)
    return chosen


def _narrowing(
    at: int, before: Array, after: Array, weight: Array
) -> tuple[float, int | None, float]:
    """The reduction of the others' deviations by a run, and the candidate with the largest."""
    others = np.arange(len(before)) != at
    if not others.any():
        return 0.0, None, 0.0
    weight, fallen = weight * others, 1 - after / before
    most = int(np.argmax(fallen * weight))
    return float((fallen * weight).sum() / weight.sum()), most, float(fallen[most])


def beating(middle: float, ends: tuple[float, float], best: float) -> tuple[float, float]:
    """The expected gain of a run over the best, as ln, and the probability of one, by the 90%
    interval of its ln(cost): by the half of it that the best is in."""
    from scipy.stats import norm

    deviation = max(abs((ends[0] if best < middle else ends[1]) - middle) / END, _CERTAIN)
    gain = expected_improvement(np.array([middle]), np.array([deviation]), best)[0]
    return float(gain), float(norm.cdf((best - middle) / deviation))


def expected_improvement(mean: Array, deviation: Array, best: float) -> Array:
    """The mean improvement of each over the best."""
    from scipy.stats import norm

    z = (best - mean) / deviation
    gain: Array = (best - mean) * norm.cdf(z) + deviation * norm.pdf(z)
    return gain


def worth_repeating(mean: Array, variance: Array, noise: float) -> Array:
    """The expected improvement of the choice among measured configurations after one more job of
    each: the knowledge gradient (Frazier, Powell and Dayanik, SIAM J. Control Optim. 47, 2008)."""
    from scipy.stats import norm

    if len(mean) < 2:
        return np.zeros(len(mean))
    moved = variance / np.sqrt(variance + noise**2)
    others = np.array([mean[rival(mean, at)] for at in range(len(mean))])
    z = -np.abs(mean - others) / moved
    gain: Array = moved * (norm.pdf(z) + z * norm.cdf(z))
    return gain


def rival(mean: Array, at: int) -> int:
    """The best of the others; itself if it is alone."""
    others = np.where(np.arange(len(mean)) == at, np.inf, mean)
    return int(np.argmin(others)) if len(mean) > 1 else at
