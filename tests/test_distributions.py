"""Student's t, the noncentral t and signed ranks, against scipy."""

from __future__ import annotations

from random import Random

import pytest
from scipy.special import fdtrc, nctdtr, stdtr, stdtrit
from scipy.stats import wilcoxon

from bench.decide.distributions import noncentral_t_tail, signed_rank_p, t_quantile, t_tail

DOFS = (1, 2, 3, 4, 5, 7, 10, 33, 300, 5000)
LEVELS = (0.05, 0.01, 1e-3, 1e-4, 1e-6)


@pytest.mark.parametrize("dof", DOFS)
def test_tails_keep_their_digits(dof: int) -> None:
    for t in (0, 0.01, 0.3, 1, 2, 3.7, 9, 40, 300):
        assert t_tail(dof, t) == pytest.approx(2 * float(stdtr(dof, -t)), rel=1e-9, abs=1e-280)
        assert t_tail(dof, t) == pytest.approx(float(fdtrc(1, dof, t * t)), rel=1e-9, abs=1e-280)


@pytest.mark.parametrize("dof", DOFS)
def test_quantiles(dof: int) -> None:
    for share in (0.6, 0.9, *(1 - level / 2 for level in LEVELS)):
        assert t_quantile(share, dof) == pytest.approx(float(stdtrit(dof, share)), rel=1e-9)
    assert t_quantile(0.5, dof) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("dof", DOFS)
def test_the_noncentral_tail_at_what_a_test_detects(dof: int) -> None:
    for level in LEVELS[:-1]:
        edge = t_quantile(1 - level / 2, dof)
        for delta in (0.0, 0.5 * edge, edge, 1.2 * edge, 1.5 * edge):
            told = 1 - float(nctdtr(dof, delta, edge))
            assert noncentral_t_tail(dof, delta, edge) == pytest.approx(told, abs=1e-5)


@pytest.mark.parametrize("count", [51, 200, 3000])
@pytest.mark.parametrize("digits", [1, 2, 12])
@pytest.mark.parametrize("middle", [0.0, 0.1, 1.0])
def test_signed_ranks_are_those_of_scipy(count: int, digits: int, middle: float) -> None:
    chance = Random(count)
    # Of one digit many are equal, and some zero.
    shifts = [round(chance.gauss(middle, 1), digits) for _ in range(count)]
    theirs = float(wilcoxon(shifts).pvalue)
    assert signed_rank_p(shifts) == pytest.approx(theirs, rel=1e-9, abs=1e-280)
