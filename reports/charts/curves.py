"""Curves over time or iterations: names at their ends, marks at their changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from .labels import END, spread
from .panel import Panel, heading_height, new_panel
from .style import AXIS, DASHES, EDGE, SMALL, look, points, styled
from .text import LINE, text_width, wrapped
from .ticks import linear_ticks, log_limits, log_ticks, tick_text

HEIGHT, BELOW = 320, 52
LOG_FROM = 30  # ratio to the smallest value from which a linear axis would hide it
WIDEST = 230  # pixels of a name
_DOTS = 60  # values of a curve with markers: more would overlap


@dataclass(frozen=True)
class Curve:
    """Values in order of x; `marks` are places on it with short texts, `levels` stretches from one
    x to another with their typical value.

    `quiet` is drawn pale, below the others, without a name: single steps under their median.
    """

    name: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    marks: tuple[tuple[float, str], ...] = ()
    levels: tuple[tuple[float, float, float], ...] = ()
    quiet: bool = False


def draw_curves(
    curves: Sequence[Curve],
    title: str,
    x_label: str,
    y_label: str,
    ticks: Sequence[tuple[float, str]] = (),
    unit: str = "",
) -> Figure:
    """The chart; `ticks` name places of the x axis, which is numeric without them."""
    with styled():
        named = [one for one in curves if not one.quiet]
        several = len(named) > 1
        texts = [wrapped(one.name, END, WIDEST, 2) for one in named] if several else []
        right = EDGE + (
            max(text_width(t, END) for lines in texts for t in lines) + 14 if texts else 24
        )
        values = [y for one in curves for y in one.ys]
        log = min(values) > 0 and max(values) > LOG_FROM * min(values)
        low, high = _limits(values, log)
        y_ticks = log_ticks(low, high, 8) if log else linear_ticks(low, high, 6)
        left = EDGE + max(text_width(tick_text(y) + unit, SMALL + 1) for y in y_ticks) + 10
        above = heading_height(title, y_label)
        panel = new_panel(left, right, HEIGHT, above, BELOW + EDGE)
        axes = panel.axes
        axes.set_yscale("log" if log else "linear")
        axes.set_yticks(y_ticks, [tick_text(y) + unit for y in y_ticks])
        axes.set_yticks([], [], minor=True)
        axes.set_ylim(low, high)
        _x_axis(panel, curves, ticks)
        panel.grid("y")
        panel.write_heading(title, f"{y_label}, log scale" if log else y_label)
        panel.write_x_label(x_label, BELOW - 14)
        for n, one in enumerate(named):
            _draw(panel, one, n)
        for one in curves:
            if one.quiet:
                axes.plot(one.xs, one.ys, color=AXIS, linewidth=points(0.8), alpha=0.6, zorder=1)
        if several:
            _write_names(panel, named, texts)
        for n, one in enumerate(named):
            _write_marks(panel, n, one)
        return panel.figure


def _limits(values: Sequence[float], log: bool) -> tuple[float, float]:
    low, high = min(values), max(values)
    if log:
        return log_limits(values, 0.07, 1.15)
    room = max(high - low, abs(high) * 0.02, 1e-12) * 0.12
    # From zero unless that flattens the curves.
    return (0.0 if 0 <= low < high / 3 else low - room), high + 1.5 * room


def _x_axis(panel: Panel, curves: Sequence[Curve], ticks: Sequence[tuple[float, str]]) -> None:
    every = [x for one in curves for x in one.xs]
    low, high = min(every), max(every)
    room = max(high - low, 1) * 0.03
    panel.axes.set_xlim(low - room, high + room)
    if not ticks:
        whole = all(float(x).is_integer() for x in every)  # there is no step 1.5
        places = [x for x in linear_ticks(low, high, 7) if not whole or float(x).is_integer()]
        ticks = [(x, tick_text(x)) for x in places]
    edge, kept = -1.0, list[tuple[float, str]]()
    for x, text in ticks:
        place, half = panel.place(x, 1)[0], text_width(text, SMALL + 1) / 2
        if place - half > edge:
            kept.append((x, text))
            edge = place + half + 10
    panel.axes.set_xticks([x for x, _ in kept], [text for _, text in kept])


def _draw(panel: Panel, one: Curve, n: int) -> None:
    style = look(n)
    marker = style.marker if len(one.xs) <= _DOTS else ""
    panel.axes.plot(
        one.xs, one.ys, color=style.color, linewidth=points(1.6), marker=marker,
        markersize=points(6), markerfacecolor=style.color if style.filled else "white",
        markeredgewidth=points(1.2), zorder=3, clip_on=False,
    )  # fmt: skip


def _write_names(panel: Panel, curves: Sequence[Curve], texts: Sequence[list[str]]) -> None:
    """Each name right of the end of its curve, moved apart where they would overlap."""
    ends = [panel.place(one.xs[-1], one.ys[-1]) for one in curves]
    heights = [len(lines) * END * LINE + 3 for lines in texts]
    middles = spread([y for _, y in ends], heights, panel.frame.y0, panel.frame.y1)
    x = float(panel.frame.x1) + 8
    for n, (end, middle) in enumerate(zip(ends, middles, strict=True)):
        if abs(middle - end[1]) > 6 or x - end[0] > 40:
            panel.line((end[0] + 6, end[1]), (x - 2, middle), color=AXIS, linewidth=points(0.8))
        panel.write((x, middle), texts[n], f"end-label-{n}", size=END, color=look(n).color)


def _write_marks(panel: Panel, n: int, one: Curve) -> None:
    """The level of each stretch as a pale line, with a text at its start."""
    color = look(n).color
    for begin, end, y in one.levels:
        panel.axes.plot([begin, end], [y, y], color=color, linewidth=points(6), alpha=0.22,
                        solid_capstyle="butt", zorder=2)  # fmt: skip
    for x, words in one.marks:
        place = panel.place(x, one.ys[one.xs.index(x)])[0]
        top = float(panel.frame.y1) - n * SMALL * LINE
        panel.axes.axvline(x, color=color, linewidth=points(1), linestyle=DASHES, zorder=1)
        half = text_width(words, SMALL) / 2
        fits = place + 2 * half + 4 < panel.frame.x1
        middle = place + half + 4 if fits else place - half - 4
        panel.write((middle, top), [words], f"mark-{n}", size=SMALL, color=color, across="center")
