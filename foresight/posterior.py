"""A law fitted to runs: its terms, and residuals shared by similar runs.

ln(cost) = ln(sum of terms) + shared residual + noise. Parameters have log-normal priors, one value
for all systems, a deviation of each and one of each source on it; the residual is a Gaussian
process. The posterior is
Gaussian about the linearised sum (Rasmussen and Williams, Gaussian Processes for Machine Learning,
2.7), so leave-one-out predictions need no second fit (5.4.2).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .numbers import priors
from .setting import Setting
from .similarity import Array, Scales, Shared, SourceOverlap, likeness, overlap, site
from .terms import Law

_WAITING = priors("waiting")["bubble"]
_ROUNDS = 10
_BEFORE = 5  # rounds of which are reused by a fit without some of the runs
_STEP = 0.7  # of the way to the linearised optimum, so that each round stays where it is valid
_SMOOTH_ROUNDS = 3  # before roughness is estimated: the terms are fitted first
_SHRINK = 4.0  # pseudo-count of runs for usual roughness
_ROUGH = (0.5, 8.0)
_NOTHING = 1e-12  # of a cost: rounding of the sum of its parts
_TAILS = 4.0  # degrees of freedom of the noise: an outlier has little influence


@dataclass(frozen=True)
class Basis:
    """The amounts of the terms of runs (n x terms), their waits (n) and factors (n x shapes)."""

    law: Law
    amounts: Array
    waits: Array
    shapes: Array

    def parts(self, theta: Array) -> tuple[Array, Array]:
        """Costs of the terms (n x terms) and of waiting (n), at parameters (n x k)."""
        count = len(self.law.terms)
        factor = np.exp((theta[:, count + 1 :] * self.shapes).sum(1))
        costs = self.amounts * np.exp(theta[:, :count]) * factor[:, None]
        piped = np.array([term.piped for term in self.law.terms])
        return costs, np.exp(theta[:, count]) * self.waits * costs[:, piped].sum(1)

    def linear(self, theta: Array) -> tuple[Array, Array]:
        """ln(sum of terms) (n) and its derivatives by the parameters (n x k)."""
        costs, wait = self.parts(theta)
        total = costs.sum(1) + wait
        own = np.exp(theta[:, len(self.law.terms)]) * self.waits
        piped = np.array([term.piped for term in self.law.terms])
        grown = np.where(piped[None, :], costs * (1 + own[:, None]), costs) / total[:, None]
        return np.log(total), np.hstack([grown, (wait / total)[:, None], self.shapes])


def basis(law: Law, settings: Sequence[Setting]) -> Basis:
    """The amounts that a law counts for runs."""
    amounts = [[term.of(setting) for term in law.terms] for setting in settings]
    shapes = [[shape.of(setting) for shape in law.shapes] for setting in settings]
    return Basis(
        law,
        np.array(amounts, dtype=np.float64).reshape(len(settings), len(law.terms)),
        np.array([law.waits(setting) for setting in settings], dtype=np.float64),
        np.array(shapes, dtype=np.float64).reshape(len(settings), len(law.shapes)),
    )


def _prior(law: Law) -> tuple[Array, Array]:
    """Prior means and deviations of the parameters: of the terms, of waiting, of the factors."""
    usual = [*(term.usual for term in law.terms), 0.0, *(0.0 for _ in law.shapes)]
    spread = [
        *(term.spread for term in law.terms),
        _WAITING.spread,
        *(shape.spread for shape in law.shapes),
    ]
    return np.array(usual), np.array(spread)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a predicted cost; its fitted parameter, the prior's middle and its factor of one
    deviation. None of these for the shared residual."""

    title: str
    cost: float  # device-seconds a token, or GB
    parameter: float | None = None
    usual: float = 0.0
    spread: float = 0.0
    words: str = ""  # the counted amount


@dataclass(frozen=True, slots=True)
class InitialFit:
    """The result of a fit's first rounds: parameters by source and system, roughness by file."""

    sites: dict[Hashable, Array]
    rough: dict[str, float]


