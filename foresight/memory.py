"""Memory of a device: fitted to what runs print, and to those that ran out of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from ..audit.memory import GB, gib_of
from ..vocabulary.hardware import devices
from .likeness import Array
from .posterior import Posterior, fit
from .scales import MEMORY_SCALES
from .setting import Setting
from .terms import MEMORY

_FEWEST = 3  # runs that print memory
_SPREAD = 0.1  # of ln(need) of a run that found no room
_ROUNDS = 3  # of guessing what runs without room would have needed


def room(device: str | None) -> float | None:
    """GB (1e9 bytes) of a device as its name, or what is known of it, tells."""
    gib = gib_of(device)
    return gib * GB["GiB"] if gib else None


@cache
def most_room() -> float:
    """GB of the device that has most: what an unknown one has at most."""
    return max(device.memory_gib or 0.0 for device in devices()) * GB["GiB"]


def fitted(printed: Sequence[Setting], failed: Sequence[tuple[Setting, float]]) -> Posterior | None:
    """The memory of runs that print it, with runs that found no room in so many GB.

    Of these the need is above the room: it is taken as the mean of what the fit of the others
    allows above it (EM of a censored normal; Tobin, Econometrica 26, 1958). None for too few runs.
    """
    printed = [one for one in printed if one.memory]
    if len(printed) < _FEWEST:
        return None
    settings = [*printed, *(one for one, _ in failed)]
    rooms = np.array([room for _, room in failed])
    need = rooms * (1 + _SPREAD)
    known = [float(one.memory or 0) for one in printed]
    for _ in range(_ROUNDS if failed else 1):
        noise = [*(0.0 for _ in printed), *(_SPREAD for _ in failed)]
        found = fit(MEMORY, settings, [*known, *need.tolist()], noise, MEMORY_SCALES)
        need = _above(found, len(printed), rooms, need)
    return found


def _above(found: Posterior, first: int, rooms: Array, need: Array) -> Array:
    """The mean need above the room, of the runs from the first failed one on."""
    from scipy.stats import truncnorm

    needs = need.copy()
    for at, room in enumerate(rooms):
        error, deviation = found.left_out([first + at], [first + at])
        mean = math.log(need[at]) - float(error[0])
        low = (math.log(room) - mean) / float(deviation[0])
        of = truncnorm(min(low, 8.0), np.inf, loc=mean, scale=float(deviation[0]))
        needs[at] = math.exp(max(float(of.mean()), math.log(room)))
    return needs
