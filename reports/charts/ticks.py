"""Ticks of axes: plain numbers, few enough to read."""

import math
from collections.abc import Sequence

from matplotlib.ticker import LogLocator, MaxNLocator

from ...vocabulary.format import number
from .text import text_width

GAP = 10
# Multiples of a power of ten, from few to many: a narrow span needs more of them.
SUBS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
DECADE = tuple(float(n) for n in range(1, 10))


def tick_text(x: float) -> str:
    """A tick in the plainest format: 64, 0.5, 2,048, 1e-5."""
    return number(float(f"{x:.6g}"))


def log_limits(values: Sequence[float], share: float, least: float) -> tuple[float, float]:
    """Limits around the values on a log axis: a share of their span, or a least factor."""
    low, high = min(values), max(values)
    factor = max(least, (high / low) ** share)
    return low / factor, high * factor


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers between the limits of a log axis, four of them or more if possible."""
    found: list[float] = []
    for subs in SUBS:
        ticks = _multiples(subs, low, high)
        if found and len(ticks) > most:
            break
        found = ticks
        if len(found) >= 4:
            break
    if len(found) > most:
        return found[:: math.ceil(len(found) / most)]
    return found if len(found) >= 3 else linear_ticks(low, high, 5)


def minor_ticks(low: float, high: float) -> list[float]:
    """The nine steps of each decade, for faint grid lines."""
    return _multiples(DECADE, low, high)


def linear_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers at equal steps."""
    ticks = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return _ticks_between(ticks, low, high)


def value_ticks(values: Sequence[float], places: Sequence[float], size: float) -> list[float]:
    """The values themselves if their texts fit, powers of two for many values."""
    both = list(zip(values, places, strict=True))
    powers = [(x, place) for x, place in both if math.log2(x).is_integer()]
    found: list[float] = []
    edge = -math.inf
    for x, place in powers if len(both) > 12 and len(powers) >= 4 else both:
        half = text_width(tick_text(x), size) / 2
        if place - half >= edge + GAP:
            found.append(x)
            edge = place + half
    return found


def _multiples(subs: Sequence[float], low: float, high: float) -> list[float]:
    # More decades than `numticks` would be thinned by matplotlib's own rule.
    ticks = LogLocator(10, subs, numticks=10_000).tick_values(low, high)
    return _ticks_between(ticks, low, high)


def _ticks_between(ticks: Sequence[float], low: float, high: float) -> list[float]:
    rounded = [float(f"{tick:.6g}") for tick in ticks]
    slack = (high - low) * 1e-9
    return [tick for tick in rounded if low - slack <= tick <= high + slack]
