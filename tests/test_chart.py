"""Charts: the same bytes each time, literal text, and labels that cover nothing."""

import os
import struct
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.text import Text

from bench.reports.chart import (
    aggregate_pflops,
    days_to_train,
    relative_to_smallest,
    save,
    scaling_efficiency,
)
from bench.reports.charts.data import Bar, Point, Series
from bench.reports.charts.labels import spread
from bench.reports.charts.lines import swarm
from bench.reports.charts.text import text_width, wrapped
from bench.reports.charts.ticks import log_ticks

ODD = r"$x_1$ ^2 \alpha <b>&amp; -- \n"


def line(name: str, xs: list[int], rate: float, fall: float = 0.99) -> Series:
    values = [(x, x * rate * fall**n) for n, x in enumerate(xs)]
    return Series(name, tuple(Point(x, y, y * 0.97, y * 1.03) for x, y in values))


NODES = [1, 2, 4, 8, 16, 32, 64]
FUGAKU = [line("124M, tcmalloc", NODES, 1.09e-3), line("124M, without", NODES, 0.84e-3, 0.93)]
TWELVE = [line(f"Setting {i}: {ODD}", NODES[i % 3 :], 1 + i / 5) for i in range(12)]
CLUSTER = [
    Series(f"TP{2**i}", tuple(Point(48, 20 + i / 3 + k / 2, label=f"MBS {k}") for k in range(8)))
    for i in range(5)
]
LONG = [line("NCCL_ALGO=Ring " * 30 + str(i), NODES, 1 + i) for i in range(3)]
MIXED = [
    Series("Fugaku TP4", (Point(4, 0.0035, label="l.27"), Point(64, 0.055), Point(4, 0.0031))),
    Series("V100-32GB", tuple(Point(2, 0.38 + i / 100, label=f"l.{i}") for i in range(5))),
]
CASES = [FUGAKU, TWELVE, CLUSTER, LONG, MIXED, [Series(ODD, (Point(48, 22.1),))]]
BARS = [
    Bar(f"{ODD} {i} " + "word " * (i * 9), 90.0 * 2**i, 85.0 * 2**i, None, ODD) for i in range(7)
]
CHARTS: list[Callable[[], Figure]] = [
    *(partial(aggregate_pflops, case, title=ODD) for case in CASES),
    *(partial(scaling_efficiency, list(map(relative_to_smallest, case))) for case in CASES),
    partial(days_to_train, BARS, title=ODD),
    partial(days_to_train, BARS[:1]),
]


def texts(figure: Figure) -> list[Text]:
    return [text for text in figure.texts if text.get_text()]


def assert_apart(figure: Figure) -> None:
    """No text meets another, a marker of the data, or the edge of the picture."""
    boxes = [text.get_window_extent().padded(-1) for text in texts(figure)]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    for box in boxes:
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1
    (axes,) = figure.axes
    for drawn in axes.lines:
        if drawn.get_marker() not in ("None", "|"):
            for x, y in axes.transData.transform(drawn.get_xydata()):
                assert not any(box.contains(x, y) for box in boxes)


@pytest.mark.parametrize("chart", CHARTS)
def test_labels_cover_nothing(chart: Callable[[], Figure]) -> None:
    assert_apart(chart())


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text(max_size=60),
            st.lists(st.tuples(st.integers(1, 4096), st.floats(1e-4, 1e4)), min_size=1, max_size=9),
        ),
        min_size=1,
        max_size=9,
    )
)
def test_labels_cover_nothing_of_any_data(found: list[tuple[str, list[tuple[int, float]]]]) -> None:
    series = [Series(name, tuple(Point(*point) for point in points)) for name, points in found]
    assert_apart(aggregate_pflops(series))


@pytest.mark.slow
def test_the_same_bytes_each_time(tmp_path: Path) -> None:
    for n, chart in enumerate(CHARTS):
        figure = chart()
        first = [path.read_bytes() for path in save(figure, tmp_path, f"{n}.first")]
        again = [path.read_bytes() for path in save(figure, tmp_path, f"{n}.again")]
        assert first == again
    rebuilt = save(aggregate_pflops(FUGAKU, title=ODD), tmp_path, "rebuilt")
    assert [path.read_bytes() for path in rebuilt] == [
        (tmp_path / f"0.first.{kind}").read_bytes() for kind in ("svg", "png")
    ]


SCRIPT = """
import sys
from bench.reports.chart import *
points = tuple(Point(2**k, 2**k * .98**k, 2**k * .9**k, 2**k) for k in range(7))
save(aggregate_pflops([Series("$a_1$", points)], title="t"), sys.argv[1], "lines")
save(days_to_train([Bar("a", 3), Bar("b", 300, 290, 310)]), sys.argv[1], "bars")
assert "matplotlib.pyplot" not in sys.modules
"""


@pytest.mark.slow
def test_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    rc = tmp_path / "matplotlibrc"
    rc.write_text("font.size: 30\naxes.grid: True\nsvg.fonttype: none\nlines.linewidth: 9\n")
    for n, more in enumerate(({}, {"MATPLOTLIBRC": str(rc), "SOURCE_DATE_EPOCH": "1"})):
        environment = {**os.environ, "PYTHONHASHSEED": str(n), **more}
        command = [sys.executable, "-P", "-W", "error", "-c", SCRIPT, str(tmp_path / str(n))]
        subprocess.run(command, env=environment, check=True)
    for name in ("lines.svg", "lines.png", "bars.svg", "bars.png"):
        assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "1" / name).read_bytes()


