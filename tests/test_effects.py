"""What is said of few jobs: effects, their certainty, and two speeds of one configuration."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.decide.spreads import Spread, modes
from bench.decide.statistics import corrected, effect


def test_no_effect_is_called_one_twice_in_a_hundred_at_most() -> None:
    rng = random.Random(1)
    known = Spread(0.01, 30, (), "")
    found = []
    for n in (1, 2, 5):
        for _ in range(60):
            a, b = ([rng.lognormvariate(0, 0.01) for _ in range(n)] for _ in range(2))
            found.append(effect(a, b, known))
    named = [one.verdict for one in corrected(found)]
    assert sum(verdict in ("faster", "slower") for verdict in named) <= 3
    assert any("or more would be" in verdict for verdict in named)


def test_normal_jobs_are_seldom_bimodal_and_two_speeds_are() -> None:
    rng = random.Random(2)
    for n in (5, 8, 12):
        normal = [modes([rng.gauss(10, 0.1) for _ in range(n)]) for _ in range(300)]
        assert sum(one is not None for one in normal) <= 10
    two = modes([10.0, 12.0, 10.1, 12.1, 10.05])
    assert two is not None and (two.fast, two.slow) == ((0, 4, 2), (1, 3))


@given(st.lists(st.floats(0.1, 1e4), min_size=1, max_size=6), st.floats(0.5, 2))
def test_an_effect_is_the_ratio_of_medians(times: list[float], factor: float) -> None:
    found = effect(times, [time * factor for time in times], None)
    assert found.speedup == pytest.approx(1 / factor)
    assert found.low is None or found.low <= found.speedup * (1 + 1e-9)
