"""Data of a chart, in plain types."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """A measurement, or an estimate: its coordinates, the range of its digits, its own label."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    label: str | None = None
    estimated: bool = False


@dataclass(frozen=True)
class Series:
    """The points of one setting; several points may have the same x.

    Points of mixed settings are not `joined`: a line between them would not show scaling. `lowest`:
    less is better, as for days.
    """

    name: str
    points: tuple[Point, ...]
    joined: bool = True
    lowest: bool = False

    def best(self) -> list[Point]:
        """The best point of each x, in order of x: the vertices of the line."""
        points: dict[float, Point] = {}
        for point in self.points:
            kept = points.get(point.x)
            if kept is None or (point.y < kept.y if self.lowest else point.y > kept.y):
                points[point.x] = point
        return [points[x] for x in sorted(points)]

    def path(self) -> list[Point]:
        """The points that a line joins; none if a line would mislead."""
        return self.best() if self.joined else []


@dataclass(frozen=True)
class Bar:
    """A horizontal bar: its label, value, range, a note, and whether it is an estimate."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    note: str | None = None
    estimated: bool = False


def checked_series(series: Iterable[Series]) -> list[Series]:
    """The series with points; raises ValueError for numbers that no chart can show."""
    shown = [each for each in series if each.points]
    if not shown:
        raise ValueError("nothing to plot: no series holds a point; leave the chart out")
    for each in shown:
        for point in each.points:
            _check(each.name, (point.x, point.y), (point.low, point.high))
    return shown


def checked_bars(bars: Iterable[Bar]) -> list[Bar]:
    """The bars, shortest first; raises ValueError for numbers that no chart can show."""
    shown = sorted(bars, key=lambda bar: bar.value)
    if not shown:
        raise ValueError("nothing to plot: no bars; leave the chart out")
    for bar in shown:
        _check(bar.label, (bar.value,), (bar.low, bar.high))
    return shown


def _check(name: str, needed: Sequence[float], ends: Sequence[float | None]) -> None:
    bad = [x for x in needed if not (math.isfinite(x) and x > 0)]
    bad += [x for x in ends if x is not None and not math.isfinite(x)]
    if bad:
        raise ValueError(f"cannot plot {bad[0]!r} of {name!r}: a positive, finite number is needed")
