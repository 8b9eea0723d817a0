"""Charts of pages: scatter plots of runs and ranked dots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from markupsafe import Markup, escape

from . import svg
from .dot_charts import DotRow, dot_rows
from .svg import Mark
from .table import Table

MOST = 350  # maximum of marks in a chart, each about 250 bytes of its page


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure: its caption, its SVG, and the same numbers as a table."""

    id: str
    title: str
    note: str
    body: Markup
    legend: Markup
    table: Markup
    number: str = ""  # of runs, whose derivation a point shows

    @property
    def html(self) -> Markup:
        note = f' <span class="note">{escape(self.note)}</span>' if self.note else ""
        number = f' data-number="{escape(self.number)}"' if self.number else ""
        return Markup(
            f'<figure class="chart" id="{self.id}"{number}><figcaption id="{self.id}-caption">'
            f"<strong>{escape(self.title)}</strong>{note}</figcaption>{self.legend}{self.body}"
            f'<details class="as-table"><summary>As a table</summary>{self.table}</details>'
            "</figure>"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """The input of a scatter plot: marks, names of series, lines between marks."""

    id: str
    title: str
    marks: Sequence[Mark]
    series: Sequence[str]
    x_title: str
    y_title: str
    number: str = ""  # of runs, that y is
    note: str = ""
    log_x: bool = True
    log_y: bool = True
    zero: bool = False
    least_first: bool = False  # lower is better: dots in rows are sorted ascending
    lines: Sequence[tuple[int, Sequence[tuple[float, float]]]] = ()
    rule: float | None = None  # y of a dashed horizontal line
    x_text: Callable[[float], str] | None = None
    y_text: Callable[[float], str] | None = None


def thinned(marks: Sequence[Mark]) -> list[Mark]:
    """The marks; if there are too many, only the highest of each series and x."""
    if len(marks) <= MOST:
        return list(marks)
    best: dict[tuple[int, float], Mark] = {}
    for mark in sorted(marks, key=lambda mark: mark.uncounted):
        key = (mark.series, float(f"{mark.x:.2g}"))
        if key not in best or (mark.y > best[key].y and mark.uncounted <= best[key].uncounted):
            best[key] = mark
    return sorted(best.values(), key=lambda one: -one.y)[:MOST]


def scatter(plot: Plot, root: str, table: Table) -> Chart | None:
    """A scatter plot; for a single x, dots in rows, the highest first."""
    marks = thinned([mark for mark in plot.marks if mark.y > 0 or not plot.log_y])
    if len(marks) < 2:
        return None
    left = (
        f"drawn: the {len(marks):,} highest of {len(plot.marks):,} runs, by system and size"
        if len(marks) < len(plot.marks)
        else ""
    )
    note = "; ".join(filter(None, (plot.note, left)))
    if len({mark.x for mark in marks}) == 1:
        return ranked(replace(plot, marks=marks, note=note), root, table)
    x = svg.axis(
        [mark.x for mark in marks],
        svg.LEFT,
        svg.WIDTH - svg.RIGHT,
        log=plot.log_x,
        whole=True,
        text=plot.x_text,
        most=4 if plot.x_text else 6,
    )
    ys = [end for mark in marks for end in (mark.y, mark.low, mark.high) if end is not None]
    ys += [plot.rule] if plot.rule else []
    y = svg.axis(
        ys, svg.HEIGHT - svg.BOTTOM, svg.TOP, log=plot.log_y, zero=plot.zero, text=plot.y_text
    )
    parts = [svg.frame(x, y, _scaled(plot.x_title, x.log), _scaled(plot.y_title, y.log))]
    if plot.rule:
        at = y.at(plot.rule)
        parts.append(svg.stroke(svg.LEFT, at, svg.WIDTH - svg.RIGHT, at, "ideal"))
    for number, points in plot.lines:
        drawn = [(x.at(a), y.at(b)) for a, b in points]
        parts.append(svg.path(drawn, f"s{number % svg.SERIES + 1}"))
    places = _shifted(marks, x, y)
    if any(at != x.at(one.x) for one, at in zip(marks, places, strict=True)):
        note = "; ".join(filter(None, (note, "runs that would overlap stand side by side")))
    # Marks that count are drawn last, over the others.
    for one, at in sorted(
        zip(marks, places, strict=True),
        key=lambda pair: (not pair[0].uncounted, pair[0].y),
    ):
        parts.append(svg.mark(one, at, y.at(one.y), root, _whisker(one, at, y)))
    return Chart(
        plot.id,
        plot.title,
        note,
        svg.drawing(plot.id, "".join(parts)),
        _legend(plot, marks),
        table.html(root),
        plot.number,
    )


def _scaled(title: str, log: bool) -> str:
    return f"{title} (log scale)" if log and title else title


def _shifted(marks: Sequence[Mark], x: svg.Axis, y: svg.Axis) -> list[float]:
    """Positions of marks; overlapping ones are shifted off their x, if there is room."""
    taken: dict[float, list[tuple[float, float]]] = {}
    sizes = sorted({x.at(one.x) for one in marks})
    room = min((b - a for a, b in pairwise(sizes)), default=200.0) / 2 - svg.RADIUS
    places = []
    for mark in marks:
        at, height = x.at(mark.x), y.at(mark.y)
        near = [
            place
            for place, other in taken.setdefault(mark.x, [])
            if abs(other - height) < 2 * svg.RADIUS
        ]
        steps = (
            side * n * (2 * svg.RADIUS + 1)
            for n in range(12)
            for side in ((0,) if n == 0 else (1, -1))
        )
        free = next(
            (
                at + step
                for step in steps
                if abs(step) <= room
                and svg.LEFT + svg.RADIUS <= at + step <= svg.WIDTH - svg.RIGHT
                and all(abs(at + step - place) > 1.5 * svg.RADIUS for place in near)
            ),
            at,
        )
        taken[mark.x].append((free, height))
        places.append(free)
    return places


def _whisker(mark: Mark, at: float, y: svg.Axis) -> str:
    if mark.low is None or mark.high is None or (y.log and mark.low <= 0):
        return ""
    top, bottom = y.at(mark.high), y.at(mark.low)
    if bottom - top < 3:
        return ""
    return svg.stroke(at, top, at, bottom, "whisker")


def _legend(plot: Plot, marks: Sequence[Mark]) -> Markup:
    used = sorted({mark.series for mark in marks})
    return svg.legend([(n, plot.series[n]) for n in used if n < len(plot.series)])


def ranked(plot: Plot, root: str, table: Table, most: int = 20) -> Chart:
    """Dots in rows, the highest value first, labelled with their mark's text before the colon."""
    every = sorted(
        plot.marks,
        key=lambda mark: (mark.uncounted, mark.y if plot.least_first else -mark.y),
    )
    rows = every[:most]
    more = f"the first {most} of {len(every)}" if len(every) > most else ""
    drawn = [DotRow(row.label, replace(row, x=row.y)) for row in rows]
    return Chart(
        plot.id,
        plot.title,
        "; ".join(filter(None, (plot.note, more))),
        dot_rows(plot.id, drawn, plot.y_title, root, text=plot.y_text),
        _legend(plot, rows),
        table.html(root),
        plot.number,
    )


def front(marks: Sequence[Mark]) -> list[tuple[float, float]]:
    """The Pareto front: points that no other one beats in both x and y, lower being better."""
    found: list[tuple[float, float]] = []
    for one in sorted((m for m in marks if not m.uncounted), key=lambda m: (m.x, m.y)):
        if not found or one.y < found[-1][1]:
            found.append((one.x, one.y))
    return found
