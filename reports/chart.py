"""Charts: from plain data to figures, and to files that are reproducible to the byte."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from io import BytesIO
from pathlib import Path

from matplotlib.figure import Figure

from ..vocabulary.atomic import atomic_write
from ..vocabulary.format import days_words, significant
from .charts.data import Bar, Point, Series, checked_bars, checked_series
from .charts.lines import ChartLayout, draw
from .charts.rows import draw_bars, draw_effects
from .charts.style import DPI, styled

SHARP = 2  # pixels of a PNG for one of a page: for slides and high-resolution screens

FORMATS = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "png": {"Software": None},
}


def aggregate_pflops(
    series: Iterable[Series],
    *,
    title: str = "",
    x_label: str = "Nodes",
    y_label: str = "Aggregate PFLOP/s",
    ideal: bool = True,
) -> Figure:
    """Aggregate PFLOP/s over nodes or devices, log-log, with dashed ideal scaling."""
    key = "ideal scaling from the smallest point"
    plan = ChartLayout(title, x_label, y_label, log_y=True, key=key, ideal=ideal)
    return draw(checked_series(series), plan)


def scaling_efficiency(
    series: Iterable[Series],
    *,
    title: str = "",
    x_label: str = "Nodes",
    y_label: str = "Scaling efficiency against the smallest run",
) -> Figure:
    """Efficiency in percent over nodes or devices; `relative_to_smallest` computes it from
    rates."""
    plan = ChartLayout(
        title, x_label, y_label, log_y=False, unit="%", key="ideal scaling", reference=100
    )
    return draw(checked_series(series), plan)


def days_to_train(
    bars: Iterable[Bar],
    *,
    title: str = "",
    x_label: str = "Days to train",
    value_text: Callable[[float], str] = days_words,
) -> Figure:
    """Days as horizontal bars, the shortest first."""
    return draw_bars(checked_bars(bars), title, x_label, value_text)


def ranked_bars(
    bars: Iterable[Bar],
    *,
    title: str = "",
    x_label: str = "",
    value_text: Callable[[float], str] = significant,
) -> Figure:
    """Values as horizontal bars, in the given order: the best first."""
    every = list(bars)
    checked_bars(every)
    return draw_bars(every, title, x_label, value_text)


def days_over_devices(
    series: Iterable[Series], *, title: str = "", y_label: str = "Days to train"
) -> Figure:
    """Days over devices, log-log: a line joins the best of one setting, or the Pareto front."""
    return draw(checked_series(series), ChartLayout(title, "Devices", y_label, log_y=True))


def paired_effects(
    bars: Iterable[Bar],
    sure: Iterable[bool],
    *,
    title: str = "",
    x_label: str = "Speed-up against the base",
) -> Figure:
    """Speed-ups with their intervals, one per configuration in the given order; significant ones
    filled."""
    return draw_effects(list(bars), list(sure), title, x_label)


def relative_to_smallest(series: Series) -> Series:
    """Aggregate rates as percent of ideal scaling from the best run at the smallest x."""
    (checked,) = checked_series([series])
    base = checked.best()[0]

    def share(x: float, y: float | None, of: float | None) -> float | None:
        return None if y is None else 100 * (y / x) / ((of or base.y) / base.x)

    def relative(point: Point) -> Point:
        value = 100 * (point.y / point.x) / (base.y / base.x)
        if point == base:
            return replace(point, y=value, low=None, high=None)
        low, high = share(point.x, point.low, base.high), share(point.x, point.high, base.low)
        return replace(point, y=value, low=low, high=high)

    return Series(series.name, tuple(map(relative, checked.points)))


def write(figure: Figure, file: Path, *, named: bool = False) -> None:
    """Write one file by its suffix, .svg or .png: the same figure always gives the same bytes."""
    kind = file.suffix.lower().lstrip(".")
    image = BytesIO()
    with styled():
        figure.savefig(image, format=kind, dpi=DPI * SHARP, metadata=FORMATS[kind])
    atomic_write(file, image.getvalue(), named=named)


def save(figure: Figure, folder: Path | str, stem: str) -> list[Path]:
    """Write STEM.svg and STEM.png for a page."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{stem}.{kind}" for kind in FORMATS]
    for path in paths:
        write(figure, path)
    return paths
