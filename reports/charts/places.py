"""Where things go, in pixels: boxes, collisions, labels apart, points side by side."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Spot = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A rectangle; y grows upwards."""

    left: float
    bottom: float
    right: float
    top: float

    def meets(self, other: "Box") -> bool:
        """Whether the two share any area."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )

    def holds(self, other: "Box") -> bool:
        """Whether the other lies inside."""
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.bottom <= other.bottom
            and other.top <= self.top
        )

    def crossed(self, start: Spot, end: Spot) -> bool:
        """Whether a straight line runs through (Liang and Barsky)."""
        enter, leave = 0.0, 1.0
        for here, there, low, high in (
            (start[0], end[0], self.left, self.right),
            (start[1], end[1], self.bottom, self.top),
        ):
            step = there - here
            if step == 0:
                if not low <= here <= high:
                    return False
                continue
            first, last = sorted(((low - here) / step, (high - here) / step))
            enter, leave = max(enter, first), min(leave, last)
        return enter <= leave


def around(spot: Spot, radius: float) -> Box:
    """The square around a spot."""
    x, y = spot
    return Box(x - radius, y - radius, x + radius, y + radius)


def spread(
    centers: Sequence[float], heights: Sequence[float], low: float, high: float
) -> list[float]:
    """Centers moved as little as keeps labels of these heights apart and between the limits."""
    order = sorted(range(len(centers)), key=lambda i: (centers[i], i))
    # Each cluster: its members, the height of all, and where its middle would like to be.
    clusters: list[tuple[list[int], float, float]] = []
    for i in order:
        members, height, middle = [i], heights[i], _kept(centers[i], heights[i], low, high)
        while clusters and clusters[-1][2] + clusters[-1][1] / 2 > middle - height / 2:
            before, taller, center = clusters.pop()
            weight = len(before), len(members)
            middle = (center * weight[0] + middle * weight[1]) / sum(weight)
            members, height = before + members, taller + height
            middle = _kept(middle, height, low, high)
        clusters.append((members, height, middle))
    found = [0.0] * len(centers)
    for members, height, middle in clusters:
        bottom = middle - height / 2
        for i in members:
            found[i] = bottom + heights[i] / 2
            bottom += heights[i]
    return found


def _kept(middle: float, height: float, low: float, high: float) -> float:
    return max(low + height / 2, min(middle, high - height / 2))


def swarm(fixed: Iterable[Spot], loose: Sequence[Spot], gap: float, reach: float) -> list[Spot]:
    """The loose spots, moved sideways, at most by `reach`, until none is nearer than `gap`."""
    placed = list(fixed)
    steps = [0.0]
    for n in range(1, int(reach / gap * 2) + 1):
        steps += [n * gap / 2, -n * gap / 2]
    found: dict[int, Spot] = {}
    for i in sorted(range(len(loose)), key=lambda i: (-loose[i][1], i)):
        x, y = loose[i]
        free = (x + step for step in steps if _free((x + step, y), placed, gap))
        found[i] = (next(free, x), y)
        placed.append(found[i])
    return [found[i] for i in range(len(loose))]


def _free(spot: Spot, placed: Iterable[Spot], gap: float) -> bool:
    return all((spot[0] - x) ** 2 + (spot[1] - y) ** 2 >= gap**2 * 0.98 for x, y in placed)