@dataclass(frozen=True)
class Posterior:
    """The posterior of a law, given runs."""

    law: Law
    scales: Scales
    settings: tuple[Setting, ...]
    costs: Array = field(repr=False)
    noise: Array = field(repr=False)  # deviation of ln(cost) by each run alone
    slopes: Array = field(repr=False)  # n x k
    inverse: Array = field(repr=False)  # of the measurements' covariance
    weights: Array = field(repr=False)  # the inverse times the residuals of the prior
    sites: dict[Hashable, Array] = field(repr=False)  # parameters by source and system
    systems: dict[Hashable, Array] = field(repr=False)  # of an unmeasured source of a system
    common: Array = field(repr=False)  # of an unmeasured system
    excess: Array = field(repr=False)  # extra variance of outliers
    rough: dict[str, float] = field(repr=False)  # by file
    began: InitialFit = field(repr=False)
    shared: Shared = field(repr=False)
    overlap: SourceOverlap = field(repr=False)

    def parameters(self, settings: Sequence[Setting]) -> Array:
        """The parameters of runs (n x k)."""
        found = [
            self.sites.get(site(one), self.systems.get(one.system, self.common)) for one in settings
        ]
        return np.array(found)

    def predicted(self, new: Sequence[Setting]) -> tuple[Array, Array]:
        """Mean and covariance of ln(cost) of further runs, without the noise of one job."""
        usual, _ = _prior(self.law)
        theta = self.parameters(new)
        value, slope = basis(self.law, new).linear(theta)
        prior = value - ((theta - usual) * slope).sum(1)
        cross = self._covariance(new, slope, self.settings, self.slopes)
        own = self._covariance(new, slope, new, slope)
        return prior + cross @ self.weights, own - cross @ self.inverse @ cross.T

    def _covariance(
        self, a: Sequence[Setting], slope_a: Array, b: Sequence[Setting], slope_b: Array
    ) -> Array:
        alike = self.overlap.between(a, b)
        shared = likeness(a, b).shared(self.scales, self.law.peak, alike)
        rough = np.outer(self._roughness(a), self._roughness(b))
        parameters = _of_parameters(self.law, slope_a, slope_b, shared, self.scales)
        return shared.covariance(rough) + parameters

    def _roughness(self, settings: Sequence[Setting]) -> list[float]:
        """Roughness by the sources of runs; for an unknown source, that of the system's others."""
        others: dict[Hashable, list[float]] = {}
        for setting in self.settings:
            others.setdefault(setting.system, []).append(self.rough[setting.source[0]])
        usual = {system: float(np.median(of)) for system, of in others.items()}
        return [self.rough.get(one.source[0], usual.get(one.system, 1.0)) for one in settings]

    def terms(self, setting: Setting, mean: float) -> tuple[Part, ...]:
        """The parts of a prediction, which add up to it, in the order of the law; the last is the
        residual shared by similar runs."""
        return _terms(self.law, setting, self.parameters([setting]), mean)

    def without(self, removed: Sequence[int]) -> Posterior:
        """The posterior without some runs: refitted, as they influenced roughness and outliers."""
        gone = set(removed)
        kept = [at for at in range(len(self.settings)) if at not in gone]
        return fit(
            self.law, [self.settings[at] for at in kept], self.costs[kept], self.noise[kept],
            self.scales, self.began, (self.shared.among(kept), self.overlap),
        )  # fmt: skip

    def left_out(self, removed: Sequence[int], tested: Sequence[int]) -> tuple[Array, Array]:
        """Error and deviation of ln(cost) of the tested runs without the removed ones."""
        block = np.linalg.inv(self.inverse[np.ix_(removed, removed)])
        at = [list(removed).index(one) for one in tested]
        error = (block @ self.weights[list(removed)])[at]
        variance = np.diag(block)[at] - self.excess[list(tested)]
        return error, np.sqrt(np.maximum(variance, self.scales.noise**2))


def unfitted(law: Law, setting: Setting) -> tuple[float, float, tuple[Part, ...]]:
    """Mean and deviation of ln(cost) by the priors alone, and the parts, where no run tells."""
    usual, spread = _prior(law)
    value, slope = basis(law, [setting]).linear(usual[None, :])
    mean, deviation = float(value[0]), float(np.sqrt(((slope[0] * spread) ** 2).sum()))
    return mean, deviation, _terms(law, setting, usual[None, :], mean)


def _terms(law: Law, setting: Setting, theta: Array, mean: float) -> tuple[Part, ...]:
    """The parts of a cost at parameters (1 x k), and what is left of it."""
    usual, spread = _prior(law)
    costs, wait = basis(law, [setting]).parts(theta)
    parts = [
        Part(term.title, float(cost), float(np.exp(at)), math.exp(prior), math.exp(wide),
             term.words)
        for term, cost, at, prior, wide in
        zip(law.terms, costs[0], theta[0], usual, spread, strict=False)
    ]  # fmt: skip
    at = len(law.terms)
    parts.append(Part(_WAITING.title, float(wait[0]), math.exp(theta[0, at]), _WAITING.usual,
                      math.exp(spread[at]), _WAITING.amount))  # fmt: skip
    rest = math.exp(mean) - sum(part.cost for part in parts)
    if abs(rest) > _NOTHING * math.exp(mean):
        parts.append(Part("what similar runs add or save", rest))
    return tuple(part for part in parts if part.cost)


def _of_parameters(law: Law, a: Array, b: Array, shared: Shared, s: Scales) -> Array:
    """Covariance by the parameters: of one value for all, of systems and of sources on them."""
    _, spread = _prior(law)
    alike = _common(s) + s.own**2 * shared.system + s.site**2 * shared.source
    covariance: Array = ((a * spread**2) @ b.T) * alike
    return covariance


