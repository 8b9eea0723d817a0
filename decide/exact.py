"""Exact tests of counts: whether something is among the slow, or failed, more often than chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


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
