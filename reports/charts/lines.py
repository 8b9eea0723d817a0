"""Series over nodes or devices: markers, thin lines, ranges, names where they fit."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from .data import Point, Series
from .labels import Obstacles, around, end_labels, fitting, point_labels, write_end_labels
from .panel import Panel, Spot, heading_height, new_panel
from .style import DASHES, EDGE, GRID, INK, MUTED, SMALL, WIDTH, look, new_figure, points, styled
from .text import clean, text_width, wrapped
from .ticks import linear_ticks, log_limits, log_ticks, minor_ticks, tick_text, value_ticks

HEIGHT = 340
BELOW = 52
MOST_DIRECT = 8
MOST_COLUMNS = 4
REACH = 20  # pixels between a marker and its count: more would be misread on a log axis


@dataclass(frozen=True)
class ChartLayout:
    """The options of a chart of series."""

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
    """A panel in progress: the spot of every point, and the obstacles of labels."""

    panel: Panel
    series: Sequence[Series]
    spots: list[dict[Point, Spot]] = field(default_factory=list)
    obstacles: Obstacles = field(default_factory=Obstacles)


def draw(series: Sequence[Series], plan: ChartLayout) -> Figure:
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
            drawing = _drawing(series, plan, widest + EDGE + 6, 0)
            if found := end_labels(drawing.panel, drawing.spots, series, names, drawing.obstacles):
                write_end_labels(drawing.panel, found, drawing.obstacles)
                return _finished(drawing)
        return _finished(_drawing(series, plan, EDGE, _columns(series)))


def _finished(drawing: Drawing) -> Figure:
    lines = {point for each in drawing.series for point in each.best()}
    point_labels(drawing.panel, drawing.spots, lines, drawing.obstacles)
    return drawing.panel.figure


def _drawing(series: Sequence[Series], plan: ChartLayout, right: float, columns: int) -> Drawing:
    """Everything but the labels at ends and points; without `columns` there is no legend."""
    y_low, y_high = _y_limits(series, plan)
    y_ticks = log_ticks(y_low, y_high, 9) if plan.log_y else linear_ticks(y_low, y_high, 6)
    left = EDGE + max(text_width(tick_text(tick) + plan.unit, SMALL + 1) for tick in y_ticks) + 10
    names = _legend(new_figure(HEIGHT), series, columns) if columns else None
    below = BELOW + EDGE + (names.get_window_extent().height + 10 if names else 0)
    panel = new_panel(left, right, HEIGHT, heading_height(plan.title, plan.y_label), below)
    _scales(panel, plan, (y_low, y_high), y_ticks)
    _x_axis(panel, sorted({point.x for each in series for point in each.points}))
    crossing = plan.ideal and any(len(each.best()) > 1 for each in series)
    panel.write_heading(plan.title, plan.y_label, plan.key if crossing or plan.reference else "")
    hollow = any(point.estimated for each in series for point in each.points)
    panel.write_x_label(plan.x_label + (" (hollow: estimated)" if hollow else ""), BELOW - 14)
    drawing = Drawing(panel, series)
    _place_points(drawing)
    _draw_lines(drawing, plan)
    for i in range(len(series)):
        _draw_points(drawing, i)
    if columns:
        spot = (EDGE / WIDTH, (panel.frame.y0 - BELOW - 2) / panel.height)
        _legend(panel.figure, series, columns, spot)
    return drawing


def _columns(series: Sequence[Series]) -> int:
    """The most columns of a legend whose names stay on one line each, or one."""
    scratch = new_figure(HEIGHT)
    fitting = (
        columns
        for columns in range(min(MOST_COLUMNS, len(series)), 1, -1)
        if _legend(scratch, series, columns).get_window_extent().width <= WIDTH - 2 * EDGE
    )
    return next(fitting, 1)


def _legend(figure: Figure, series: Sequence[Series], columns: int, spot: Spot = (0, 1)) -> Legend:
    """Names beside their markers, below a spot; names are wrapped in a single column alone."""
    names = [
        "\n".join(wrapped(each.name, SMALL + 1, WIDTH - 2 * EDGE - 36, 3))
        if columns == 1
        else clean(each.name)
        for each in series
    ]
    handles = [
        Line2D([], [], linestyle="-" if len(each.path()) > 1 else "", linewidth=points(1.5),
               **_marker(i))
        for i, each in enumerate(series)
    ]  # fmt: skip
    return figure.legend(
        handles, names, ncols=columns, loc="upper left", bbox_to_anchor=spot, frameon=False,
        fontsize=points(SMALL + 1), handlelength=26 / (SMALL + 1), handletextpad=0.6,
        borderpad=0, borderaxespad=0, columnspacing=1.5, labelcolor=INK, labelspacing=0.35,
    )  # fmt: skip


def _marker(i: int) -> dict[str, Any]:
    """The style of the markers of a series, in the plot and in the legend."""
    style = look(i)
    return {
        "marker": style.marker, "markersize": points(8), "color": style.color,
        "markerfacecolor": style.color if style.filled else "white",
        "markeredgewidth": points(1.5),
    }  # fmt: skip


def _y_limits(series: Sequence[Series], plan: ChartLayout) -> tuple[float, float]:
    points_ = [point for each in series for point in each.points]
    values = [point.y for point in points_]
    if not plan.log_y:
        values += [point.high for point in points_ if point.high is not None]
        high = max(*values, plan.reference or 0) * 1.02
        low = min([*values, *(point.low for point in points_ if point.low is not None)])
        # Near the reference the lines would all overlap on an axis from zero.
        return (0.0 if low < 0.75 * high else high - 2.5 * (high - low)), high * 1.01
    # The low end of a range may be zero, which a log axis cannot show.
    values += [end for point in points_ for end in (point.low, point.high) if end and end > 0]
    if plan.ideal:
        values += [end.y for each in series for end in _ideal(each)]
    return log_limits(values, 0.07, 1.15)


def _scales(
    panel: Panel, plan: ChartLayout, limits: tuple[float, float], ticks: Sequence[float]
) -> None:
    axes = panel.axes
    axes.set_xscale("log", base=2)
    if plan.log_y:
        axes.set_yscale("log")
    axes.set_yticks(ticks, [tick_text(tick) + plan.unit for tick in ticks])
    faint = minor_ticks(*limits) if plan.log_y else []
    axes.set_yticks([tick for tick in faint if tick not in ticks], [], minor=True)
    axes.set_ylim(*limits)
    panel.grid("y")


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
    """Points on lines stay in place; those that would cover others move sideways.

    If there are points without a line, those of lines stay even if there is only one.
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
    """The ends of the line of perfect scaling from the smallest point."""
    first, last = series.best()[0], series.best()[-1]
    return [first, Point(last.x, first.y * last.x / first.x)] if last.x > first.x else []


