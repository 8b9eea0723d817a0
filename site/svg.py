"""Charts as SVG: axes, linked marks, and no inline styles, which the CSP forbids."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup, escape

from ..vocabulary.format import percent, significant

WIDTH, HEIGHT = 520, 320
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 30, 44
RADIUS = 5
SERIES = 8  # distinguishable hues and shapes
_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from values to pixels, with ticks."""

    low: float
    high: float
    begin: float
    end: float
    log: bool
    ticks: tuple[tuple[float, str], ...]

    def at(self, value: float) -> float:
        """The pixel of a value."""
        low, high, value = (
            (math.log(self.low), math.log(self.high), math.log(value))
            if self.log
            else (self.low, self.high, value)
        )
        return self.begin + (value - low) / (high - low) * (self.end - self.begin)


def axis(
    values: Iterable[float],
    begin: float,
    end: float,
    *,
    log: bool = False,
    zero: bool = False,
    whole: bool = False,
    most: int = 6,
    text: Callable[[float], str] | None = None,
) -> Axis:
    """An axis for the values; `zero`: starts at 0, `whole`: integer ticks."""
    found = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    low, high = (min(found), max(found)) if found else (1.0, 1.0)
    if log:
        # Margin as a share of the axis: over decades, a tenth of a value is too little.
        room = 1.25 if high / low < 1.6 else max(1.12, (high / low) ** 0.05)
        low, high = low / room, high * room
        ticks = _log_ticks(low, high, most)
        # With few sizes, these are the ticks.
        if whole and 1 < len(there := sorted({*found})) <= 8 and _apart(there, low, high):
            ticks = there
    else:
        low = min(low, 0.0) if zero else low
        gap = (high - low) or abs(high) or 1.0
        low, high = low - (0 if zero and low == 0 else 0.06 * gap), high + 0.06 * gap
        ticks = _ticks(low, high, most, whole)
    return Axis(low, high, begin, end, log, _texts(ticks, text, not log))


def _apart(values: Sequence[float], low: float, high: float) -> bool:
    """Whether labels at these values do not overlap."""
    gaps = [math.log(b / a) for a, b in pairwise(values)]
    return min(gaps) > 0.07 * math.log(high / low)


