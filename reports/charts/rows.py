"""Rows of configurations, with names at the left: bars of values, and dots of effects."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from ...vocabulary.format import times
from .data import Bar
from .panel import Panel, heading_height, new_panel
from .style import COLORS, DASHES, EDGE, INK, MUTED, SMALL, TEXT, WIDTH, points, sheet, styled
from .text import LINE, clean, text_width, wrapped
from .ticks import linear_ticks, log_ticks, tick_text

LABEL_WIDEST, NOTE_WIDEST = 300, 195
ROW, LINES, BELOW, GAP = 29, 4, 52, 8
LOG_FROM = 30  # ratio to the shortest bar from which a linear axis would hide it
ROOMY = 7  # rows of a slide with room for two lines
_ESTIMATED: dict[str, Any] = {"facecolor": "white", "edgecolor": COLORS[0], "hatch": "////"}
_FASTER, _SLOWER = COLORS[2], COLORS[1]


@dataclass(frozen=True)
class Rows:
    """The texts of rows, wrapped and measured: names at the left, a value and note at the right."""

    size: float
    labels: list[list[str]]
    values: list[str]
    notes: list[str]

    @property
    def heights(self) -> list[float]:
        """Pixels of each row, from the top."""
        return [max(ROW, len(lines) * self.size * LINE + 10) for lines in self.labels]

    @property
    def left(self) -> float:
        """Pixels of the names and the gap after them."""
        return EDGE + max(text_width(t, self.size) for lines in self.labels for t in lines) + 14

    def width_of_value(self, i: int) -> float:
        """Pixels of the value and note of a row."""
        note = self.notes[i]
        width = text_width(self.values[i], TEXT)
        return GAP + width + (GAP + text_width(note, SMALL) if note else 0)

    def middle(self, i: int) -> float:
        """The height of a row, in the axes' own units: pixels from their top."""
        return sum(self.heights[:i]) + self.heights[i] / 2

    def panel(self, right: float, title: str, x_label: str) -> Panel:
        """A panel with these rows and no axis yet."""
        height = sum(self.heights)
        panel = new_panel(self.left, right, height, heading_height(title, ""), BELOW + EDGE)
        panel.axes.set_ylim(height, 0)
        panel.axes.set_yticks([])
        panel.axes.spines["bottom"].set_visible(False)
        panel.write_heading(title)
        panel.write_x_label(x_label, BELOW - 14)
        return panel

    def write(self, panel: Panel, i: int, x: float) -> None:
        """The texts of a row; its value begins right of the pixel `x`."""
        y = panel.place(panel.axes.get_xlim()[1], self.middle(i))[1]
        label = (panel.frame.x0 - 8, y)
        panel.write(label, self.labels[i], f"row-label-{i}", size=self.size, across="right")
        panel.write((x + GAP, y), [self.values[i]], f"row-value-{i}")
        if self.notes[i]:
            spot = (x + 2 * GAP + text_width(self.values[i], TEXT), y)
            panel.write(spot, [self.notes[i]], f"row-note-{i}", size=SMALL, color=MUTED)


def measured_rows(bars: Sequence[Bar], value_text: Callable[[float], str]) -> Rows:
    """The texts of bars, wrapped."""
    size, lines, widest = TEXT, LINES, LABEL_WIDEST
    if sheet().ratio and len(bars) > ROOMY:  # a slide has room only for small letters
        size, lines, widest = SMALL - 1, 2, LABEL_WIDEST + 60
    return Rows(
        size,
        [wrapped(bar.label, size, widest, lines) for bar in bars],
        [clean(value_text(bar.value)) for bar in bars],
        [wrapped(bar.note, SMALL, NOTE_WIDEST, 1)[0] if bar.note else "" for bar in bars],
    )


