"""Where axes are marked: plain numbers, few enough to read."""

import math
from collections.abc import Sequence

from ..format import number
from .places import Spot
from .text import text_width

GAP = 10
STEPS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))


def tick_text(x: float) -> str:
    """A tick as plain as can be: 64, 0.5, 2,048, 1e-5."""
    return number(float(f"{x:.6g}"))


def log_limits(values: Sequence[float], share: float, least: float) -> Spot:
    """Limits around the values on a log axis: a share of their span, or a least factor."""
    low, high = min(values), max(values)
    factor = max(least, (high / low) ** share)
    return low / factor, high * factor


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers between the limits of a log axis, four of them or more where that can be."""
    found: list[float] = []
    for steps in STEPS:
        ticks = _multiples(steps, low, high)
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
    return _multiples([float(n) for n in range(1, 10)], low, high)


def linear_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers at equal steps."""
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(n * power for n in (1, 2, 2.5, 5, 10) if n * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{n * step:.6g}") for n in range(first, last + 1)]


def value_ticks(values: Sequence[float], places: Sequence[float], size: float) -> list[float]:
    """The values themselves where their texts fit, powers of two where they are many."""
    both = list(zip(values, places, strict=True))
    powers = [(x, place) for x, place in both if math.log2(x).is_integer()]
    if len(both) > 12 and len(powers) >= 4:
        both = powers
    found: list[float] = []
    edge = -math.inf
    for x, place in both:
        half = text_width(tick_text(x), size) / 2
        if place - half >= edge + GAP:
            found.append(x)
            edge = place + half
    return found


def _multiples(steps: Sequence[float], low: float, high: float) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [float(f"{step}e{decade}") for decade in decades for step in steps]
    return [tick for tick in ticks if low <= tick <= high]
