"""Predicted against measured values, with intervals, and the line of equality."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from .panel import heading_height, new_panel
from .style import COLORS, DASHES, EDGE, MUTED, SMALL, points, styled
from .text import text_width
from .ticks import log_limits, log_ticks, tick_text

HEIGHT, BELOW = 420, 52
INSIDE, OUTSIDE = COLORS[0], COLORS[1]


@dataclass(frozen=True, slots=True)
class Pair:
    """A measured value, its prediction without it, and the ends of its interval."""

    measured: float
    predicted: float
    low: float
    high: float

    @property
    def covered(self) -> bool:
        """Whether the interval includes the measured value."""
        return self.low <= self.measured <= self.high


def draw_agreement(pairs: Sequence[Pair], title: str, unit: str) -> Figure:
    """A mark per run on equal log axes; hollow if the interval misses the measured value."""
    with styled():
        values = [
            end for pair in pairs for end in (pair.measured, pair.predicted, pair.low, pair.high)
        ]
        low, high = log_limits(values, 0.05, 1.1)
        ticks = log_ticks(low, high, 8)
        texts = list(map(tick_text, ticks))
        left = EDGE + max(text_width(text, SMALL + 1) for text in texts) + 10
        y_label = f"Predicted {unit}, with the run's configuration left out"
        panel = new_panel(left, EDGE + 24, HEIGHT, heading_height(title, y_label), BELOW + EDGE)
        axes = panel.axes
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(ticks, texts)
        axes.set_yticks(ticks, texts)
        axes.set_xticks([], [], minor=True)
        axes.set_yticks([], [], minor=True)
        axes.set_xlim(low, high)
        axes.set_ylim(low, high)
        panel.grid("y")
        panel.write_heading(title, y_label, "predicted as measured")
        panel.write_x_label(f"Measured {unit} (hollow: outside of the interval)", BELOW - 14)
        axes.plot([low, high], [low, high], color=MUTED, linewidth=points(1.4), linestyle=DASHES)
        for pair in pairs:
            color = INSIDE if pair.covered else OUTSIDE
            axes.plot([pair.measured] * 2, [pair.low, pair.high], color=color, alpha=0.5,
                      linewidth=points(1.2), zorder=2)  # fmt: skip
            axes.plot(
                [pair.measured], [pair.predicted], linestyle="", marker="o", markersize=points(6),
                color=color, markerfacecolor=color if pair.covered else "white",
                markeredgewidth=points(1.3), zorder=3,
            )  # fmt: skip
        return panel.figure