def _common(s: Scales) -> float:
    """The share of a parameter's prior variance that is the same everywhere."""
    return 1 - s.own**2 - s.site**2


def fit(
    law: Law,
    settings: Sequence[Setting],
    costs: Sequence[float] | Array,
    noise: Sequence[float] | Array,
    scales: Scales,
    began: InitialFit | None = None,
    known: tuple[Shared, SourceOverlap] | None = None,
) -> Posterior:
    """The posterior of runs with their costs and deviations of ln(cost) of each; `began`: the first
    rounds with more runs, as a start; `known`: their covariance and that of sources, if known."""
    usual, spread = _prior(law)
    shared, alike = known or _shared(law, settings, scales)
    costs, noise = np.array(costs, dtype=np.float64), np.array(noise, dtype=np.float64)
    counted, files = basis(law, settings), [setting.source[0] for setting in settings]
    alone = np.array([scales.noise**2 / setting.jobs for setting in settings]) + np.square(noise)
    theta = np.array([began.sites[site(one)] if began else usual for one in settings])
    heavy = np.ones(len(settings))
    rough = np.array([began.rough[file] if began else 1.0 for file in files])
    for at in range(_BEFORE if began else 0, _ROUNDS + 1):
        if at == _BEFORE:
            began = InitialFit(*_by_site_and_file(settings, theta, rough))
        value, slope = counted.linear(theta)
        covariance = shared.covariance(np.outer(rough, rough))
        covariance += _of_parameters(law, slope, slope, shared, scales)
        inverse = _inverse(covariance + np.diag(alone * heavy + 1e-9))
        weights = inverse @ (np.log(costs) - value + ((theta - usual) * slope).sum(1))
        if at == _ROUNDS:
            break
        pulled = slope * weights[:, None]
        shift = _common(scales) * pulled.sum(0) + scales.own**2 * (shared.system @ pulled)
        shift += scales.site**2 * (shared.source @ pulled)
        theta = theta + _STEP * np.clip(usual + spread**2 * shift - theta, -1.0, 1.0)
        # Student's t as a scaled normal: a run's own residual determines its noise.
        own = alone * heavy * weights
        heavy = np.maximum((_TAILS + own**2 / alone) / (_TAILS + 1), 1.0)
        if at >= _SMOOTH_ROUNDS:
            rough = rough * _rougher(files, weights**2 / np.diag(inverse), rough)
    weighed = slope * weights[:, None]
    common = usual + spread**2 * _common(scales) * weighed.sum(0)
    own = common + (spread * scales.own) ** 2 * (shared.system @ weighed)
    systems = {one.system: own[at] for at, one in enumerate(settings)}
    assert began is not None
    sites, roughness = _by_site_and_file(settings, theta, rough)
    return Posterior(
        law, scales, tuple(settings), costs, noise, slope, inverse, weights, sites, systems,
        common, alone * (heavy - 1), roughness, began, shared, alike,
    )  # fmt: skip


def _shared(law: Law, settings: Sequence[Setting], scales: Scales) -> tuple[Shared, SourceOverlap]:
    pairs = likeness(settings, settings)
    alike = overlap(settings, pairs)
    return pairs.shared(scales, law.peak, alike.between(settings, settings)), alike


def _inverse(covariance: Array) -> Array:
    """The inverse of a positive definite matrix, in half the time of the general one."""
    from scipy.linalg import lapack

    factor, failed = lapack.dpotrf(covariance, lower=True, clean=True)
    if failed:
        raise np.linalg.LinAlgError("covariance of runs is not positive definite")
    lower, _ = lapack.dpotri(factor, lower=True)
    inverse: Array = np.tril(lower) + np.tril(lower, -1).T
    return inverse


def _by_site_and_file(
    settings: Sequence[Setting], theta: Array, rough: Array
) -> tuple[dict[Hashable, Array], dict[str, float]]:
    """Parameters of runs by their source and system, and roughness by their file."""
    sites = {site(one): theta[at] for at, one in enumerate(settings)}
    return sites, {one.source[0]: float(rough[at]) for at, one in enumerate(settings)}


def _rougher(files: Sequence[str], squares: Array, rough: Array) -> Array:
    """The factor of each run's file on its assumed roughness, from leave-one-out predictions:
    squared errors over variances."""
    found = np.ones(len(files))
    for file in dict.fromkeys(files):
        at = np.array([one == file for one in files])
        mean = (np.minimum(squares[at], 9.0).sum() + _SHRINK) / (at.sum() + _SHRINK)
        found[at] = np.clip(np.sqrt(mean), 0.6, 1.8)
    bounded: Array = np.clip(rough * found, *_ROUGH) / rough
    return bounded
