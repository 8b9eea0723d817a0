"""A figure with one pair of axes, laid out in pixels: margins, heading, ticks, legend."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from .style import (
    AXIS,
    DASHES,
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

Spot = tuple[float, float]
KEY = 26
LOWEST = 120  # minimal pixels of axes on a flat sheet
TICK = SMALL + 1


@dataclass(frozen=True)
class Panel:
    """The figure, its axes, and their position in pixels from the bottom left."""

    figure: Figure
    axes: Axes
    frame: Bbox
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
        self, spot: Spot, lines: Sequence[str], name: str, *, size: float = TEXT, color: str = INK,
        across: str = "left", weight: str = "normal",
    ) -> Text:  # fmt: skip
        """Write lines of text with their middle at this height."""
        return self.figure.text(
            spot[0] / WIDTH, spot[1] / self.height, "\n".join(lines), fontsize=points(size),
            color=color, ha=across, va="center", linespacing=LINE, gid=name, weight=weight,
            multialignment=across,
        )  # fmt: skip

    def line(self, start: Spot, end: Spot, **look: object) -> None:
        """A line between two pixels, above or next to the axes."""
        xs, ys = (start[0] / WIDTH, end[0] / WIDTH), (start[1] / self.height, end[1] / self.height)
        line = Line2D(xs, ys, transform=self.figure.transFigure, **look)  # type: ignore[arg-type]
        self.figure.add_artist(line)

    def write_heading(self, title: str, y_label: str = "", key: str = "") -> None:
        """The title, the y label below it, and at the right the meaning of the dashed lines."""
        lines = _title(title)
        top = self.height - EDGE - len(lines) * TITLE * LINE / 2
        self.write((EDGE, top), lines, "title-0", size=TITLE, weight="bold")
        middle = self.frame.y1 + 8 + TEXT * LINE / 2
        room = float(WIDTH - 2 * EDGE)
        if key:
            width = text_width(key, SMALL)
            self.write((WIDTH - EDGE, middle), [key], "key", size=SMALL, color=MUTED,
                       across="right")  # fmt: skip
            end = WIDTH - EDGE - width - 6
            dashes = {"linestyle": DASHES, "linewidth": points(1.4), "color": MUTED}
            self.line((end - KEY, middle), (end, middle), **dashes)
            room -= width + KEY + 30
        self.write((EDGE, middle), wrapped(y_label, TEXT, room, 1), "y-label")

    def write_x_label(self, text: str, below: float) -> None:
        """The x label, this many pixels below the axes and centered."""
        spot = ((self.frame.x0 + self.frame.x1) / 2, self.frame.y0 - below)
        self.write(spot, wrapped(text, TEXT, self.frame.width, 1), "x-label", across="center")

    def grid(self, axis: Literal["x", "y"]) -> None:
        """Quiet grid lines, fainter ones for minor ticks."""
        self.axes.grid(which="major", axis=axis, color=GRID, linewidth=0.8)
        self.axes.grid(which="minor", axis=axis, color=FAINT, linewidth=0.6)
        self.axes.tick_params(axis=axis, which="both", length=0)


def new_panel(left: float, right: float, height: float, above: float, below: float) -> Panel:
    """A panel with axes of this height in pixels, or filling the sheet, with these margins."""
    footer = wrapped(sheet().footer, SMALL, WIDTH - 2 * EDGE, 3) if sheet().footer else []
    foot = len(footer) * SMALL * LINE
    below += foot + (4 if footer else 0)
    ratio = sheet().ratio
    height = max(WIDTH / ratio - above - below, LOWEST) if ratio else height
    total = above + height + below
    figure = new_figure(total)
    frame = Bbox.from_extents(left, below, WIDTH - right, below + height)
    size = ((WIDTH - left - right) / WIDTH, height / total)
    axes = figure.add_axes((left / WIDTH, below / total, *size))
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(AXIS)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=points(TICK), labelcolor=INK, color=AXIS, length=3)
    panel = Panel(figure, axes, frame, total)
    if footer:
        panel.write((EDGE, EDGE + foot / 2), footer, "footer-0", size=SMALL, color=MUTED)
    return panel


def heading_height(title: str, y_label: str) -> float:
    """Pixels of the title and the y label above the axes."""
    lines = len(_title(title)) * TITLE * LINE + (8 if title else 0)
    return EDGE + lines + (TEXT * LINE + 8 if y_label else 0)


def _title(title: str) -> list[str]:
    # Bold letters are wider than the measured ones.
    return wrapped(title, TITLE, (WIDTH - 2 * EDGE) * 0.85, 2) if title.strip() else []
