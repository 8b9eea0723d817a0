"""Memory of a device: fitted to printed memory and to runs out of memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np

from ..audit.memory import GB
from ..vocabulary.hardware import devices, most_memory_gib, usual_memory_gib
from .folds import Extrapolation
from .intervals import END, UNSCORED, IntervalWidths
from .posterior import Part, Posterior, fit, unfitted
from .setting import Setting, room
from .similarity import MEMORY_SCALES, Array
from .terms import MEMORY, states

_FEWEST = 3  # runs with printed memory
_SPREAD = 0.1  # deviation of ln(need) of a run out of memory
_ROUNDS = 3  # iterations of estimating the need of runs out of memory


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """The memory that a configuration needs: middle and half of the 90% interval of ln(GB)."""

    mean: float
    width: float
    terms: tuple[Part, ...]
    fitted: bool  # to runs; else by the priors alone

    def told(self, one: Setting, device: str | None, bounded: bool) -> dict[str, Any]:
        """The interval in GB, and of the same distribution the probability to exceed the device.

        `bounded`: states that exceed the device are certain not to fit.
        """
        space, most = usual_room(device), most_room(device)
        # Of unknown memory only a need above the largest is out of memory for sure.
        limit = space or (most if self.mean > math.log(most) else None)
        least = states(one)
        over = bounded and limit is not None and least > limit
        ends = (math.exp(self.mean + by * self.width) for by in (0, -1, 1))
        middle, low, high = (max(end, least) if over else end for end in ends)
        need = NormalDist(self.mean, max(self.width, 1e-9) / END)
        return {
            "memory_gb_predicted": middle,
            "memory_gb_low": low,
            "memory_gb_high": high,
            "memory_gb_device": space,
            "memory_gb_states": least if over else None,
            "memory_fitted": self.fitted,
            "memory_terms": self.terms,
            "out_of_memory": 1.0 if over else 1 - need.cdf(math.log(limit)) if limit else None,
        }


def needs(
    posterior: Posterior | None,
    widths: IntervalWidths | None,
    of: Sequence[tuple[Setting, Extrapolation]],
) -> list[MemoryNeed]:
    """The needs of configurations, each with its extrapolation; by the priors without a fit."""
    if posterior is None or widths is None:
        # What no source states and nothing fits to is counted as it is assumed: without recompute.
        settled = (replace(one, recompute=one.recompute or "none") for one, _ in of)
        alone = (unfitted(MEMORY, one) for one in settled)
        return [MemoryNeed(mean, UNSCORED * apart, terms, False) for mean, apart, terms in alone]
    mean, covariance = posterior.predicted([one for one, _ in of])
    return [
        MemoryNeed(
            float(mean[at]),
            widths.width(reach, one.source[0], covariance[at, at], one.system),
            posterior.terms(one, float(mean[at])),
            True,
        )
        for at, (one, reach) in enumerate(of)
    ]


def offloads(runs: Sequence[Setting], source: str) -> bool:
    """Whether a run of a source had states that its device has no room for."""
    return any(
        states(run) > (run.device_memory_gb or math.inf) for run in runs if run.source[0] == source
    )


def usual_room(device: str | None) -> float | None:
    """GB of a device by its name, else the usual memory of its kind."""
    usual = usual_memory_gib(device or "")
    return room(device) or (usual * GB["GiB"] if usual else None)


def most_room(device: str | None = None) -> float:
    """GB of the largest device of a kind, for an unknown kind of any: the limit where a name may
    mean several sizes."""
    return (most_memory_gib(device or "") or _most()) * GB["GiB"]


@cache
def _most() -> float:
    return max(device.memory_gib or 0.0 for device in devices())


def fitted(printed: Sequence[Setting], failed: Sequence[tuple[Setting, float]]) -> Posterior | None:
    """A fit of memory to runs that print it, and to runs that failed with so many GB.

    The need of the latter is above the room: its estimate is the mean above it under the fit (EM of
    a censored normal; Tobin, Econometrica 26, 1958). None for too few runs.
    """
    printed = [setting for setting in printed if setting.peak_memory_gb]
    if len(printed) < _FEWEST:
        return None
    settings = [*printed, *(one for one, _ in failed)]
    rooms = np.array([room for _, room in failed])
    need = rooms * (1 + _SPREAD)
    known = [float(setting.peak_memory_gb or 0) for setting in printed]
    for _ in range(_ROUNDS if failed else 1):
        noise = [*(0.0 for _ in printed), *(_SPREAD for _ in failed)]
        posterior = fit(MEMORY, settings, [*known, *need.tolist()], noise, MEMORY_SCALES)
        need = _above(posterior, len(printed), rooms, need)
    return posterior


def _above(posterior: Posterior, first: int, rooms: Array, need: Array) -> Array:
    """The mean need above the room, of the runs from the first failed one on."""
    from scipy.stats import truncnorm

    needs = need.copy()
    for at, space in enumerate(rooms):
        error, deviation = posterior.left_out([first + at], [first + at])
        mean = math.log(need[at]) - float(error[0])
        low = (math.log(space) - mean) / float(deviation[0])
        of = truncnorm(min(low, 8.0), np.inf, loc=mean, scale=float(deviation[0]))
        needs[at] = math.exp(max(float(of.mean()), math.log(space)))
    return needs
