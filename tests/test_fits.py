"""Fits of scaling laws: how often their intervals hold the truth, and which law is taken."""

from __future__ import annotations

import numpy
import pytest

from bench.decide.fits import chance, fits, likeliest

XS = [1, 2, 4, 8, 16, 32, 64]
NOISE = 0.03  # of every measurement, of the base too


def inverse(x: float, alpha: float, beta: float) -> float:
    return 1 + alpha * (x - 1) + beta * x * (x - 1)


@pytest.mark.slow
@pytest.mark.parametrize(("law", "alpha", "beta"), [("Amdahl", 0.01, 0.0), ("USL", 0.01, 1e-4)])
def test_intervals_hold_the_truth_as_often_as_they_say(law: str, alpha: float, beta: float) -> None:
    """95% of 150 draws, within three standard errors of that count: 89% or more."""
    rng = numpy.random.default_rng(1)
    hits = numpy.zeros(3)
    for _ in range(150):
        true = numpy.array([inverse(x, alpha, beta) for x in XS])
        took = true * numpy.exp(rng.normal(0, NOISE, len(XS)))
        fit = next(one for one in fits(XS, list(took[0] / took)) if one.law == law)
        low, high = fit.predicted(128)
        new = took[0] / (inverse(128, alpha, beta) * numpy.exp(rng.normal(0, NOISE)))
        hits += [
            fit.alpha_range[0] <= alpha <= fit.alpha_range[1],
            fit.beta_range[0] <= beta <= fit.beta_range[1],
            low <= new <= high,
        ]
    assert min(hits / 150) >= 0.89, hits / 150


def test_a_slow_base_does_not_bend_the_law() -> None:
    """The base alone took 5% longer than the law says: alpha is that of all the others."""
    took = numpy.array([inverse(x, 0.01, 0) for x in XS])
    took[0] *= 1.05
    fit = fits(XS, list(took[0] / took))[0]
    assert fit.alpha == pytest.approx(0.01, rel=0.25) and fit.base < 0.98
    assert fit.efficiency(64) == pytest.approx(took[0] / took[-1], rel=0.03)


def test_the_law_of_fewer_parameters_is_taken_unless_the_other_tells_more() -> None:
    rng = numpy.random.default_rng(2)
    for beta, law in ((0.0, "Amdahl"), (2e-3, "USL")):
        took = numpy.array([inverse(x, 0.01, beta) for x in XS])
        took *= numpy.exp(rng.normal(0, 0.01, len(XS)))
        best = likeliest(fits(XS, list(took[0] / took)))
        assert best is not None and best.law == law
    took = numpy.array([inverse(x, 0.01, 2e-3) for x in XS[:4]])
    took *= numpy.exp(rng.normal(0, 0.02, 4))
    few = likeliest(fits(XS[:4], list(took[0] / took)))
    assert few is not None and few.law == "Amdahl", "noise hides so little of the second parameter"


def test_five_sizes_tell_of_three_parameters_where_the_plain_law_misses_them() -> None:
    """Times of 4 to 64 nodes that the universal law meets to 0.04%, Amdahl's to 2.2%."""
    took = [40.0, 20.36, 10.6, 5.88, 3.8]
    shares = [took[0] / time / x for time, x in zip(took, XS[:5], strict=True)]
    plain, richer = laws = fits(XS[:5], shares, grain=0.0005)
    best = likeliest(laws)
    assert best is richer and chance(plain, richer) < 0.01
    low, high = richer.predicted(32)
    assert low < 40 / 3.34 / 32 < high, "3.34 s on 128 nodes, by another program's fit"


@pytest.mark.slow
def test_a_parameter_that_is_not_there_is_seldom_taken() -> None:
    rng = numpy.random.default_rng(3)
    wrong = 0
    for _ in range(100):
        took = numpy.array([inverse(x, 0.01, 0) * numpy.exp(rng.normal(0, NOISE)) for x in XS])
        best = likeliest(fits(XS, list(took[0] / took)))
        wrong += best is not None and best.law == "USL"
    assert wrong <= 0.05 * 100 + 3 * (100 * 0.05 * 0.95) ** 0.5
