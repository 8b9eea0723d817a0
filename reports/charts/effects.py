"""Effects: a dot and its interval for each configuration, beside the line of no change."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from ..format import times
from .data import Bar
from .panel import Panel, grid, heading_height, new_panel, write_heading, write_x_label
from .style import COLORS, EDGE, INK, MUTED, SMALL, TEXT, WIDTH, points, sheet, styled
from .text import LINE, text_width, wrapped
from .ticks import linear_ticks, tick_text

LABEL_WIDEST, NOTE_WIDEST = 260, 190
ROOMY = 7  # rows of a slide that may have two lines
ROW, LINES, BELOW, GAP = 28, 4, 52, 8
_FASTER, _SLOWER = COLORS[2], COLORS[1]


def draw_effects(bars: Sequence[Bar], sure: Sequence[bool], title: str, x_label: str) -> Figure:
    """Rows in the order given; filled dots where the effect is sure."""
    with styled():
        size, lines, widest = TEXT, LINES, LABEL_WIDEST
        if sheet().ratio and len(bars) > ROOMY:  # a slide has no room for two lines each
            size, lines, widest = SMALL, 1, LABEL_WIDEST + 70
        labels = [wrapped(bar.label, size, widest, lines) for bar in bars]
        notes = [wrapped(bar.note, SMALL, NOTE_WIDEST, 1)[0] if bar.note else "" for bar in bars]
        values = [times(bar.value) for bar in bars]
        heights = [max(ROW, len(label) * size * LINE + 10) for label in labels]
        left = EDGE + max(text_width(line, size) for label in labels for line in label) + 18
        right = EDGE + max(
            text_width(value, TEXT) + (GAP + text_width(note, SMALL) if note else 0)
            for value, note in zip(values, notes, strict=True)
        )
        above = heading_height(title, "")
        panel = new_panel(left, right + GAP, sum(heights), above, BELOW + EDGE)
        panel.axes.set_ylim(sum(heights), 0)
        _axis(panel, bars)
        write_heading(panel, title, "", "")
        write_x_label(panel, x_label, BELOW - 14)
        for i, bar in enumerate(bars):
            middle = sum(heights[:i]) + heights[i] / 2
            _draw(panel, bar, sure[i], middle)
            _write(panel, i, middle, labels[i], values[i], notes[i], size)
        return panel.figure


def _axis(panel: Panel, bars: Sequence[Bar]) -> None:
    values = [end for bar in bars for end in (bar.value, bar.low, bar.high) if end is not None]
    ends = [1.0, *values]
    low, high = min(ends), max(ends)
    room = max(high - low, 0.02) * 0.06
    axes = panel.axes
    ticks = linear_ticks(low - room, high + room, 6)
    axes.set_xticks(ticks, [f"{tick_text(tick)}x" for tick in ticks])
    axes.set_xlim(low - room, high + room)
    axes.set_yticks([])
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="x", length=0)
    grid(axes, "x")
    axes.axvline(1, color=MUTED, linewidth=points(1.4), linestyle=(0, (4, 2)), zorder=1)


def _draw(panel: Panel, bar: Bar, sure: bool, middle: float) -> None:
    ends = [end for end in (bar.low, bar.high) if end is not None]
    color = _FASTER if bar.value > 1 else _SLOWER
    if len(ends) == 2:
        panel.axes.plot(ends, [middle, middle], color=color, linewidth=points(1.6),
                        marker="|", markersize=points(7), zorder=2)  # fmt: skip
    panel.axes.plot(
        [bar.value], [middle], linestyle="", marker="o", markersize=points(8), color=color,
        markerfacecolor=color if sure else "white", markeredgewidth=points(1.5), zorder=3,
    )  # fmt: skip


def _write(
    panel: Panel, i: int, middle: float, label: Sequence[str], value: str, note: str, size: float
) -> None:
    y = panel.place(1, middle)[1]
    for n, line in enumerate(label):
        spot = (panel.frame.left - 10, y - (n - (len(label) - 1) / 2) * size * LINE)
        panel.write(spot, line, f"effect-label-{i}-{n}", size=size, across="right")
    x = panel.frame.right + GAP
    panel.write((x, y), value, f"effect-value-{i}", color=INK)
    if note:
        spot = (min(x + text_width(value, TEXT) + GAP, WIDTH), y)
        panel.write(spot, note, f"effect-note-{i}", size=SMALL, color=MUTED)