def draw_bars(
    bars: Sequence[Bar], title: str, x_label: str, value_text: Callable[[float], str]
) -> Figure:
    """Bars in the given order, on a log axis if the longest is far longer; estimates hatched."""
    with styled():
        rows = measured_rows(bars, value_text)
        values = [bar.value for bar in bars]
        log = max(values) > LOG_FROM * min(values)
        if any(bar.estimated for bar in bars):
            x_label += " (hatched: estimated)"
        panel = rows.panel(EDGE, title, f"{x_label}, log scale" if log else x_label)
        start, high = _bar_limits(panel, rows, bars, log)
        ticks = log_ticks(start, high, 8) if log else linear_ticks(start, high, 6)
        panel.axes.set_xticks(ticks, list(map(tick_text, ticks)))
        panel.axes.set_xticks([], [], minor=True)
        panel.axes.set_xlim(start, high)
        panel.grid("x")
        for i, bar in enumerate(bars):
            width = bar.value - start
            middle = rows.middle(i)
            look = _ESTIMATED if bar.estimated else {"color": COLORS[0]}
            panel.axes.barh([middle], [width], left=start, height=16, zorder=2, **look)
            ends = [end for end in (bar.low, bar.high) if end is not None]
            if ends:
                ends = [max(min(*ends, bar.value), start), max(*ends, bar.value)]
                draw_range(panel, ends, middle, INK)
            rows.write(panel, i, panel.place(_end(bar), 0)[0])
        return panel.figure


def _end(bar: Bar) -> float:
    return max(bar.value, bar.high or 0)


def _bar_limits(panel: Panel, rows: Rows, bars: Sequence[Bar], log: bool) -> tuple[float, float]:
    """Limits with room for the text right of each bar."""
    low = min(end for bar in bars for end in (bar.value, bar.low) if end and end > 0)
    start = low / 1.6 if log else 0.0
    panel.axes.set_xscale("log" if log else "linear")
    high = max(map(_end, bars)) * 1.02
    for _ in range(200):  # a wider axis moves every bar, so the room is found by iteration
        panel.axes.set_xlim(start, high)
        ends = [panel.place(_end(bar), 0)[0] + rows.width_of_value(i) for i, bar in enumerate(bars)]
        if max(ends) <= WIDTH - EDGE:
            break
        high = start * (high / start) ** 1.05 if log else high * 1.08
    return start, high


def draw_effects(bars: Sequence[Bar], sure: Sequence[bool], title: str, x_label: str) -> Figure:
    """Speed-ups with their intervals, in the given order; dots of significant effects are
    filled."""
    with styled():
        rows = measured_rows(bars, times)
        right = max(rows.width_of_value(i) for i in range(len(bars)))
        panel = rows.panel(EDGE + right, title, x_label)
        values = [
            1.0,
            *(e for bar in bars for e in (bar.value, bar.low, bar.high) if e is not None),
        ]
        room = max(max(values) - min(values), 0.02) * 0.06
        low, high = min(values) - room, max(values) + room
        ticks = linear_ticks(low, high, 6)
        panel.axes.set_xticks(ticks, [f"{tick_text(tick)}x" for tick in ticks])
        panel.axes.set_xlim(low, high)
        panel.grid("x")
        panel.axes.axvline(1, color=MUTED, linewidth=points(1.4), linestyle=DASHES, zorder=1)
        for i, bar in enumerate(bars):
            color = _FASTER if bar.value > 1 else _SLOWER
            if bar.low is not None and bar.high is not None:
                draw_range(panel, [bar.low, bar.high], rows.middle(i), color)
            panel.axes.plot(
                [bar.value], [rows.middle(i)], linestyle="", marker="o", markersize=points(8),
                color=color, markerfacecolor=color if sure[i] else "white",
                markeredgewidth=points(1.5), zorder=3,
            )  # fmt: skip
            rows.write(panel, i, panel.frame.x1)
        return panel.figure


def draw_range(panel: Panel, ends: Sequence[float], middle: float, color: str) -> None:
    """A thin bar between the ends of a range."""
    panel.axes.plot(ends, [middle, middle], color=color, linewidth=points(1.5), marker="|",
                    markersize=points(7), zorder=3)  # fmt: skip
