"""Time series of logs, in buckets that keep extremes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from markupsafe import Markup, escape

from ..schema.sql import named_statements
from ..schema.warehouse import Warehouse
from . import svg

BUCKETS = 2000  # buckets of a series in its data file
DRAWN = 300  # buckets in the SVG of a page
WIDTH, HEIGHT = 520, 210
TITLES = {
    "step_time_s": ("Step time", "s"),
    "loss": ("Loss", ""),
    "tflops": ("TFLOP/s printed", "TFLOP/s"),
    "tokens_per_s": ("Tokens/s", ""),
    "samples_per_s": ("Samples/s", ""),
    "lr": ("Learning rate", ""),
    "grad_norm": ("Gradient norm", ""),
    "loss_scale": ("Loss scale", ""),
    "gbs": ("Batch size", "sequences"),
}


@dataclass(frozen=True, slots=True)
class Series:
    """One quantity over steps: buckets of `width` steps from `first` on; None for an empty one."""

    key: str
    title: str
    unit: str
    first: int
    width: int
    n: Sequence[int]
    low: Sequence[float | None]
    high: Sequence[float | None]
    mean: Sequence[float | None]
    breaks: Sequence[int]  # buckets after a restart, which breaks the line
    at: Sequence[int | None] = ()  # the step of a bucket with a single one, if not its first

    def data(self) -> dict[str, Any]:
        """The series for the script."""
        return {
            "key": self.key,
            "title": self.title,
            "unit": self.unit,
            "from": self.first,
            "width": self.width,
            "n": list(self.n),
            "lo": list(self.low),
            "hi": list(self.high),
            "mean": list(self.mean),
            "breaks": list(self.breaks),
            **({"at": list(self.at)} if self.at else {}),
        }

    @property
    def is_raw(self) -> bool:
        """Whether each point is a single printed value."""
        return max(self.n, default=0) <= 1

    def points(self) -> list[tuple[int, int, float, float, float]]:
        """Bucket, step, minimum, maximum and mean of non-empty buckets."""
        steps = self.at or [None] * len(self.n)
        return [
            (at, steps[at] or self.first + at * self.width, low, high, mean)
            for at, (low, high, mean) in enumerate(zip(self.low, self.high, self.mean, strict=True))
            if low is not None and high is not None and mean is not None
        ]


def series_of(warehouse: Warehouse, runs: Sequence[str]) -> dict[str, list[Series]]:
    """The series of each run, the most important first."""
    text = (files(__package__ or "bench.site") / "series.sql").read_text("utf-8")
    groups: dict[str, list[Series]] = defaultdict(list)
    query = named_statements(text)["series"]
    for row in warehouse.dicts(query, {"runs": list(runs), "most": BUCKETS}):
        groups[row["run_id"]].append(_series(row))
    return groups


def _series(row: Mapping[str, Any]) -> Series:
    size = row["buckets"][-1] + 1
    n = [0] * size
    low: list[float | None] = [None] * size
    high, mean = low.copy(), low.copy()
    steps: list[int | None] = [None] * size
    breaks, before = [], None
    for at, count, least, most, middle, segment, step in zip(
        row["buckets"],
        row["ns"],
        row["lows"],
        row["highs"],
        row["means"],
        row["segments"],
        row["steps"],
        strict=True,
    ):
        if count == 1 and step != row["first"] + at * row["width"]:
            steps[at] = step
        n[at], low[at], high[at] = count, least, most
        mean[at] = float(f"{middle:.6g}") if count > 1 else least
        if before is not None and segment != before:
            breaks.append(at)
        before = segment
    kind, _, name = row["key"].partition(":")
    title, unit = TITLES.get(row["key"], (name.replace("_", " ") or kind, row["unit"] or ""))
    if kind == "timer":
        title = f"Timer {name}"
    elif kind == "memory":
        title = f"Memory {name.replace('_', ' ')}"
    return Series(
        row["key"],
        title,
        unit,
        row["first"],
        row["width"],
        n,
        low,
        high,
        mean,
        breaks,
        steps if any(steps) else (),
    )


def figure(run: str, series: Series, data_key: str, note: str = "") -> Markup:
    """A figure of a series: a band of its range, and a line of its means."""
    points = _merged(series)
    if len(points) < 2:
        return Markup("")
    x = svg.axis([p[1] for p in points], svg.LEFT, WIDTH - svg.RIGHT, whole=True)
    y = svg.axis([v for p in points for v in p[2:4]], HEIGHT - svg.BOTTOM, svg.TOP, most=4)
    parts = [svg.frame(x, y, "step", series.unit, HEIGHT)]
    for piece in _pieces(points, series):
        if any(low != high for _, _, low, high, _ in piece):
            upper = [f"{x.at(p[1]):.1f},{y.at(p[3]):.1f}" for p in piece]
            lower = [f"{x.at(p[1]):.1f},{y.at(p[2]):.1f}" for p in reversed(piece)]
            parts.append(f'<polygon class="band" points="{" ".join(upper + lower)}"/>')
        parts.append(svg.path([(x.at(p[1]), y.at(p[4])) for p in piece], "s1"))
        if len(piece) == 1:
            parts.append(
                f'<circle class="dot" cx="{x.at(piece[0][1]):.1f}" '
                f'cy="{y.at(piece[0][4]):.1f}" r="2.5"/>'
            )
    id = f"curve-{series.key.replace(':', '-').replace(' ', '-')}"
    caption = note or (
        "every printed point"
        if series.is_raw and len(points) == len(series.points())
        else "the line is the mean, the band all that was printed"
    )
    named = (
        f"{series.title}, {series.unit}"
        if series.unit and series.unit not in series.title
        else series.title
    )
    return Markup(
        f'<figure class="curve" id="{escape(id)}" data-key="{escape(data_key)}" '
        f'data-series="{escape(series.key)}">'
        f'<figcaption id="{escape(id)}-caption"><strong>{escape(named)}</strong> '
        f'<span class="note">{escape(caption)}</span></figcaption>'
        f"{svg.drawing(id, ''.join(parts), WIDTH, HEIGHT)}</figure>"
    ).replace(Markup('role="group"'), Markup('role="img"'))


Point = tuple[int, int, float, float, float]


def _merged(series: Series) -> list[Point]:
    """The points for drawing, merged if there are too many, keeping minimum and maximum."""
    points = series.points()
    size = -(-len(points) // DRAWN)
    if size <= 1:
        return points
    groups = [points[at : at + size] for at in range(0, len(points), size)]
    return [
        (
            g[0][0],
            g[0][1],
            min(p[2] for p in g),
            max(p[3] for p in g),
            sum(p[4] for p in g) / len(g),
        )
        for g in groups
    ]


def _pieces(points: Sequence[Point], series: Series) -> list[list[Point]]:
    """The points split at restarts."""
    breaks = sorted(series.breaks)
    pieces: list[list[Point]] = [[]]
    at = 0
    for point in points:
        if at < len(breaks) and point[0] >= breaks[at] and pieces[-1]:
            pieces.append([])
        while at < len(breaks) and point[0] >= breaks[at]:
            at += 1
        pieces[-1].append(point)
    return pieces
