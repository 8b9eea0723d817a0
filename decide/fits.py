"""How rates grow with devices: Amdahl's law and the universal scalability law, with intervals.

With x = devices over those of the base point and e the efficiency against it,
1 / e = c (1 + alpha (x - 1) + beta x (x - 1)), alpha and beta at least 0 (Gunther, "A General
Theory of Computational Scalability", arXiv 0808.1431). Amdahl: beta = 0, alpha the serial share.
c is what the base took at the law's rate over what it took: its measurement is no surer than
others. How often the intervals hold the truth is measured in tests/test_fits.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

DRAWS = 2000
_SEED = 20200101  # so that the same points give the same interval
_ENDS = (0.025, 0.975)
_MISSES = 0.10
_PARAMETERS = {"Amdahl": 2, "USL": 3}  # with the base's rate
_CHANCE = 0.05
_NOTHING = 1e-9  # a parameter below is what arithmetic leaves of 0
Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted law; errors are shares of the measured. `base`: c. `squares`: the sum of squared
    errors, no less than rounding makes. `draws`: (c, alpha, beta, noise) of refits."""

    law: str
    alpha: float
    beta: float
    alpha_range: Range
    beta_range: Range
    rms: float
    worst: float
    points: int
    base: float
    squares: float
    draws: tuple[tuple[float, float, float, float], ...]

    @property
    def misses(self) -> bool:
        """Whether a point is missed by so much that its base may be none of the law's."""
        return self.worst > _MISSES

    def efficiency(self, x: float) -> float:
        """The efficiency at x times the base devices, against the base as measured."""
        return 1 / (self.base * _inverse(x, self.alpha, self.beta))

    def predicted(self, x: float) -> Range:
        """The 95% interval of a new measurement's efficiency at x; no law has one above 1 / c."""
        found = [1 / (c * max(_inverse(x, a, b) * (1 + e), 1.0)) for c, a, b, e in self.draws]
        return _interval(found)


def fits(xs: Sequence[float], efficiencies: Sequence[float], grain: float = 0.0) -> list[Fit]:
    """Amdahl's law from 3 points on, the universal one from 4 on; the first x is 1, the base.

    `grain` is the deviation that rounding gives the efficiencies, as a share: a fit that meets
    rounded values exactly is no surer than they are.
    """
    return [
        _fit(law, xs, efficiencies, count - 1, grain)
        for law, count in _PARAMETERS.items()
        if len(xs) > count
    ]


def likeliest(laws: Sequence[Fit]) -> Fit | None:
    """The law with more parameters where the errors of the other are larger than chance makes
    them: the F test of nested laws, with errors normal."""
    best: Fit | None = None
    for law in laws:
        if best is None or chance(best, law) < _CHANCE:
            best = law
    return best


def chance(plain: Fit, richer: Fit) -> float:
    """How often a law gains so much by one parameter more, where the plain one holds (p)."""
    from scipy.stats import f

    freedom = richer.points - _PARAMETERS[richer.law]
    gained = (plain.squares - richer.squares) / (richer.squares / freedom)
    return float(f.sf(max(gained, 0.0), 1, freedom))


def _fit(
    law: str, xs: Sequence[float], efficiencies: Sequence[float], free: int, grain: float
) -> Fit:
    """Least squares of relative errors with parameters of at least 0, the base's rate among
    them."""
    import numpy
    from scipy.optimize import nnls

    x = numpy.array(xs, dtype=float)
    y = 1 / numpy.array(efficiencies, dtype=float)
    terms = numpy.stack([numpy.ones_like(x), x - 1, x * (x - 1)], axis=1)[:, : free + 1]

    def solved(of: numpy.typing.NDArray[numpy.float64]) -> tuple[float, float, float]:
        made, _ = nnls(terms / of[:, None], numpy.ones_like(of))
        if not made[0] > _NOTHING:  # no law has a base that takes no time: then that measured
            rest, _ = nnls(terms[:, 1:] / of[:, None], 1 - 1 / of)
            made = numpy.concatenate([[1.0], rest])
        shares = [float(one / made[0]) for one in made[1:]]
        found = [one if one > _NOTHING else 0.0 for one in shares]
        return float(made[0]), found[0], found[1] if free > 1 else 0.0

    base, alpha, beta = solved(y)
    fitted = base * (1 + alpha * (x - 1) + beta * x * (x - 1))
    errors = fitted / y - 1
    squares, freedom = float((errors**2).sum()), len(x) - free - 1
    deviation = max(math.sqrt(squares / freedom), grain)
    rng = numpy.random.default_rng(_SEED)
    noise = deviation * rng.standard_t(freedom, size=(DRAWS, len(x) + 1))
    noise = numpy.clip(noise, -0.9, 9.0)
    drawn = [(*solved(fitted * (1 + one[:-1])), float(one[-1])) for one in noise]
    alphas, betas = ([one[at] for one in drawn] for at in (1, 2))
    return Fit(
        law, alpha, beta, _interval(alphas), _interval(betas),
        math.sqrt(squares / len(xs)), float(abs(errors).max()), len(xs), base,
        max(squares, len(x) * max(grain**2, _NOTHING)), tuple(drawn),
    )  # fmt: skip


def _inverse(x: float, alpha: float, beta: float) -> float:
    return 1 + alpha * (x - 1) + beta * x * (x - 1)


def _interval(values: Sequence[float]) -> Range:
    import numpy

    low, high = numpy.quantile(values, _ENDS)
    return float(low), float(high)
