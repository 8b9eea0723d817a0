"""The statistics of few jobs: how often nothing is called something, and how often something is
found."""

from __future__ import annotations

import math
import random
from itertools import combinations

import pytest
from scipy.stats import binomtest, t

from bench.decide.distributions import rank_shift, t_shift
from bench.decide.spreads import Spread, modes
from bench.decide.statistics import critical_difference, effect, exact_rank_p

DRAWS = 3000


def jobs(rng: random.Random, n: int, slower: float = 0.0) -> list[float]:
    """Times of jobs that vary by 1%."""
    return [10 * math.exp(rng.gauss(slower, 0.01)) for _ in range(n)]


def spread(rng: random.Random, freedom: int) -> Spread:
    """The spread as so many repeats would tell it."""
    squares = sum(rng.gauss(0, 0.01) ** 2 for _ in range(freedom))
    return Spread(math.sqrt(squares / freedom), freedom, (), "")


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 2), (3, 3), (1, 3), (3, 8)])
def test_no_effect_is_called_one_in_five_of_a_hundred(n: int, m: int) -> None:
    rng = random.Random(10 * n + m)
    found = 0
    for _ in range(DRAWS):
        p = effect(jobs(rng, n), jobs(rng, m), spread(rng, 6)).p
        found += p is not None and p < 0.05
    assert 0.04 < found / DRAWS < 0.06, found / DRAWS


@pytest.mark.parametrize(("n", "m", "level"), [(4, 4, 0.05), (5, 5, 0.05), (8, 8, 0.005)])
def test_what_could_be_seen_is_found_four_times_in_five(n: int, m: int, level: float) -> None:
    rng = random.Random(n)
    shift = rank_shift(n, m, level, 0.8)
    assert shift is not None
    found = 0
    for number in range(DRAWS):
        before, after = jobs(rng, n, 0.01 * shift), jobs(rng, m)
        p = exact_rank_p(before, after)
        if number < 20:  # this p is what an effect has; its bootstrap takes ten times as long
            assert effect(before, after, None).p == p
        found += p < level
    assert binomtest(found, DRAWS, 0.8).pvalue > 1e-3, found / DRAWS


def test_the_power_of_t_is_that_of_the_noncentral_distribution() -> None:
    assert t_shift(1, 0.05, 0.8) == pytest.approx(16.3, abs=0.1)
    assert t_shift(1000, 0.05, 0.8) == pytest.approx(2.80, abs=0.01)
    assert rank_shift(3, 3, 0.05, 0.8) is None  # no test of 3 against 3 reaches 5%


def test_tied_times_are_tested_exactly() -> None:
    """All ways to deal the jobs to two sides, counted here, with a sum of ranks."""
    for a, b in (([20.0] * 4, [21.0] * 4), ([20.0, 20.0, 21.0, 21.0], [21.0, 21.0, 22.0, 22.0])):
        every = [*a, *b]

        def wins(of: tuple[int, ...], every: list[float] = every) -> float:
            rest = [every[at] for at in range(8) if at not in of]
            return sum((every[at] > x) + (every[at] == x) / 2 for at in of for x in rest)

        told = [wins(of) for of in combinations(range(8), 4)]
        mine = wins((0, 1, 2, 3))
        least = sum(one <= mine for one in told) / len(told)
        assert effect(a, b, None).p == pytest.approx(min(2 * least, 1.0))


def test_more_jobs_do_not_average_digits_away() -> None:
    """19 s and 20 s in whole seconds may both be 19.5 s."""
    digits = 0.5 / 19 + 0.5 / 20
    for n in (1, 3, 5, 8):
        known = Spread(0.001, 8, (), "")
        found = effect([19.0] * n, [20.0] * n, known, digits)
        assert found.p is not None and found.p > 0.05
        assert found.low is not None and found.high is not None
        assert found.low < 19 / 20 < found.high and found.high >= 0.999


def test_a_critical_difference_is_that_of_student() -> None:
    known = Spread(0.01, 5, (), "")
    expected = math.expm1(float(t.isf(0.025, 5)) * 0.01 * math.sqrt(2))
    assert critical_difference(known) == pytest.approx(expected)


def test_two_speeds_among_many_jobs_are_found_fast() -> None:
    rng = random.Random(4)
    times = [*jobs(rng, 3000), *jobs(rng, 2000, 0.15)]
    found = modes(times)
    assert found is not None and found.slow == tuple(sorted(found.slow, key=times.__getitem__))
    assert set(found.slow) == set(range(3000, 5000))
