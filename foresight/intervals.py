"""Calibrated intervals: errors of left-out runs, in several ways, scale the deviations of a fit.

Conformal prediction with normalised scores (Lei and others, arXiv 1604.04173, section 5), by
leaving out whole groups: a scored run then shares with the others as much as the new one would. The
error is that of a refit, since the roughness of a source was estimated from its runs too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..schema.warehouse import Row
from .folds import Extrapolation, ExtrapolationKind, Fold, beyond, doublings, folds
from .posterior import Posterior
from .setting import Setting

LEVEL = 0.9
END = NormalDist().inv_cdf((1 + LEVEL) / 2)  # deviations from the middle of an interval to an end
_OTHERS = 40.0  # weight of all other sources, in runs of the own one
_ROUNDING = 1e-9
UNSCORED = 3.0  # factor of a deviation without scores, and the least with too few
_UNTRIED = 0.1  # more deviation of ln(cost) where no prediction was compared with a run at all
# Programs and ways of counting differ between sources beyond any setting (ln): left-out documents
# show this error, however well their system is known. Sources of some systems agree more than those
# of others, which few left-out ones show: the usual error counts as so many of them.
_UNKNOWN = {ExtrapolationKind.SOURCE: 0.3, ExtrapolationKind.SYSTEM: 0.3}
_USUAL = 2.0
# More deviation of ln(cost) for each doubling that a document lies beyond the sizes of its system.
_FARTHER = 0.15
_REFITS = 24  # limit by kind of fold; documents and systems are few

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scores:
    """Errors of ln(cost) of left-out runs and their deviations, with the indices of the runs and
    their sources."""

    runs: tuple[int, ...]
    errors: Array
    deviations: Array
    sources: tuple[str, ...]
    whole: bool = False  # whole sources were left out: none tells of its own runs
    apart: Mapping[Hashable, float] = field(default_factory=dict)  # errors of sources, by system

    @property
    def ratios(self) -> Array:
        """Errors over deviations."""
        scores: Array = np.abs(self.errors) / self.deviations
        return scores

    def weights(self, source: str) -> Array:
        """Weights of the scores for a run of a source: one for each of its own, and a constant for
        all others, each source the same.

        Runs of a source are alike, so that many rows of a document are no more evidence of others
        than few (Dunn, Wasserman and Ramdas, arXiv 1809.07441); a source with few rows has the
        factor of sources, one with many its own.
        """
        counts = Counter(self.sources)
        own = 0 if self.whole else counts.pop(source, 0)
        most = sum(counts.values())
        each = min(_OTHERS, most) / len(counts) if counts else 0.0
        return np.array(
            [1.0 if own and of == source else each / counts[of] for of in self.sources],
            dtype=np.float64,
        )

    def factor(self, source: str) -> float:
        """The factor of a deviation that covers a share of errors.

        With too few scores for that share, 1.5 times the worst; but at least the factor without
        scores, since two accurate predictions say little about a third.
        """
        if not self.runs:
            return UNSCORED
        order = np.argsort(self.ratios, kind="stable")
        reached = np.cumsum(self.weights(source)[order])
        at = int(np.searchsorted(reached, LEVEL * (reached[-1] + 1) - _ROUNDING))
        worst = float(self.ratios[order[-1]])
        return float(self.ratios[order[at]]) if at < len(order) else max(1.5 * worst, UNSCORED)

    def usual(self, source: str) -> float:
        """Half of the median interval of ln(cost) of left-out runs: of this source, if any is."""
        if not self.runs:
            return 0.0
        own = np.array([of == source for of in self.sources], dtype=bool)
        found = self.deviations[own] if own.any() else self.deviations
        return self.factor(source) * float(np.median(found))


def scores(fitted: Posterior, kind: ExtrapolationKind) -> Scores:
    """The scores of runs that can be left out in this way."""
    runs: list[int] = []
    errors, variances = [np.zeros(0)], [np.zeros(0)]
    parts = folds(fitted.settings, kind, None if kind in _UNKNOWN else _REFITS)
    for fold in parts:
        tested = [fitted.settings[at] for at in fold.tested]
        mean, covariance = fitted.without(fold.removed).predicted(tested)
        runs += fold.tested
        errors.append(np.log(fitted.costs[[*fold.tested]]) - mean)
        variances.append(np.diag(covariance))
    own, apart = _apart(fitted, kind, parts, errors[1:])
    deviations = [
        deviation(fitted, variance, more, far)
        for variance, more, far in zip(
            variances[1:], own, (_far(fitted, kind, fold) for fold in parts), strict=True
        )
    ]
    sources = tuple(fitted.settings[at].source[0] for at in runs)
    each = np.concatenate(errors), np.concatenate([np.zeros(0), *deviations])
    return Scores(tuple(runs), *each, sources, kind in _UNKNOWN, apart)


def _apart(
    fitted: Posterior, kind: ExtrapolationKind, parts: Sequence[Fold], errors: Sequence[Array]
) -> tuple[list[float], dict[Hashable, float]]:
    """The usual error of a whole source for each fold, by the others of its system, and by system
    for further sources; 0 where sources are known."""
    usual = _UNKNOWN.get(kind, 0.0)
    if not usual:
        return [0.0] * len(parts), {}
    system = [fitted.settings[fold.tested[0]].system for fold in parts]
    squares = [float(np.mean(of**2)) for of in errors]

    def pooled(of: Hashable, without: int | None) -> float:
        known = [one for at, one in enumerate(squares) if system[at] == of and at != without]
        return math.sqrt((_USUAL * usual**2 + sum(known)) / (_USUAL + len(known)))

    own = [pooled(of, at) for at, of in enumerate(system)]
    return own, {of: pooled(of, None) for of in dict.fromkeys(system)}


def _far(fitted: Posterior, kind: ExtrapolationKind, fold: Fold) -> Array:
    """Doublings of each run of an unknown source beyond the sizes of its system; else 0."""
    if kind is not ExtrapolationKind.SOURCE:
        return np.zeros(len(fold.tested))
    gone, tested = set(fold.removed), [fitted.settings[at] for at in fold.tested]
    near = [
        one for at, one in enumerate(fitted.settings)
        if at not in gone and one.system == tested[0].system
    ]  # fmt: skip
    return np.array([doublings(outside) for outside in beyond(near, tested)], dtype=np.float64)


def deviation(
    fitted: Posterior, variance: Array, more: float = 0.0, far: Array | float = 0.0
) -> Array:
    """Deviations of ln(cost) of further jobs, by the variances of a fit; `more`: that of an unknown
    source, `far`: its doublings beyond the sizes of others."""
    known = np.maximum(variance, 0.0) + fitted.scales.noise**2
    deviations: Array = np.sqrt(known + more**2 + _FARTHER**2 * far)
    return deviations


@dataclass(slots=True)
class IntervalWidths:
    """Factors for the deviations of a fit, computed once for each kind of fold."""

    fitted: Posterior
    known: dict[ExtrapolationKind, Scores] = field(default_factory=dict)

    def of(self, kind: ExtrapolationKind) -> Scores:
        """The scores of a kind; of configurations if nothing can be left out."""
        return self._own(kind) if self._own(kind).runs else self._own(ExtrapolationKind.SETTING)

    def _own(self, kind: ExtrapolationKind) -> Scores:
        if kind not in self.known:
            self.known[kind] = scores(self.fitted, kind)
        return self.known[kind]

    def deviation(
        self, kind: ExtrapolationKind, system: Hashable, variance: float, far: float = 0.0
    ) -> float:
        """The deviation of ln(cost) of a run with this kind of extrapolation on a system."""
        usual = _UNKNOWN.get(kind, 0.0)
        more = self._own(kind).apart.get(system, usual) if usual else 0.0
        return float(deviation(self.fitted, np.array([variance]), more, far)[0])

    def scored_by(self, kind: ExtrapolationKind) -> ExtrapolationKind:
        """The kind of fold that scores predictions of a kind."""
        return kind if self._own(kind).runs else ExtrapolationKind.SETTING

    def width(
        self, reach: Extrapolation, source: str, variance: float, system: Hashable = None
    ) -> float:
        """Half of the 90% interval of ln(cost) of a run of a source on a system.

        Independent uncertainties add in squares, and an extrapolation is at least as uncertain as a
        configuration within the measured range. Left-out documents and systems include their sizes,
        so their errors cover these too, as far as each lies beyond those of others. Configurations
        say too little of a kind that nothing could be left out for.
        """
        first, *others = reach.kinds
        factor = self.of(first).factor(source)
        if self.scored_by(first) is not first:
            factor = max(factor, UNSCORED)
        if first in (ExtrapolationKind.SIZE, ExtrapolationKind.RANGE):
            factor = max(factor, self.of(ExtrapolationKind.SETTING).factor(source))
        far = doublings(reach.outside) if first is ExtrapolationKind.SOURCE else 0.0
        own = self.deviation(first, system, variance, far)
        own = own if self.of(first).runs else math.hypot(own, _UNTRIED)
        parts = [factor * own * reach.grown(first)]
        if first not in _UNKNOWN:
            parts += [self.of(kind).usual(source) * reach.grown(kind) for kind in others]
        least = (
            0.0
            if first is ExtrapolationKind.SETTING
            else self.of(ExtrapolationKind.SETTING).usual(source)
        )
        return max(math.hypot(*parts), least)


_ALIKE = math.log(1.1)  # tolerance for days of equal duration of a configuration


@dataclass(frozen=True, slots=True)
class MachineVariation:
    """Jobs that show the variation of a machine; `low`, `high`: their ln(device-seconds a token)
    less `middle`, that of the day of the prediction."""

    middle: float
    low: float
    high: float
    rows: tuple[Row, ...]
    itself: bool  # jobs of the predicted configuration, not of a neighbor

    def ends(self, mean: float, width: float) -> tuple[float, float]:
        """The ends of an interval of ln(cost) about the prediction that includes these jobs."""
        middle = self.middle if self.itself else mean
        return min(mean - width, middle + self.low), max(mean + width, middle + self.high)


def apart(
    rows: Sequence[Row], settings: Sequence[Setting], setting: Setting
) -> MachineVariation | None:
    """The jobs of a configuration, or else those of the least steady one of its source, model and
    devices, from the first day on with the machine's state of the prediction's day.

    Jobs before a repair do not count; a machine that was slow between two fast days may be slow
    again.
    """
    day = setting.other_settings.get("date")
    here = [
        (row, run)
        for row, run in zip(rows, settings, strict=True)
        if (run.source, run.system, run.model, run.devices)
        == (setting.source, setting.system, setting.model, setting.devices)
    ]
    groups: dict[object, list[tuple[Row, Setting]]] = {}
    for row, run in here:
        groups.setdefault(run.group_any_day, []).append((row, run))
    own = _of(groups.pop(setting.group_any_day, []), day)
    if own and len(own.rows) > 1:
        return own
    spreads = [found for jobs in groups.values() if (found := _of(jobs, day))]
    # The fit treats differences within a day as noise; days differ by more.
    spreads = [replace(spread, itself=False) for spread in spreads if len(spread.rows) > 1]
    return max(spreads, key=lambda spread: spread.high - spread.low, default=own)


def _of(jobs: Sequence[tuple[Row, Setting]], day: str | None) -> MachineVariation | None:
    today = [
        math.log(run.s_per_token)
        for _, run in jobs
        if run.other_settings.get("date") == day and run.s_per_token
    ]
    if not today:
        return None
    middle = today[0]
    dated = [
        (run.other_settings.get("date") or "", row, run) for row, run in jobs if run.s_per_token
    ]
    first = min(
        of for of, _, run in dated if abs(math.log(run.s_per_token or 1) - middle) <= _ALIKE
    )
    since = [(row, run) for of, row, run in dated if of >= first]
    ends = [end - middle for row, run in since for end in _ends(row, run)]
    return MachineVariation(
        middle, min(ends), max(ends), tuple(row for row, _ in since), itself=True
    )


def _ends(row: Row, run: Setting) -> list[float]:
    """ln(device-seconds a token) of the slowest and the fastest of the jobs of a day."""
    rates = [row[end] for end in ("tokens_per_s_low", "tokens_per_s_high")]
    known = [math.log(run.devices / rate) for rate in rates if rate] if run.jobs > 1 else []
    return [math.log(run.s_per_token or 1), *known]
