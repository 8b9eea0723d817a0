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
    seen = sum(one.both for one in strata)
    return min(math.fsum(_sum_of(strata)[seen:]), 1.0)


def least_possible(strata: Sequence[Stratum]) -> float:
    """The smallest chance that these numbers of jobs could give at all."""
    most = sum(min(one.marked, one.having) for one in strata)
    return _sum_of(strata)[most]


def expected(strata: Sequence[Stratum]) -> float:
    """How many marked jobs would have it by chance alone."""
    return math.fsum(one.marked * one.having / one.jobs for one in strata if one.jobs)


def _sum_of(strata: Sequence[Stratum]) -> list[float]:
    """The chance of each total of marked jobs that have it, from 0 on."""
    found = [1.0]
    for one in strata:
        own = _hypergeometric(one)
        both = [0.0] * (len(found) + len(own) - 1)
        for n, chance in enumerate(found):
            for m, other in enumerate(own):
                both[n + m] += chance * other
        found = both
    return found


def _hypergeometric(one: Stratum) -> list[float]:
    every = math.comb(one.jobs, one.having)
    return [
        math.comb(one.marked, k) * math.comb(one.jobs - one.marked, one.having - k) / every
        for k in range(min(one.marked, one.having) + 1)
    ]
