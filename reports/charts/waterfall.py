"""Parts that add up to a whole: each bar begins at the end of the one above it."""

from collections.abc import Callable, Sequence
from itertools import accumulate

from matplotlib.figure import Figure

from .data import Bar
from .rows import draw_range, measured_rows
from .style import AXIS, COLORS, EDGE, INK, WIDTH, points, styled
from .ticks import linear_ticks, tick_text

ADDS, TAKES, WHOLE = COLORS[0], COLORS[2], INK


def draw_waterfall(
    parts: Sequence[Bar], whole: Bar, title: str, x_label: str, value_text: Callable[[float], str]
) -> Figure:
    """The parts from the top, then the whole with its range; a part below zero goes back."""
    with styled():
        bars = [*parts, whole]
        rows = measured_rows(bars, value_text)
        panel = rows.panel(EDGE, title, x_label)
        starts = [0.0, *accumulate(part.value for part in parts[:-1]), 0.0]
        ends = [start + bar.value for start, bar in zip(starts, bars, strict=True)]
        reach = [max(pair) for pair in zip(starts, ends, strict=True)]
        reach[-1] = max(reach[-1], whole.high or 0.0)
        low = min(0.0, *starts, *ends)
        high = max(reach) * 1.02
        for _ in range(200):  # a wider axis moves every bar, so the room is found by iteration
            panel.axes.set_xlim(low, high)
            texts = [panel.place(x, 0)[0] + rows.width_of_value(i) for i, x in enumerate(reach)]
            if max(texts) <= WIDTH - EDGE:
                break
            high *= 1.08
        ticks = linear_ticks(low, high, 6)
        panel.axes.set_xticks(ticks, list(map(tick_text, ticks)))
        panel.axes.set_xlim(low, high)
        panel.grid("x")
        for i, (bar, start) in enumerate(zip(bars, starts, strict=True)):
            middle = rows.middle(i)
            color = WHOLE if i == len(parts) else ADDS if bar.value >= 0 else TAKES
            panel.axes.barh([middle], [bar.value], left=start, height=16, zorder=2, color=color)
            if i < len(parts) - 1:
                panel.axes.plot([ends[i], ends[i]], [middle, rows.middle(i + 1)], color=AXIS,
                                linewidth=points(1), zorder=1)  # fmt: skip
            if bar.low is not None and bar.high is not None:
                draw_range(panel, [bar.low, bar.high], middle, COLORS[1])
            rows.write(panel, i, panel.place(reach[i], 0)[0])
        return panel.figure
