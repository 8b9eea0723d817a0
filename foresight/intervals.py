"""Calibrated intervals: errors of left-out runs, in several ways, scale the deviations of a fit.

Conformal prediction with normalised scores (Lei and others, arXiv 1604.04173, section 5), by
leaving out whole groups: a scored run then shares with the others as much as the new one would. The
error is that of a refit, since the roughness of a source was estimated from its runs too.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .folds import Beyond, Reach, folds
from .posterior import Posterior

LEVEL = 0.9
ENOUGH = 20  # scores of one system: with fewer those of all systems are used
_UNSCORED = 3.0  # factor of a deviation without scores, and the least with too few
# Programs and ways of counting differ between sources beyond any setting (ln): left-out documents
# show this error, however well their system is known.
_UNKNOWN = {Beyond.SOURCE: 0.3, Beyond.SYSTEM: 0.3}
_REFITS = 24  # limit by kind of fold; documents and systems are few

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scores:
    """Errors of ln(cost) of left-out runs and their deviations, with the indices of the runs."""

    runs: tuple[int, ...]
    errors: Array
    deviations: Array
    systems: tuple[Hashable, ...]
    pooled: bool = False  # over all systems, as one has too few groups

    @property
    def ratios(self) -> Array:
        """Errors over deviations."""
        found: Array = np.abs(self.errors) / self.deviations
        return found

    def _of(self, system: Hashable) -> NDArray[np.bool_]:
        own = np.array([of == system for of in self.systems], dtype=bool)
        return own if own.sum() >= ENOUGH and not self.pooled else np.ones(len(own), dtype=bool)

    def factor(self, system: Hashable, level: float = LEVEL) -> tuple[float, int]:
        """The factor of a deviation that covers a share of errors, and the number of scores.

        With too few scores for that share, 1.5 times the worst; but at least the factor without
        scores, since two accurate predictions say little about a third.
        """
        found = np.sort(self.ratios[self._of(system)]).tolist()
        if not found:
            return _UNSCORED, 0
        at = math.ceil((len(found) + 1) * level) - 1
        factor = found[at] if at < len(found) else max(1.5 * found[-1], _UNSCORED)
        return factor, len(found)

    def usual(self, system: Hashable) -> float:
        """Half of the median interval of ln(cost) of left-out runs."""
        if not self.runs:
            return 0.0
        return self.factor(system)[0] * float(np.median(self.deviations[self._of(system)]))


def scores(fitted: Posterior, kind: Beyond) -> Scores:
    """The scores of runs that can be left out in this way."""
    runs: list[int] = []
    errors, deviations = [np.zeros(0)], [np.zeros(0)]
    for fold in folds(fitted.settings, kind, None if kind in _UNKNOWN else _REFITS):
        tested = [fitted.settings[at] for at in fold.tested]
        mean, covariance = fitted.without(fold.removed).predicted(tested)
        runs += fold.tested
        errors.append(np.log(fitted.costs[[*fold.tested]]) - mean)
        deviations.append(deviation(fitted, kind, np.diag(covariance)))
    systems = tuple(fitted.settings[at].system for at in runs)
    each = np.concatenate(errors), np.concatenate(deviations)
    return Scores(tuple(runs), *each, systems, kind in _UNKNOWN)


def deviation(fitted: Posterior, kind: Beyond, variance: Array) -> Array:
    """Deviations of ln(cost) of further jobs, by the variances of a fit."""
    more = fitted.scales.noise**2 + _UNKNOWN.get(kind, 0.0) ** 2
    found: Array = np.sqrt(np.maximum(variance, 0.0) + more)
    return found


@dataclass(slots=True)
class Widths:
    """Factors for the deviations of a fit, computed once for each kind of fold."""

    fitted: Posterior
    known: dict[Beyond, Scores] = field(default_factory=dict)

    def of(self, kind: Beyond) -> Scores:
        """The scores of a kind; of configurations if nothing can be left out."""
        return self._own(kind) if self._own(kind).runs else self._own(Beyond.SETTING)

    def _own(self, kind: Beyond) -> Scores:
        if kind not in self.known:
            self.known[kind] = scores(self.fitted, kind)
        return self.known[kind]

    def scored_by(self, kind: Beyond) -> Beyond:
        """The kind of fold that scores predictions of a kind."""
        return kind if self._own(kind).runs else Beyond.SETTING

    def width(self, reach: Reach, system: Hashable, variance: float) -> tuple[float, int]:
        """Half of the 90% interval of ln(cost), and the number of left-out runs behind it.

        Independent uncertainties add in squares, and an extrapolation is at least as uncertain as a
        configuration within the measured range. Left-out documents and systems include their sizes,
        so their errors cover these too. Configurations say too little of a kind that nothing could
        be left out for.
        """
        first, *others = reach.kinds
        factor, by = self.of(first).factor(system)
        if self.scored_by(first) is not first:
            factor = max(factor, _UNSCORED)
        if first in (Beyond.SIZE, Beyond.RANGE):
            factor = max(factor, self.of(Beyond.SETTING).factor(system)[0])
        own = float(deviation(self.fitted, first, np.array([variance]))[0])
        parts = [factor * own * reach.grown(first)]
        if first not in _UNKNOWN:
            parts += [self.of(kind).usual(system) * reach.grown(kind) for kind in others]
        least = 0.0 if first is Beyond.SETTING else self.of(Beyond.SETTING).usual(system)
        return max(math.hypot(*parts), least), by
