"""How rates grow with devices: Amdahl's law and the universal scalability law, with intervals.

With x = devices over those of the base point and e the efficiency against it,
1 / e = c (1 + alpha (x - 1) + beta x (x - 1)), alpha and beta at least 0 (Gunther, "A General
Theory of Computational Scalability", arXiv 0808.1431). Amdahl: beta = 0, alpha the serial share.
c is what the base took at the law's rate over what it took: its measurement is no surer than
others. The coverage of the intervals is measured in tests/test_fits.py.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .distributions import t_tail

if TYPE_CHECKING:
    import numpy

    Array = numpy.typing.NDArray[Any]

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
        # A law with more parameters always fits better; it has to do so by more than chance.
        if best is None or chance(best, law) < _CHANCE:
            best = law
    return best


def chance(plain: Fit, richer: Fit) -> float:
    """How often a law gains so much by one parameter more if the plain law is true (p)."""
    dof = richer.points - _PARAMETERS[richer.law]
    gained = (plain.squares - richer.squares) / (richer.squares / dof)
    # F with one degree of freedom above is the square of Student's t.
    return t_tail(dof, math.sqrt(max(gained, 0.0)))


def _fit(
    law: str, xs: Sequence[float], efficiencies: Sequence[float], free: int, grain: float
) -> Fit:
    """Least squares of relative errors with parameters of at least 0, the base's rate among
    them."""
    import numpy

    # Relative errors: a time of one device is no more certain than one of a thousand.
    x = numpy.array(xs, dtype=float)
    y = 1 / numpy.array(efficiencies, dtype=float)
    terms = numpy.stack([numpy.ones_like(x), x - 1, x * (x - 1)], axis=1)[:, : free + 1]
    [(base, alpha, beta)] = _solved(terms, y[None])
    fitted = base * (1 + alpha * (x - 1) + beta * x * (x - 1))
    errors = fitted / y - 1
    squares, dof = float((errors**2).sum()), len(x) - free - 1
    # Errors of four points may vanish by chance; rounding alone is never less than this.
    deviation = max(math.sqrt(squares / dof), grain)
    rng = numpy.random.default_rng(_SEED)
    noise = deviation * rng.standard_t(dof, size=(DRAWS, len(x) + 1))
    # Student's t of one or two degrees of freedom draws errors beyond -100%: no time is below zero.
    noise = numpy.clip(noise, -0.9, 9.0)
    # A parametric bootstrap: with three to seven points there are too few to resample.
    refits = _solved(terms, fitted * (1 + noise[:, :-1]))
    drawn = [(*one, float(last)) for one, last in zip(refits, noise[:, -1], strict=True)]
    alphas, betas = ([one[at] for one in drawn] for at in (1, 2))
    return Fit(
        law, alpha, beta, _interval(alphas), _interval(betas),
        math.sqrt(squares / len(xs)), float(abs(errors).max()), len(xs), base,
        max(squares, len(x) * max(grain**2, _NOTHING)), tuple(drawn),
    )  # fmt: skip


def _solved(terms: Array, measured: Array) -> list[tuple[float, float, float]]:
    """c, alpha and beta for each row of measured 1 / e."""
    import numpy

    ones = numpy.ones_like(measured)
    array = _least_squares(terms / measured[..., None], ones)
    # No law has a base that takes no time: then that measured.
    timeless = ~(array[:, 0] > _NOTHING)
    if timeless.any():
        shares = terms[:, 1:] / measured[timeless][..., None]
        array[timeless, 1:] = _least_squares(shares, 1 - 1 / measured[timeless])
        array[timeless, 0] = 1
    found = array[:, 1:] / array[:, :1]
    found[found <= _NOTHING] = 0
    beta = found[:, 1] if found.shape[1] > 1 else numpy.zeros(len(found))
    return list(zip(array[:, 0].tolist(), found[:, 0].tolist(), beta.tolist(), strict=True))


def _least_squares(terms: Array, wanted: Array) -> Array:
    """The solution of at least 0 of each of many problems: (n, points, k), (n, points) -> (n, k).

    With three unknowns every choice of those above 0 can be tried, all problems at once: among
    the solutions of at least 0 that with the least squares is the constrained one.
    """
    import numpy

    many, _, count = terms.shape
    best = numpy.zeros((many, count))
    least = (wanted**2).sum(axis=1)
    for size in range(1, count + 1):
        for chosen in itertools.combinations(range(count), size):
            some = terms[:, :, chosen]
            q, r = numpy.linalg.qr(some)
            if (abs(r.diagonal(axis1=1, axis2=2)) < _NOTHING).any():
                continue  # these terms are equal at these points
            found = numpy.linalg.solve(r, q.transpose(0, 2, 1) @ wanted[..., None])
            squares = (((some @ found)[..., 0] - wanted) ** 2).sum(axis=1)
            better = (found[..., 0] >= 0).all(axis=1) & (squares < least)
            least[better] = squares[better]
            best[numpy.ix_(better, chosen)] = found[better, :, 0]
            off = [at for at in range(count) if at not in chosen]
            best[numpy.ix_(better, off)] = 0
    return best


def _inverse(x: float, alpha: float, beta: float) -> float:
    return 1 + alpha * (x - 1) + beta * x * (x - 1)


def _interval(values: Sequence[float]) -> Range:
    import numpy

    low, high = numpy.quantile(values, _ENDS)
    return float(low), float(high)
