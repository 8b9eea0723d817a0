"""How rates grow with devices: Amdahl's law and the universal scalability law, with intervals.

With x = devices over those of the base point and e the efficiency against it,
1 / e = 1 + alpha (x - 1) + beta x (x - 1), alpha and beta at least 0 (Gunther, "A General Theory of
Computational Scalability", arXiv 0808.1431). Amdahl: beta = 0, alpha the serial share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

DRAWS = 2000
_SEED = 20200101  # so that the same points give the same interval
_ENDS = (0.025, 0.975)
_NOTHING = 1e-9  # a parameter below is what arithmetic leaves of 0
Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted law; errors are shares of the measured. `draws`: (alpha, beta, noise) of refits."""

    law: str
    alpha: float
    beta: float
    alpha_range: Range
    beta_range: Range
    rms: float
    worst: float
    points: int
    draws: tuple[tuple[float, float, float], ...]

    def efficiency(self, x: float) -> float:
        """The efficiency at x times the base devices."""
        return 1 / _inverse(x, self.alpha, self.beta)

    def predicted(self, x: float) -> Range:
        """The 95% interval of a new measurement's efficiency at x; no law has one above 1."""
        found = [1 / max(_inverse(x, a, b) * (1 + e), 1.0) for a, b, e in self.draws]
        return _interval(found)


def fits(xs: Sequence[float], efficiencies: Sequence[float], grain: float = 0.0) -> list[Fit]:
    """Amdahl's law from 3 points on, the universal one from 4 on; the first x is 1, the base.

    `grain` is the deviation that rounding gives the efficiencies, as a share: a fit that meets
    rounded values exactly is no surer than they are.
    """
    found = [("Amdahl", 1), ("USL", 2)]
    return [_fit(law, xs, efficiencies, free, grain) for law, free in found if len(xs) >= free + 2]


def _fit(
    law: str, xs: Sequence[float], efficiencies: Sequence[float], free: int, grain: float
) -> Fit:
    """Least squares of relative errors with parameters of at least 0; the base point is kept."""
    import numpy
    from scipy.optimize import nnls

    x = numpy.array(xs[1:], dtype=float)
    y = 1 / numpy.array(efficiencies[1:], dtype=float)
    terms = numpy.stack([x - 1, x * (x - 1)], axis=1)[:, :free]

    def solved(of: numpy.typing.NDArray[numpy.float64]) -> tuple[float, float]:
        made, _ = nnls(terms / of[:, None], 1 - 1 / of)
        found = [float(one) if one > _NOTHING else 0.0 for one in made]
        return found[0], found[1] if free > 1 else 0.0

    alpha, beta = solved(y)
    fitted = 1 + alpha * terms[:, 0] + beta * x * (x - 1)
    errors = fitted / y - 1
    freedom = len(x) - free
    deviation = max(math.sqrt(float((errors**2).sum()) / freedom), grain)
    rng = numpy.random.default_rng(_SEED)
    noise = deviation * rng.standard_t(freedom, size=(DRAWS, len(x) + 1))
    noise = numpy.clip(noise, -0.9, 9.0)
    drawn = [(*solved(fitted * (1 + one[:-1])), float(one[-1])) for one in noise]
    return Fit(
        law, alpha, beta, _interval([a for a, _, _ in drawn]), _interval([b for _, b, _ in drawn]),
        math.sqrt(float((errors**2).sum()) / len(xs)), float(abs(errors).max()), len(xs),
        tuple(drawn),
    )  # fmt: skip


def _inverse(x: float, alpha: float, beta: float) -> float:
    return 1 + alpha * (x - 1) + beta * x * (x - 1)


def _interval(values: Sequence[float]) -> Range:
    import numpy

    low, high = numpy.quantile(values, _ENDS)
    return float(low), float(high)