def _ticks(low: float, high: float, most: int, whole: bool) -> list[float]:
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step * power for step in _STEPS if step * power >= rough * 0.999)
    step = max(step, 1.0) if whole else step
    first = math.ceil(low / step - 1e-9)
    return [n * step for n in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    """Powers of ten, with 2 and 5 if there is room; linear ticks for a short range."""
    if high / low < 3:
        return [tick for tick in _ticks(low, high, most - 1, False) if tick > 0]
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for parts in ((1, 2, 5), (1, 3), (1,)):
        found = [
            part * 10.0**power
            for power in powers
            for part in parts
            if low <= part * 10.0**power <= high
        ]
        if len(found) <= most:
            return found
    return found[:: -(-len(found) // most)]


def _texts(
    ticks: Sequence[float], text: Callable[[float], str] | None, is_even: bool
) -> tuple[tuple[float, str], ...]:
    """Tick labels with the digits needed to distinguish them, of even steps as many in each."""
    for digits in range(1, 8):
        made = [_tick(tick, text, digits) for tick in ticks]
        exact = text not in (None, percent) or all(map(_is_exact, ticks, made))
        if len(set(made)) == len(made) and exact:
            break
    if not text and is_even and not any("e" in tick for tick in made):
        decimals = max(len(tick.partition(".")[2]) for tick in made) if made else 0
        made = [f"{tick:,.{decimals}f}" for tick in ticks]
    return tuple(zip(ticks, made, strict=True))


def _tick(tick: float, text: Callable[..., str] | None, digits: int) -> str:
    if text is percent:
        return percent(tick, digits - 1)
    return text(tick) if text else plain(tick, digits)


def _is_exact(tick: float, label: str) -> bool:
    share = label.removesuffix("%")
    value = float(share.replace(",", "")) / (100 if share != label else 1)
    return math.isclose(value, tick, rel_tol=1e-9, abs_tol=1e-12)


def plain(value: float, digits: int = 3) -> str:
    """A number for an axis, without trailing zeros."""
    text, e, power = significant(value, digits).partition("e")
    return (text.rstrip("0").rstrip(".") if "." in text else text) + e + power


@dataclass(frozen=True, slots=True)
class Mark:
    """A linked point of a chart; `look` is a style class: estimated, left-out, copied, ..."""

    x: float
    y: float
    note: str
    href: str = ""
    run: str = ""
    series: int = 0
    look: str = ""
    label: str = ""  # distinguishes it within its chart
    low: float | None = None
    high: float | None = None

    @property
    def uncounted(self) -> bool:
        """Whether its run is left out of rankings."""
        return self.look in ("left-out", "copied")


def shape(series: int, x: float, y: float, radius: float = RADIUS) -> str:
    """The shape of a series at a point, so that series differ without colour."""
    r, kind = radius, series % SERIES
    if kind == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>'
    corners = {
        1: ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        2: ((0, -1.25), (1.15, 0.85), (-1.15, 0.85)),
        3: ((0, -1.35), (1.35, 0), (0, 1.35), (-1.35, 0)),
        4: ((0, 1.25), (1.15, -0.85), (-1.15, -0.85)),
        5: (
            (-1.2, -0.45),
            (-0.45, -0.45),
            (-0.45, -1.2),
            (0.45, -1.2),
            (0.45, -0.45),
            (1.2, -0.45),
            (1.2, 0.45),
            (0.45, 0.45),
            (0.45, 1.2),
            (-0.45, 1.2),
            (-0.45, 0.45),
            (-1.2, 0.45),
        ),
        6: ((-1.25, 0), (-0.62, -1.08), (0.62, -1.08), (1.25, 0), (0.62, 1.08), (-0.62, 1.08)),
        7: ((-1.3, -0.6), (1.3, -0.6), (1.3, 0.6), (-1.3, 0.6)),
    }[kind]
    points = " ".join(f"{x + r * dx:.1f},{y + r * dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}"/>'


def mark(one: Mark, x: float, y: float, root: str, whisker: str = "") -> str:
    """The SVG of a linked mark."""
    href = f' href="{escape(root + one.href)}"' if one.href else ""
    run = f' data-run="{escape(one.run)}"' if one.run else ""
    return (
        f'<a class="mark s{one.series % SERIES + 1} {one.look}"{href} data-x="{one.x:.6g}" '
        f'data-y="{one.y:.6g}"{run}>'
        f"<title>{escape(one.note)}</title>{whisker}{shape(one.series, x, y)}</a>"
    )


def words(x: float, y: float, text: str, look: str = "tick", anchor: str = "start") -> str:
    """The SVG of a text."""
    side = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{look}" x="{x:.1f}" y="{y:.1f}"{side}>{escape(text)}</text>'


def stroke(x1: float, y1: float, x2: float, y2: float, look: str) -> str:
    """The SVG of a straight line."""
    return f'<line class="{look}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def frame(x: Axis, y: Axis, x_title: str, y_title: str, height: int = HEIGHT) -> str:
    """Grid, ticks and titles of a chart."""
    left, right = min(x.begin, x.end), max(x.begin, x.end)
    bottom = max(y.begin, y.end)
    parts = [
        stroke(left, y.at(v), right, y.at(v), "rule")
        + words(left - 6, y.at(v) + 4, t, anchor="end")
        for v, t in y.ticks
    ]
    parts += [
        stroke(x.at(v), bottom, x.at(v), bottom + 4, "notch")
        + words(x.at(v), bottom + 17, t, anchor="middle")
        for v, t in x.ticks
    ]
    parts.append(stroke(left, bottom, right, bottom, "axis"))
    parts.append(words((left + right) / 2, height - 6, x_title, "name", "middle"))
    parts.append(words(4, 13, y_title, "name") if y_title else "")
    return "".join(parts)


def path(points: Sequence[tuple[float, float]], look: str) -> str:
    """A line through points."""
    if len(points) < 2:
        return ""
    steps = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline class="line {look}" points="{steps}"/>'


def drawing(id: str, body: str, width: int = WIDTH, height: int = HEIGHT) -> Markup:
    """The SVG of a figure, named by its caption."""
    return Markup(
        f'<svg role="group" aria-labelledby="{escape(id)}-caption" '
        f'viewBox="0 0 {width} {height}">{body}</svg>'
    )


def legend(names: Sequence[tuple[int, str]]) -> Markup:
    """The legend of series by shape and colour."""
    if len(names) < 2:
        return Markup("")
    items = "".join(
        '<li><svg class="key" viewBox="0 0 16 16" aria-hidden="true">'
        f'<g class="mark s{n % SERIES + 1}">'
        f"{shape(n, 8, 8)}</g></svg>{escape(name)}</li>"
        for n, name in names
    )
    return Markup(f'<ul class="legend">{items}</ul>')
