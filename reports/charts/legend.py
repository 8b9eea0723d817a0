"""Names below the plot, in as many columns as fit."""

from collections.abc import Sequence
from dataclasses import dataclass

from .panel import Panel
from .places import Spot
from .style import EDGE, SMALL, WIDTH, look, points
from .text import LINE, clean, text_width, wrapped

SIZE = SMALL + 1
SAMPLE = 34
APART = 18
MOST_COLUMNS = 4
ROW = SIZE * LINE + 3


@dataclass(frozen=True)
class Legend:
    """The lines of each name, how many columns, and the width of each."""

    names: list[list[str]]
    widths: list[float]

    @property
    def rows(self) -> list[list[int]]:
        """The names of each row, by number; reading goes across."""
        step = len(self.widths)
        return [list(range(len(self.names)))[i : i + step] for i in range(0, len(self.names), step)]

    @property
    def height(self) -> float:
        """Pixels from the first row to the end of the last."""
        return sum(self.row_height(row) for row in self.rows)

    def row_height(self, row: Sequence[int]) -> float:
        """Pixels of one row, as high as its longest name."""
        return ROW + (max(len(self.names[i]) for i in row) - 1) * SIZE * LINE


def legend(names: Sequence[str]) -> Legend:
    """The names in the most columns that hold them on one line, or else wrapped in one."""
    room = WIDTH - 2 * EDGE
    texts = [clean(name) for name in names]
    for columns in range(min(MOST_COLUMNS, len(texts)), 0, -1):
        widths = [
            max(text_width(text, SIZE) for text in texts[n::columns]) + SAMPLE + APART
            for n in range(columns)
        ]
        if sum(widths) - APART <= room:
            return Legend([[text] for text in texts], widths)
    lines = [wrapped(text, SIZE, room - SAMPLE, 3) for text in texts]
    return Legend(lines, [room])


def draw_legend(panel: Panel, found: Legend, lined: Sequence[bool], top: float) -> None:
    """Draw the names from this height downwards, each beside its marker."""
    for row in found.rows:
        middle = top - ROW / 2
        for column, i in enumerate(row):
            left = EDGE + sum(found.widths[:column])
            _sample(panel, (left, middle), i, lined[i])
            for n, text in enumerate(found.names[i]):
                spot = (left + SAMPLE, middle - n * SIZE * LINE)
                panel.write(spot, text, f"legend-{i}-{n}", size=SIZE)
        top -= found.row_height(row)


def _sample(panel: Panel, spot: Spot, index: int, lined: bool) -> None:
    style = look(index)
    line = {"color": style.color, "linewidth": points(1.5)}
    if lined:
        panel.line(spot, (spot[0] + SAMPLE - 8, spot[1]), **line)
    middle = (spot[0] + (SAMPLE - 8) / 2, spot[1])
    face = style.color if style.filled else "white"
    marker = {"marker": style.marker, "markersize": points(8), "markerfacecolor": face}
    panel.line(middle, middle, **line, **marker)
