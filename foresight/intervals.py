"""Intervals that cover: errors of runs left out, in three ways, scale the deviations of a fit.

Conformal prediction with normalised scores (Lei and others, arXiv 1604.04173, section 5), by
leaving out whole groups: a score then tells of a run that shares with the others what the new one
would.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

import numpy as np

from .posterior import Posterior
from .setting import Setting

LEVEL = 0.9
ENOUGH = 20  # scores of one system: with fewer those of all systems count
_UNTOLD = 3.0  # what a deviation is multiplied by where no score tells it, and at least by too few
_REACH = 2.0  # sizes beyond the measured range that an error is known for


class Beyond(StrEnum):
    """What a prediction leaves, as seen from the runs that it rests on."""

    SETTING = "configuration"  # its source and model are measured on sizes about its own
    SIZE = "size"  # on fewer devices, or on more
    SOURCE = "source"  # another source's runs of the system
    SYSTEM = "system"  # no run of the system


@dataclass(frozen=True, slots=True)
class Fold:
    """Runs to predict, by place, as if all `removed` had not been measured."""

    removed: tuple[int, ...]
    tested: tuple[int, ...]


def folds(settings: Sequence[Setting], beyond: Beyond) -> list[Fold]:
    """The ways to leave out what the runs of a kind of prediction lack."""
    if beyond is Beyond.SIZE:
        return [*_larger(settings)]
    keys: dict[Beyond, list[Hashable]] = {
        Beyond.SETTING: [one.group for one in settings],
        Beyond.SOURCE: [(one.system, one.source[0]) for one in settings],
        Beyond.SYSTEM: [one.system for one in settings],
    }
    groups = [tuple(at) for at in _by(keys[beyond]).values()]
    return [Fold(at, at) for at in groups if len(at) < len(settings)]


def _larger(settings: Sequence[Setting]) -> Iterator[Fold]:
    """Each size of a source and model above two others, of which the larger is half of it or more;
    that size and all above it are left out."""
    for at in _by([curve(one) for one in settings]).values():
        sizes = sorted({settings[one].devices for one in at})
        for below, size in pairwise(sizes[1:]):
            if size <= _REACH * below:
                removed = tuple(one for one in at if settings[one].devices >= size)
                yield Fold(removed, tuple(one for one in removed if settings[one].devices == size))


def curve(one: Setting) -> Hashable:
    """Equal for runs that differ in size, of one source and model."""
    return one.system, one.source[0], one.model


def _by(keys: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    found: dict[Hashable, list[int]] = {}
    for at, key in enumerate(keys):
        found.setdefault(key, []).append(at)
    return found


@dataclass(frozen=True, slots=True)
class Scores:
    """Errors over deviations of runs left out, with the systems of these runs."""

    scores: tuple[float, ...]
    systems: tuple[Hashable, ...]

    def factor(self, system: Hashable, level: float = LEVEL) -> tuple[float, int]:
        """What a deviation is multiplied by to cover a share of errors; how many scores tell it.

        With too few for that share the worst counts, and half as much more; but two runs that
        the fit happens to hit tell nothing of a third, so never less than without any.
        """
        own = [score for score, of in zip(self.scores, self.systems, strict=True) if of == system]
        found = sorted(own if len(own) >= ENOUGH else self.scores)
        if not found:
            return _UNTOLD, 0
        at = math.ceil((len(found) + 1) * level) - 1
        told = found[at] if at < len(found) else max(1.5 * found[-1], _UNTOLD)
        return told, len(found)


def scores(fitted: Posterior, beyond: Beyond) -> Scores:
    """The scores of all runs that can be left out in this way."""
    found: list[tuple[float, Hashable]] = []
    for fold in folds(fitted.settings, beyond):
        error, deviation = fitted.left_out(fold.removed, fold.tested)
        of = [fitted.settings[one].system for one in fold.tested]
        found += zip(np.abs(error / deviation).tolist(), of, strict=True)
    return Scores(tuple(one for one, _ in found), tuple(of for _, of in found))


@dataclass(slots=True)
class Widths:
    """What deviations of a fit are multiplied by, computed once for each way to leave out."""

    fitted: Posterior
    known: dict[Beyond, Scores] = field(default_factory=dict)

    def of(self, kind: Beyond) -> Scores:
        """The scores of a kind; where nothing can be left out so, of configurations."""
        if kind not in self.known:
            self.known[kind] = scores(self.fitted, kind)
        found = self.known[kind]
        return found if found.scores or kind is Beyond.SETTING else self.of(Beyond.SETTING)

    def factor(self, kind: Beyond, system: Hashable) -> tuple[float, int]:
        """The factor and how many scores tell it; what is extrapolated is never the surer."""
        found, by = self.of(kind).factor(system)
        return max(found, self.of(Beyond.SETTING).factor(system)[0]), by


def beyond(fitted: Posterior, one: Setting) -> Beyond:
    """What a prediction leaves of what was measured."""
    same = [run for run in fitted.settings if run.system == one.system]
    if not same:
        return Beyond.SYSTEM
    near = [run.devices for run in same if curve(run) == curve(one)]
    if not near:
        return Beyond.SOURCE
    return Beyond.SETTING if min(near) <= one.devices <= max(near) else Beyond.SIZE


def farther(fitted: Posterior, one: Setting) -> tuple[float, float]:
    """How many times more devices than any run of its source and model a run has, or fewer, and
    than any run of its system, of an unknown system than any run; 1 within what was measured."""
    same = [run for run in fitted.settings if run.system == one.system] or [*fitted.settings]
    near = [run.devices for run in same if curve(run) == curve(one)]
    most = max(run.devices for run in same)
    apart = max(one.devices / max(near), min(near) / one.devices) if near else 1.0
    return max(1.0, apart), max(1.0, one.devices / most)
