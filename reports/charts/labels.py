"""Names at the ends of lines and beside points, only where they cover nothing."""

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass, field

from .data import Point, Series
from .panel import Panel
from .places import Box, Spot, around, spread
from .style import AXIS, EDGE, MUTED, SMALL, WIDTH, look, points
from .text import LINE, clean, text_width, wrapped

END = SMALL + 1
WIDEST = 190
LINES = 3
FARTHEST = 36  # pixels that a label may be moved from its line
OFFSET = 12


@dataclass
class Obstacles:
    """What labels keep off."""

    boxes: list[Box] = field(default_factory=list)
    segments: list[tuple[Spot, Spot]] = field(default_factory=list)

    def free(self, box: Box) -> bool:
        """Whether nothing is there yet."""
        return not any(box.meets(other) for other in self.boxes) and not any(
            box.crossed(*segment) for segment in self.segments
        )


@dataclass(frozen=True)
class EndLabel:
    """A name, where it goes, and the end of the line that it names."""

    number: int
    lines: list[str]
    box: Box
    anchor: Spot

    @property
    def leader(self) -> tuple[Spot, Spot] | None:
        """The ends of a thin line to the name, where it does not stand beside its line."""
        middle = (self.box.bottom + self.box.top) / 2
        x, y = self.anchor
        if abs(middle - y) <= 6 and self.box.left - x <= OFFSET + 30:
            return None
        return (x + 6, y), (self.box.left - 2, middle)


def fitting(series: Sequence[Series]) -> list[list[str]] | None:
    """The names in a few short lines, or none if one had to be shortened."""
    names = [wrapped(each.name, END, WIDEST, LINES) for each in series]
    whole = [clean(each.name).replace(" ", "") for each in series]
    return names if ["".join(name).replace(" ", "") for name in names] == whole else None


def end_labels(
    panel: Panel, spots: Sequence[dict[Point, Spot]], series: Sequence[Series],
    names: Sequence[list[str]], obstacles: Obstacles,
) -> list[EndLabel] | None:  # fmt: skip
    """Every name right of the last point of its line, or none if one would cover something."""
    columns: dict[float, list[int]] = {}
    for i, each in enumerate(series):
        columns.setdefault(each.best()[-1].x, []).append(i)
    found: list[EndLabel] = []
    for x, members in columns.items():
        right = max(spot[0] for each in spots for point, spot in each.items() if point.x == x)
        left = right + OFFSET if x < max(columns) else max(right + OFFSET, panel.frame.right + 5)
        anchors = [max(s for p, s in spots[i].items() if p.x == x) for i in members]
        heights = [len(names[i]) * END * LINE + 3 for i in members]
        frame = panel.frame
        middles = spread([y for _, y in anchors], heights, frame.bottom, frame.top)
        for i, anchor, middle in zip(members, anchors, middles, strict=True):
            box = _box((left, middle), names[i], END)
            found.append(EndLabel(i, names[i], box, anchor))
    return found if _all_free(found, obstacles) else None


def _all_free(labels: Sequence[EndLabel], obstacles: Obstacles) -> bool:
    for n, label in enumerate(labels):
        box = label.box
        moved = abs((box.bottom + box.top) / 2 - label.anchor[1])
        others = [other.box for other in labels[:n]]
        if box.right > WIDTH - EDGE + 2 or moved > FARTHEST or not obstacles.free(box):
            return False
        if any(box.meets(other) for other in others) or not _leader_free(label, obstacles):
            return False
    return True


def _leader_free(label: EndLabel, obstacles: Obstacles) -> bool:
    """Whether the thin line to a name crosses no marker but its own."""
    if not label.leader:
        return True
    own = around(label.anchor, 5)
    return not any(box.crossed(*label.leader) for box in obstacles.boxes if box != own)


def write_end_labels(panel: Panel, labels: Sequence[EndLabel], obstacles: Obstacles) -> None:
    """Write the names, with a thin line to those that had to move."""
    for label in labels:
        obstacles.boxes.append(label.box)
        if label.leader:
            panel.line(*label.leader, color=AXIS, linewidth=points(0.8))
        _write(panel, label.box, label.lines, f"end-label-{label.number}", END, _dark(label.number))


def point_labels(
    panel: Panel, spots: Sequence[dict[Point, Spot]], best: set[Point], obstacles: Obstacles
) -> None:
    """Write the points' own labels: all at one x, or if one does not fit, those on the lines."""
    columns: dict[float, list[tuple[Point, Spot]]] = {}
    for each in spots:
        for point, spot in each.items():
            if point.label and clean(point.label):
                columns.setdefault(point.x, []).append((point, spot))
    for n, column in enumerate(columns.values()):
        found = _beside_all(panel, column, obstacles)
        if len(found) < len(column):
            few = [(point, spot) for point, spot in column if point in best]
            found = _beside_all(panel, few, obstacles)
        obstacles.boxes += [box for box, _ in found]
        for k, (box, text) in enumerate(found):
            _write(panel, box, [text], f"point-label-{n}-{k}", SMALL, MUTED)


def _beside_all(
    panel: Panel, column: Sequence[tuple[Point, Spot]], obstacles: Obstacles
) -> list[tuple[Box, str]]:
    """The labels that fit, each in the first free place beside its point."""
    taken = Obstacles(list(obstacles.boxes), obstacles.segments)
    found = []
    for point, spot in column:
        text = clean(point.label or "")
        for box in _beside(spot, text):
            if panel.frame.holds(box) and taken.free(box):
                taken.boxes.append(box)
                found.append((box, text))
                break
    return found


def _beside(spot: Spot, text: str) -> list[Box]:
    """Above, right, below and left of a spot."""
    x, y = spot
    half = text_width(text, SMALL) / 2
    starts = ((x - half, y + 14), (x + 8, y), (x - half, y - 14), (x - 8 - 2 * half, y))
    return [_box(start, [text], SMALL) for start in starts]


def _box(start: Spot, lines: Sequence[str], size: float) -> Box:
    """The box of a text that begins here, at the middle of its height."""
    half = len(lines) * size * LINE / 2
    width = max(text_width(line, size) for line in lines)
    return Box(start[0], start[1] - half, start[0] + width, start[1] + half)


def _write(
    panel: Panel, box: Box, lines: Sequence[str], name: str, size: float, color: str
) -> None:
    for n, line in enumerate(lines):
        spot = (box.left, box.top - (n + 0.5) * size * LINE)
        panel.write(spot, line, f"{name}-{n}", size=size, color=color)


def _dark(index: int) -> str:
    """The colour of a series, dark enough to read as text."""
    color = look(index).color
    red, green, blue = (int(color[n : n + 2], 16) / 255 for n in (1, 3, 5))
    hue, light, full = colorsys.rgb_to_hls(red, green, blue)
    dark = colorsys.hls_to_rgb(hue, min(light, 0.3), full)
    return "#" + "".join(f"{round(part * 255):02x}" for part in dark)
