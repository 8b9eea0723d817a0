"""A figure with one pair of axes, laid out in pixels."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from .places import Box, Spot
from .style import (
    AXIS,
    EDGE,
    FAINT,
    GRID,
    INK,
    MUTED,
    SMALL,
    TEXT,
    TITLE,
    WIDTH,
    new_figure,
    points,
    sheet,
)
from .text import LINE, text_width, wrapped

KEY = 26
LOWEST = 120  # pixels of axes, however flat the sheet


@dataclass(frozen=True)
class Panel:
    """The figure, its axes, and where they stand in pixels from the bottom left."""

    figure: Figure
    axes: Axes
    frame: Box
    height: float

    def place(self, x: float, y: float) -> Spot:
        """The pixels of a data point."""
        found = self.axes.transData.transform((x, y))
        return float(found[0]), float(found[1])

    def value(self, spot: Spot) -> Spot:
        """The data point of a pixel."""
        found = self.axes.transData.inverted().transform(spot)
        return float(found[0]), float(found[1])

    def write(
        self, spot: Spot, text: str, name: str, *, size: float = TEXT, color: str = INK,
        across: str = "left", weight: str = "normal",
    ) -> Text:  # fmt: skip
        """Write a text with its middle at this height."""
        return self.figure.text(
            spot[0] / WIDTH, spot[1] / self.height, text, fontsize=points(size), color=color,
            ha=across, va="center", linespacing=1.15, gid=name, weight=weight,
        )  # fmt: skip

    def line(self, start: Spot, end: Spot, **look: object) -> None:
        """A line between two pixels, above or beside the axes."""
        xs, ys = (start[0] / WIDTH, end[0] / WIDTH), (start[1] / self.height, end[1] / self.height)
        line = Line2D(xs, ys, transform=self.figure.transFigure, **look)  # type: ignore[arg-type]
        self.figure.add_artist(line)


def new_panel(left: float, right: float, height: float, above: float, below: float) -> Panel:
    """A panel whose axes are so many pixels high, or fill the sheet, with these margins."""
    footer = wrapped(sheet().footer, SMALL, WIDTH - 2 * EDGE, 3) if sheet().footer else []
    below += len(footer) * SMALL * LINE + (4 if footer else 0)
    ratio = sheet().ratio
    height = max(WIDTH / ratio - above - below, LOWEST) if ratio else height
    total = above + height + below
    figure = new_figure(total)
    frame = Box(left, below, WIDTH - right, below + height)
    axes = figure.add_axes((
        frame.left / WIDTH, frame.bottom / total,
        (frame.right - frame.left) / WIDTH, height / total,
    ))  # fmt: skip
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(AXIS)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=points(SMALL + 1), labelcolor=INK, color=AXIS, length=3)
    panel = Panel(figure, axes, frame, total)
    for n, line in enumerate(reversed(footer)):
        spot = (EDGE, EDGE + (n + 0.5) * SMALL * LINE)
        panel.write(spot, line, f"footer-{n}", size=SMALL, color=MUTED)
    return panel


def grid(axes: Axes, which: str) -> None:
    """Quiet grid lines, fainter ones for minor ticks."""
    axes.grid(which="major", axis=which, color=GRID, linewidth=0.8)  # type: ignore[arg-type]
    axes.grid(which="minor", axis=which, color=FAINT, linewidth=0.6)  # type: ignore[arg-type]
    axes.tick_params(axis=which, which="minor", length=0)  # type: ignore[arg-type]


def heading_height(title: str, y_label: str) -> float:
    """Pixels that the title and the y label take above the axes."""
    lines = len(_title(title)) * TITLE * LINE + (8 if title else 0)
    return EDGE + lines + (TEXT * LINE + 8 if y_label else 0)


def write_heading(panel: Panel, title: str, y_label: str, key: str, key_color: str = MUTED) -> None:
    """The title, the y label below it, and at the right what the dashed lines are."""
    top = panel.height - EDGE
    for n, text in enumerate(_title(title)):
        spot = (EDGE, top - (n + 0.5) * TITLE * LINE)
        panel.write(spot, text, f"title-{n}", size=TITLE, weight="bold")
    middle = panel.frame.top + 8 + TEXT * LINE / 2
    room = float(WIDTH - 2 * EDGE)
    if key:
        width = text_width(key, SMALL)
        panel.write((WIDTH - EDGE, middle), key, "key", size=SMALL, color=MUTED, across="right")
        end = WIDTH - EDGE - width - 6
        dashes = {"linestyle": (0, (4, 2)), "linewidth": points(1.4), "color": key_color}
        panel.line((end - KEY, middle), (end, middle), **dashes)
        room -= width + KEY + 30
    panel.write((EDGE, middle), _one(y_label, room), "y-label")


def write_x_label(panel: Panel, text: str, below: float) -> None:
    """The x label, so many pixels below the axes and in their middle."""
    middle = (panel.frame.left + panel.frame.right) / 2
    spot = (middle, panel.frame.bottom - below)
    panel.write(spot, _one(text, panel.frame.right - panel.frame.left), "x-label", across="center")


def _title(title: str) -> Sequence[str]:
    # Bold letters are wider than the measured ones.
    return wrapped(title, TITLE, (WIDTH - 2 * EDGE) * 0.85, 2) if title.strip() else []


def _one(text: str, width: float) -> str:
    return wrapped(text, TEXT, width, 1)[0]
