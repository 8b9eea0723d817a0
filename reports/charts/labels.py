"""Names at the ends of lines and next to points, only where they cover nothing."""

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.path import Path
from matplotlib.transforms import Bbox

from .data import Point, Series
from .panel import Panel, Spot
from .style import AXIS, EDGE, MUTED, SMALL, WIDTH, look, points
from .text import LINE, clean, text_width, wrapped

END = SMALL + 1
WIDEST = 190
LINES = 3
FARTHEST = 36  # pixels that a label may be moved from its line
OFFSET = 12


@dataclass
class Obstacles:
    """Areas that labels must not cover."""

    boxes: list[Bbox] = field(default_factory=list)
    segments: list[tuple[Spot, Spot]] = field(default_factory=list)

    def free(self, box: Bbox) -> bool:
        """Whether a box is free."""
        return not any(map(box.overlaps, self.boxes)) and not any(
            crosses(segment, box) for segment in self.segments
        )


@dataclass(frozen=True)
class EndLabel:
    """A name, its place, and the end of the line that it names."""

    number: int
    lines: list[str]
    box: Bbox
    anchor: Spot

    @property
    def middle(self) -> float:
        return float(self.box.y0 + self.box.y1) / 2

    @property
    def leader(self) -> tuple[Spot, Spot] | None:
        """The ends of a thin line to the name, if it is away from its line."""
        x, y = self.anchor
        if abs(self.middle - y) <= 6 and self.box.x0 - x <= OFFSET + 30:
            return None
        return (x + 6, y), (float(self.box.x0) - 2, self.middle)


def around(spot: Spot, radius: float) -> Bbox:
    """The square around a spot."""
    return Bbox([[spot[0] - radius, spot[1] - radius], [spot[0] + radius, spot[1] + radius]])


def crosses(segment: tuple[Spot, Spot], box: Bbox) -> bool:
    """Whether a straight line runs through a box."""
    return Path(segment).intersects_bbox(box, filled=False)


def spread(
    centers: Sequence[float], heights: Sequence[float], low: float, high: float
) -> list[float]:
    """Centers moved apart until labels of these heights do not overlap, within the limits.

    The mean of pushing up and pushing down: both keep the order and the distances, and so does
    their mean, and no label moves farther than its neighbors.
    """
    order = sorted(range(len(centers)), key=lambda i: (centers[i], i))
    found = [0.0] * len(centers)
    for upwards in (True, False):
        moved = list(centers)
        for up in (upwards, not upwards):  # the second corrects the first at a limit
            edge = low if up else high
            for i in order if up else reversed(order):
                half = heights[i] / 2
                moved[i] = max(moved[i], edge + half) if up else min(moved[i], edge - half)
                edge = moved[i] + half if up else moved[i] - half
        found = [total + one / 2 for total, one in zip(found, moved, strict=True)]
    return found


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
    frame = panel.frame
    found: list[EndLabel] = []
    for x, members in columns.items():
        right = max(spot[0] for each in spots for point, spot in each.items() if point.x == x)
        left = right + OFFSET if x < max(columns) else max(right + OFFSET, frame.x1 + 5)
        anchors = [max(s for p, s in spots[i].items() if p.x == x) for i in members]
        heights = [len(names[i]) * END * LINE + 3 for i in members]
        middles = spread([y for _, y in anchors], heights, frame.y0, frame.y1)
        for i, anchor, middle in zip(members, anchors, middles, strict=True):
            found.append(EndLabel(i, names[i], _box((left, middle), names[i], END), anchor))
    return (
        found if all(_is_free(one, found[:n], obstacles) for n, one in enumerate(found)) else None
    )


def _is_free(label: EndLabel, others: Sequence[EndLabel], obstacles: Obstacles) -> bool:
    """Whether a name is near its line and, with its leader, covers nothing but its own marker."""
    if label.box.x1 > WIDTH - EDGE + 2 or abs(label.middle - label.anchor[1]) > FARTHEST:
        return False
    if not obstacles.free(label.box) or any(
        label.box.overlaps(end_label.box) for end_label in others
    ):
        return False
    own, leader = around(label.anchor, 5).bounds, label.leader
    return not leader or not any(b.bounds != own and crosses(leader, b) for b in obstacles.boxes)


def write_end_labels(panel: Panel, labels: Sequence[EndLabel], obstacles: Obstacles) -> None:
    """Write the names, with a thin line to those that had to move."""
    for label in labels:
        obstacles.boxes.append(label.box)
        if label.leader:
            panel.line(*label.leader, color=AXIS, linewidth=points(0.8))
        spot = (float(label.box.x0), label.middle)
        color = _dark(look(label.number).color)
        panel.write(spot, label.lines, f"end-label-{label.number}", size=END, color=color)


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
        found = _next_to_points(panel, column, obstacles)
        if len(found) < len(column):
            few = [(point, spot) for point, spot in column if point in best]
            found = _next_to_points(panel, few, obstacles)
        obstacles.boxes += [box for box, _ in found]
        for k, (box, text) in enumerate(found):
            spot = (float(box.x0), float(box.y0 + box.y1) / 2)
            panel.write(spot, [text], f"point-label-{n}-{k}", size=SMALL, color=MUTED)


def _next_to_points(
    panel: Panel, column: Sequence[tuple[Point, Spot]], obstacles: Obstacles
) -> list[tuple[Bbox, str]]:
    """The labels that fit, each in the first free place: above, right, below or left."""
    taken = Obstacles(list(obstacles.boxes), obstacles.segments)
    found = []
    for point, (x, y) in column:
        text = clean(point.label or "")
        width = text_width(text, SMALL)
        starts = ((x - width / 2, y + 14), (x + 8, y), (x - width / 2, y - 14), (x - 8 - width, y))
        for box in (_box(start, [text], SMALL) for start in starts):
            if panel.frame.contains(*box.p0) and panel.frame.contains(*box.p1) and taken.free(box):
                taken.boxes.append(box)
                found.append((box, text))
                break
    return found


def _box(start: Spot, lines: Sequence[str], size: float) -> Bbox:
    """The box of a text with its left end, at half its height, at this spot."""
    half = len(lines) * size * LINE / 2
    width = max(text_width(line, size) for line in lines)
    return Bbox([[start[0], start[1] - half], [start[0] + width, start[1] + half]])


def _dark(color: str) -> str:
    """A color, dark enough for text."""
    red, green, blue = (int(color[n : n + 2], 16) / 255 for n in (1, 3, 5))
    hue, light, full = colorsys.rgb_to_hls(red, green, blue)
    dark = colorsys.hls_to_rgb(hue, min(light, 0.3), full)
    return "#" + "".join(f"{round(part * 255):02x}" for part in dark)