def _draw_lines(drawing: Drawing, plan: ChartLayout) -> None:
    panel, axes = drawing.panel, drawing.panel.axes
    if plan.reference is not None:
        axes.axhline(plan.reference, color=MUTED, linewidth=points(1.4), linestyle=DASHES, zorder=1)
        y = panel.place(1, plan.reference)[1]
        drawing.obstacles.segments.append(((panel.frame.x0, y), (panel.frame.x1, y)))
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
    for estimated in {point.estimated for point in drawing.spots[i]}:
        spots = [s for point, s in drawing.spots[i].items() if point.estimated == estimated]
        xs, ys = zip(*map(panel.value, spots), strict=True)
        look_ = _marker(i) | ({"markerfacecolor": "white"} if estimated else {})
        panel.axes.plot(xs, ys, linestyle="", clip_on=False, zorder=4, **look_)


def swarm(fixed: Iterable[Spot], loose: Sequence[Spot], gap: float, reach: float) -> list[Spot]:
    """The loose spots, moved sideways by at most `reach`, until none is nearer than `gap`."""
    placed = list(fixed)
    steps = [0.0]
    for n in range(1, int(reach / gap * 2) + 1):
        steps += [n * gap / 2, -n * gap / 2]
    spots: dict[int, Spot] = {}
    for i in sorted(range(len(loose)), key=lambda i: (-loose[i][1], i)):
        x, y = loose[i]
        free = (x + step for step in steps if _free((x + step, y), placed, gap))
        spots[i] = (next(free, x), y)
        placed.append(spots[i])
    return [spots[i] for i in range(len(loose))]


def _free(spot: Spot, placed: Iterable[Spot], gap: float) -> bool:
    return all((spot[0] - x) ** 2 + (spot[1] - y) ** 2 >= gap**2 * 0.98 for x, y in placed)
