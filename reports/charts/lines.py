"""Series over nodes or devices: markers, thin lines, ranges, names where they fit."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from matplotlib.figure import Figure

from .data import Point, Series
from .labels import Obstacles, end_labels, fitting, point_labels, write_end_labels
from .legend import Legend, draw_legend, legend
from .panel import Panel, grid, heading_height, new_panel, write_heading, write_x_label
from .places import Spot, around, swarm
from .style import EDGE, GRID, MUTED, SMALL, look, points, styled
from .text import text_width
from .ticks import linear_ticks, log_limits, log_ticks, minor_ticks, tick_text, value_ticks

HEIGHT = 340
BELOW = 52
MOST_DIRECT = 8
DASHES = (0, (4, 2))
REACH = 20  # pixels that a marker may stand beside its count, which a log axis would misread


@dataclass(frozen=True)
class Plan:
    """What one chart of series asks for."""

    title: str
    x_label: str
    y_label: str
    log_y: bool
    unit: str = ""
    key: str = ""
    ideal: bool = False
    reference: float | None = None


@dataclass
class Drawing:
    """A panel under way: the spot of every point, and what labels must keep off."""

    panel: Panel
    series: Sequence[Series]
    spots: list[dict[Point, Spot]] = field(default_factory=list)
    obstacles: Obstacles = field(default_factory=Obstacles)


def draw(series: Sequence[Series], plan: Plan) -> Figure:
    """The chart with names at the ends of the lines, or below the plot where they do not fit."""
    with styled():
        names = fitting(series) if len(series) <= MOST_DIRECT else None
        if names:
            last = max(each.best()[-1].x for each in series)
            widest = max(
                max(text_width(line, SMALL + 1) for line in name)
                for each, name in zip(series, names, strict=True)
                if each.best()[-1].x == last
            )
            drawing = _drawing(series, plan, widest + EDGE + 6, None)
            if found := end_labels(drawing.panel, drawing.spots, series, names, drawing.obstacles):
                write_end_labels(drawing.panel, found, drawing.obstacles)
                return _finished(drawing)
        return _finished(_drawing(series, plan, EDGE, legend([each.name for each in series])))


def _finished(drawing: Drawing) -> Figure:
    lines = {point for each in drawing.series for point in each.best()}
    point_labels(drawing.panel, drawing.spots, lines, drawing.obstacles)
    return drawing.panel.figure


def _drawing(series: Sequence[Series], plan: Plan, right: float, names: Legend | None) -> Drawing:
    """Everything but the labels at ends and points."""
    y_low, y_high = _y_limits(series, plan)
    y_ticks = log_ticks(y_low, y_high, 9) if plan.log_y else linear_ticks(y_low, y_high, 6)
    left = EDGE + max(text_width(tick_text(tick) + plan.unit, SMALL + 1) for tick in y_ticks) + 10
    below = BELOW + (names.height + 10 if names else 0) + EDGE
    panel = new_panel(left, right, HEIGHT, heading_height(plan.title, plan.y_label), below)
    _scales(panel, plan, (y_low, y_high), y_ticks)
    _x_axis(panel, sorted({point.x for each in series for point in each.points}))
    crossing = plan.ideal and any(len(each.best()) > 1 for each in series)
    key = plan.key if crossing or plan.reference else ""
    write_heading(panel, plan.title, plan.y_label, key)
    write_x_label(panel, plan.x_label, BELOW - 14)
    drawing = Drawing(panel, series)
    _place_points(drawing)
    _draw_lines(drawing, plan)
    for i in range(len(series)):
        _draw_points(drawing, i)
    if names:
        lined = [len(each.path()) > 1 for each in series]
        draw_legend(panel, names, lined, panel.frame.bottom - BELOW - 6)
    return drawing


def _y_limits(series: Sequence[Series], plan: Plan) -> Spot:
    points_ = [point for each in series for point in each.points]
    values = [point.y for point in points_]
    if not plan.log_y:
        values += [point.high for point in points_ if point.high is not None]
        return 0.0, max(*values, plan.reference or 0) * 1.08
    # The low end of a range may be zero, which a log axis cannot show.
    values += [end for point in points_ for end in (point.low, point.high) if end and end > 0]
    if plan.ideal:
        values += [end.y for each in series for end in _ideal(each)]
    return log_limits(values, 0.07, 1.15)


def _scales(panel: Panel, plan: Plan, limits: Spot, ticks: Sequence[float]) -> None:
    axes = panel.axes
    axes.set_xscale("log", base=2)
    if plan.log_y:
        axes.set_yscale("log")
    axes.set_yticks(ticks, [tick_text(tick) + plan.unit for tick in ticks])
    faint = minor_ticks(*limits) if plan.log_y else []
    axes.set_yticks([tick for tick in faint if tick not in ticks], [], minor=True)
    axes.set_ylim(*limits)
    axes.tick_params(axis="y", length=0)
    grid(axes, "y")


def _x_axis(panel: Panel, values: Sequence[float]) -> None:
    """Ticks at the measured counts themselves."""
    axes = panel.axes
    axes.set_xlim(*log_limits(values, 0.05, 1.25))
    limits = axes.get_xlim()
    ticks = value_ticks(values, [panel.place(x, 1)[0] for x in values], SMALL + 1)
    axes.set_xticks(ticks, [tick_text(tick) for tick in ticks])
    axes.set_xticks([], [], minor=True)
    axes.set_xlim(*limits)
    axes.grid(axis="x", color=GRID, linewidth=0.8)


def _place_points(drawing: Drawing) -> None:
    """Points on lines stay where they are; those that would cover others move sideways.

    Beside points that belong to no line, those of lines stay even where there is but one.
    """
    place = drawing.panel.place
    drawing.spots = [{} for _ in drawing.series]
    loose: list[tuple[int, Point]] = []
    mixed = len({each.joined for each in drawing.series}) > 1
    for i, each in enumerate(drawing.series):
        best = each.best()
        for point in dict.fromkeys(each.points):
            if point in best and (each.joined if mixed else len(best) > 1):
                drawing.spots[i][point] = place(point.x, point.y)
            else:
                loose.append((i, point))
    fixed = [spot for spots in drawing.spots for spot in spots.values()]
    xs = sorted({place(point.x, 1)[0] for each in drawing.series for point in each.points})
    reach = min(REACH, min((b - a for a, b in pairwise(xs)), default=REACH) * 0.45)
    moved = swarm(fixed, [place(point.x, point.y) for _, point in loose], 10, reach)
    for (i, point), spot in zip(loose, moved, strict=True):
        drawing.spots[i][point] = spot


def _ideal(series: Series) -> list[Point]:
    """The ends of the line that perfect scaling from the smallest point would follow."""
    first, last = series.best()[0], series.best()[-1]
    return [first, Point(last.x, first.y * last.x / first.x)] if last.x > first.x else []


def _draw_lines(drawing: Drawing, plan: Plan) -> None:
    panel, axes = drawing.panel, drawing.panel.axes
    if plan.reference is not None:
        axes.axhline(plan.reference, color=MUTED, linewidth=points(1.4), linestyle=DASHES, zorder=1)
        y = panel.place(1, plan.reference)[1]
        drawing.obstacles.segments.append(((panel.frame.left, y), (panel.frame.right, y)))
    faint = 1 if len(drawing.series) <= 4 else 0.45
    for i, each in enumerate(drawing.series):
        color = look(i).color
        ends = _ideal(each) if plan.ideal and each.joined else []
        for line, style, width, alpha in ((ends, DASHES, 1.1, faint), (each.path(), "-", 1.5, 1)):
            if len(line) < 2:
                continue
            axes.plot([point.x for point in line], [point.y for point in line], color=color,
                      linestyle=style, linewidth=points(width), alpha=alpha, zorder=2)  # fmt: skip
            spots = [panel.place(point.x, point.y) for point in line]
            drawing.obstacles.segments += pairwise(spots)


def _draw_points(drawing: Drawing, i: int) -> None:
    """Markers over thin bars for the ranges."""
    panel, style = drawing.panel, look(i)
    floor = panel.axes.get_ylim()[0]
    for point, spot in drawing.spots[i].items():
        drawing.obstacles.boxes.append(around(spot, 5))
        ends = [end for end in (point.low, point.high) if end is not None]
        if ends:
            low, high = max(min(*ends, point.y), floor), max(*ends, point.y)
            x = panel.value(spot)[0]
            panel.axes.plot([x, x], [low, high], color=style.color, linewidth=points(1.2), zorder=3)
            bar = ((spot[0], panel.place(x, low)[1]), (spot[0], panel.place(x, high)[1]))
            drawing.obstacles.segments.append(bar)
    xs, ys = zip(*(panel.value(spot) for spot in drawing.spots[i].values()), strict=True)
    panel.axes.plot(
        xs, ys, linestyle="", marker=style.marker, markersize=points(8), color=style.color,
        markerfacecolor=style.color if style.filled else "white", markeredgewidth=points(1.5),
        clip_on=False, zorder=4,
    )  # fmt: skip
