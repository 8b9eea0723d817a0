"""Colors, markers, sizes and the matplotlib settings of every chart."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

DPI = 96  # a CSS pixel, so that SVG and PNG are equally large on a page
WIDTH = 800
EDGE = 8
TEXT, SMALL, TITLE = 13, 11, 15  # pixels

INK, MUTED, AXIS, GRID, FAINT = "#24292f", "#57606a", "#8c959f", "#dde1e6", "#eff1f3"
# Okabe and Ito without yellow, which is invisible on white; neighbors differ in lightness too.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vP<X>phd"
DASHES = (0, (4, 2))

SETTINGS = {
    "font.family": ["DejaVu Sans"],
    "text.parse_math": False,
    "text.usetex": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "bench",
    "path.simplify": False,
    "axes.linewidth": 0.8,
}
# The backend is global state, and of no use to figures that are drawn here.
KEPT = {"backend", "backend_fallback", "interactive", "toolbar", "tk.window_focus"}


@dataclass(frozen=True)
class Sheet:
    """The format of a chart: the ratio of width to height, and a line of text below it."""

    ratio: float | None = None
    footer: str = ""


_PAGE = Sheet()
_SHEET: ContextVar[Sheet] = ContextVar("sheet", default=_PAGE)


def sheet() -> Sheet:
    """The current sheet; a README's unless `on_sheet` sets another."""
    return _SHEET.get()


@contextmanager
def on_sheet(wanted: Sheet) -> Iterator[None]:
    """Draw charts for a slide, say, instead of a README."""
    token = _SHEET.set(wanted)
    try:
        yield
    finally:
        _SHEET.reset(token)


@dataclass(frozen=True)
class SeriesStyle:
    """The style that distinguishes a series."""

    color: str
    marker: str
    filled: bool


def look(index: int) -> SeriesStyle:
    """A color, marker and filling, distinct for 84 series."""
    return SeriesStyle(
        COLORS[index % len(COLORS)], MARKERS[index % len(MARKERS)], index // len(COLORS) % 2 == 0
    )


@contextmanager
def styled() -> Iterator[None]:
    """Our settings over matplotlib's defaults, independent of the user's matplotlibrc."""
    defaults = {k: v for k, v in matplotlib.rcParamsDefault.items() if k not in KEPT}
    settings: Any = {**defaults, **SETTINGS}  # matplotlib knows its keys as literals only
    with matplotlib.rc_context(settings):
        yield


def new_figure(height: float) -> Figure:
    """A white figure of README width, so many pixels high."""
    figure = Figure(figsize=(WIDTH / DPI, height / DPI), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def points(pixels: float) -> float:
    """Pixels as matplotlib's points."""
    return pixels * 72 / DPI
