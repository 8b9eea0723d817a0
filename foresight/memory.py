"""Memory of a device: fitted to printed memory and to runs out of memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from ..audit.memory import GB
from ..vocabulary.hardware import devices, most_memory_gib, usual_memory_gib
from .likeness import Array
from .posterior import Posterior, fit
from .scales import MEMORY_SCALES
from .setting import Setting, room
from .terms import MEMORY

_FEWEST = 3  # runs with printed memory
_SPREAD = 0.1  # deviation of ln(need) of a run out of memory
_ROUNDS = 3  # iterations of estimating the need of runs out of memory


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