def test_files_are_what_they_say(tmp_path: Path) -> None:
    svg, png = save(aggregate_pflops(TWELVE, title=ODD), tmp_path / "new", "1.3B")
    assert (svg.name, png.name) == ("1.3B.svg", "1.3B.png")
    root = ElementTree.parse(svg).getroot()
    assert root.get("width") == "600pt"  # 800 CSS pixels
    assert b"dc:date" not in svg.read_bytes()
    width, height = struct.unpack(">II", png.read_bytes()[16:24])
    assert width == 1600 and 800 <= height <= 1800, "two pixels for one of a page"
    assert b"Software" not in png.read_bytes() and b"tIME" not in png.read_bytes()


def test_names_are_shown_literally() -> None:
    shown = [text.get_text() for text in texts(aggregate_pflops([line(ODD, NODES, 1)], title=ODD))]
    assert ODD in shown
    for text in texts(aggregate_pflops([line(ODD, NODES, 1)])):
        assert not text.get_parse_math() and not text.get_usetex()


def test_nothing_global_changes() -> None:
    before = dict(matplotlib.rcParams)
    aggregate_pflops(FUGAKU)
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("chart", [aggregate_pflops, scaling_efficiency])
def test_nothing_to_plot_is_an_error(chart) -> None:  # type: ignore[no-untyped-def]
    for empty in ([], [Series("a", ())]):
        with pytest.raises(ValueError, match="nothing to plot"):
            chart(empty)
    for bad in (float("nan"), float("inf"), 0.0, -1.0):
        with pytest.raises(ValueError, match=r"cannot plot .* of 'a'"):
            chart([Series("a", (Point(1, bad),))])
    with pytest.raises(ValueError, match="nothing to plot"):
        days_to_train([])


def test_bars_are_sorted_and_go_log_when_far_apart() -> None:
    figure = days_to_train([Bar("slow", 10613), Bar("fast", 96.4)])
    names = [
        text.get_text() for text in texts(figure) if str(text.get_gid()).startswith("row-label")
    ]
    assert names == ["fast", "slow"]
    assert figure.axes[0].get_xscale() == "log"
    assert days_to_train([Bar("a", 30), Bar("b", 1)]).axes[0].get_xscale() == "linear"
    assert "29 years" in [text.get_text() for text in texts(figure)]


def test_efficiency_is_relative_to_the_best_smallest_run() -> None:
    series = Series("a", (Point(4, 2.0), Point(4, 4.0, 3.9, 4.1), Point(64, 62.08, 62.0, 62.2)))
    worse, base, large = relative_to_smallest(series).points
    assert (worse.y, base.y, large.y) == pytest.approx((50, 100, 97))
    assert base.low is None
    assert (large.low, large.high) == pytest.approx((62 / 65.6 * 100, 62.2 / 62.4 * 100))


def test_the_line_goes_through_the_best_of_each_x() -> None:
    series = Series("a", (Point(4, 1), Point(2, 3), Point(4, 5)))
    assert series.best() == [Point(2, 3), Point(4, 5)]


@given(st.lists(st.tuples(st.floats(0, 300), st.floats(10, 25)), max_size=12))
def test_labels_are_spread_within_limits(found: list[tuple[float, float]]) -> None:
    centers, heights = [c for c, _ in found], [h for _, h in found]
    spans = sorted(
        (center - height / 2, center + height / 2)
        for center, height in zip(spread(centers, heights, 0, 300), heights, strict=True)
    )
    for (_, top), (bottom, _) in pairwise(spans):
        assert bottom >= top - 1e-6
    assert not spans or (spans[0][0] >= -1e-6 and spans[-1][1] <= 300 + 1e-6)


def test_points_at_one_spot_stand_side_by_side() -> None:
    found = swarm([(0, 0)], [(0, 0), (0, 0), (0, 50)], gap=10, reach=40)
    assert sorted(found) == [(-10, 0), (0, 50), (10, 0)]


@settings(deadline=None)
@given(st.text(max_size=200), st.integers(1, 3))
def test_wrapped_names_fit(text: str, lines: int) -> None:
    found = wrapped(text, 12, 150, lines)
    assert 1 <= len(found) <= lines
    assert all(text_width(each, 12) <= 150 for each in found)


def test_endless_names_are_shortened() -> None:
    found = wrapped("a" + "b" * 100_000 + "c", 12, 150, 2)
    assert found[0].startswith("ab") and found[1].endswith("bc") and "…" in "".join(found)


@given(st.floats(1e-6, 1e6), st.floats(1.05, 1e6))
def test_ticks_lie_within_and_are_few(low: float, span: float) -> None:
    ticks = log_ticks(low, low * span, 9)
    assert 2 <= len(ticks) <= 9
    assert all(low * 0.999 <= tick <= low * span * 1.001 for tick in ticks)
