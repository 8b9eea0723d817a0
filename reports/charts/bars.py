"""Horizontal bars: one value a line, its range as a thin line, its text beside it."""

from collections.abc import Callable, Sequence

from matplotlib.figure import Figure

from .data import Bar
from .panel import Panel, grid, heading_height, new_panel, write_heading, write_x_label
from .style import COLORS, EDGE, INK, MUTED, SMALL, TEXT, WIDTH, points, styled
from .text import LINE, clean, text_width, wrapped
from .ticks import linear_ticks, log_ticks, tick_text

LABEL_WIDEST = 300
NOTE_WIDEST = 200
LINES = 3
ROW = 30
BELOW = 52
LOG_FROM = 30
GAP = 7


def draw_bars(
    bars: Sequence[Bar], title: str, x_label: str, value_text: Callable[[float], str]
) -> Figure:
    """Bars from the shortest down, on a log axis if the longest is far longer."""
    with styled():
        labels = [wrapped(bar.label, TEXT, LABEL_WIDEST, LINES) for bar in bars]
        beside = [_beside(bar, value_text) for bar in bars]
        heights = [max(ROW, len(lines) * TEXT * LINE + 12) for lines in labels]
        left = EDGE + max(text_width(line, TEXT) for lines in labels for line in lines) + 10
        above = heading_height(title, "")
        panel = new_panel(left, EDGE + 10, sum(heights), above, BELOW + EDGE)
        panel.axes.set_ylim(sum(heights), 0)
        log = bars[-1].value > LOG_FROM * bars[0].value
        _axis(panel, bars, [width for _, _, width in beside], log)
        write_heading(panel, title, "", "")
        write_x_label(panel, f"{x_label}, log scale" if log else x_label, BELOW - 14)
        for i, bar in enumerate(bars):
            middle = sum(heights[:i]) + heights[i] / 2
            _draw(panel, bar, middle)
            _write(panel, i, middle, labels[i], beside[i], bar)
        return panel.figure


def _beside(bar: Bar, value_text: Callable[[float], str]) -> tuple[str, str, float]:
    """The value, the note, and the pixels that both take."""
    value = clean(value_text(bar.value))
    note = wrapped(bar.note, SMALL, NOTE_WIDEST, 1)[0] if bar.note and bar.note.strip() else ""
    width = text_width(value, TEXT) + (text_width(note, SMALL) + GAP if note else 0)
    return value, note, width


def _end(bar: Bar) -> float:
    return max(bar.value, bar.high or 0)


def _axis(panel: Panel, bars: Sequence[Bar], widths: Sequence[float], log: bool) -> None:
    """Limits that leave room for the text beside each bar."""
    axes = panel.axes
    low = min(end for bar in bars for end in (bar.value, bar.low) if end and end > 0)
    start = low / 1.6 if log else 0.0
    if log:
        axes.set_xscale("log")
    high = max(map(_end, bars)) * 1.02
    for _ in range(200):
        axes.set_xlim(start, high)
        ends = [
            panel.place(_end(bar), 0)[0] + GAP + width
            for bar, width in zip(bars, widths, strict=True)
        ]
        if max(ends) <= WIDTH - EDGE:
            break
        high = start * (high / start) ** 1.05 if log else high * 1.08
    ticks = log_ticks(start, high, 8) if log else linear_ticks(start, high, 6)
    axes.set_xticks(ticks, [tick_text(tick) for tick in ticks])
    axes.set_xticks([], [], minor=True)
    axes.set_xlim(start, high)
    axes.set_yticks([])
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="x", length=0)
    grid(axes, "x")


def _draw(panel: Panel, bar: Bar, middle: float) -> None:
    start = panel.axes.get_xlim()[0]
    width = bar.value - start
    panel.axes.barh([middle], [width], left=start, height=16, color=COLORS[0], zorder=2)
    ends = [end for end in (bar.low, bar.high) if end is not None]
    if ends:
        low, high = max(min(*ends, bar.value), start), max(*ends, bar.value)
        panel.axes.plot([low, high], [middle, middle], color=INK, linewidth=points(1.4), marker="|",
                        markersize=points(7), zorder=3)  # fmt: skip


def _write(
    panel: Panel, i: int, middle: float, label: Sequence[str],
    beside: tuple[str, str, float], bar: Bar,
) -> None:  # fmt: skip
    x, y = panel.place(_end(bar), middle)
    for n, line in enumerate(label):
        spot = (panel.frame.left - 8, y - (n - (len(label) - 1) / 2) * TEXT * LINE)
        panel.write(spot, line, f"bar-label-{i}-{n}", across="right")
    value, note, _ = beside
    panel.write((x + GAP, y), value, f"bar-value-{i}")
    if note:
        spot = (x + 2 * GAP + text_width(value, TEXT), y)
        panel.write(spot, note, f"bar-note-{i}", size=SMALL, color=MUTED)
