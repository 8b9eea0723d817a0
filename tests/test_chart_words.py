"""The words of charts: names of curves, labels, titles, axes, and marks next to their counts."""

from pathlib import Path

import numpy
from matplotlib.text import Text

from bench.commands.chart import title
from bench.decide.query import Query
from bench.project.short_names import ShortNames
from bench.reports.answer import Answer
from bench.reports.charts.data import Bar, Point, Series, checked_series
from bench.reports.charts.lines import REACH, ChartLayout, draw
from bench.reports.charts.rows import draw_effects
from bench.reports.charts.text import wrapped
from bench.reports.pair_charts import efficiency
from tests.logs import header
from tests.making import iteration
from tests.program import quick


def test_names_are_parted_at_their_signs() -> None:
    name = "meg_ds_zero_gpt2_perf_n16-1999616"
    lines = wrapped(name, 16, 230, 2)
    assert "".join(lines) == name and lines[0][-1] in "_-"


def test_curves_of_one_log_are_named_by_lines(folder: Path) -> None:
    text = header(4) + "\n" + "".join(iteration(n, of=4) for n in range(1, 5))
    (folder / "a_long_name_of_a_log.log").write_text(text + text)
    (folder / "b.log").write_text(text)
    quick(folder, "chart", "steps", "a_long_name_of_a_log.log", "-o", "one.svg")
    quick(folder, "chart", "steps", ".", "-o", "two.svg")
    one, two = ((folder / f"{name}.svg").read_text() for name in ("one", "two"))
    assert "line 1" in one
    assert "2 devices, GBS 8: 0.1" in one
    # As comments beside the paths that draw them.
    assert "<!-- b -->" in two and "<!-- a_long_name_of_a_log:1 -->" in two


def test_labels_of_effects_are_whole() -> None:
    label = (
        "48 nodes, TP8, PP12, MBS 1, GBS 2048, NCCL_DEBUG=INFO, LD_PRELOAD=libtcmalloc_minimal.so"
    )
    drawn = draw_effects([Bar(label, 1.2)], [True], "", "")
    parts = [one for one in drawn.findobj(Text) if (one.get_gid() or "").startswith("row-label")]
    assert "".join("".join(one.get_text().split()) for one in parts) == label.replace(" ", "")


def test_the_title_without_a_column_speaks_of_settings() -> None:
    assert title("effects", Query(), "") == "Effects of settings"
    assert title("effects", Query(by="mbs"), "") == "Effect of mbs"


def test_the_axis_says_what_was_printed() -> None:
    alike = (
        "mbs", "gbs", "batch", "device_batch", "seq_len", "dtype", "size", "tp", "pp", "recompute",
        "settings",
    )  # fmt: skip
    row = {
        "group": 1, "efficiency": 1.0, "efficiency_low": None, "efficiency_high": None,
        "measure": "tflops", "scaling": "weak", "system": "a", **dict.fromkeys(alike),
    }  # fmt: skip
    rows = [{**row, "nodes": n, "device_count": 8 * n} for n in (1, 2)]
    answer = Answer((), (), (), tuple(rows))
    drawn = efficiency(ShortNames(["a"]), answer).draw("")
    assert any("TFLOP/s a node" in one.get_text() for one in drawn.findobj(Text))


def test_a_marker_stays_beside_its_count_on_a_log_axis() -> None:
    alike = tuple(Point(8.0, 10.0 + at / 1000) for at in range(30))
    drawn = draw(
        checked_series([Series("a", alike, lowest=True)]), ChartLayout("", "", "", log_y=True)
    )
    [axes] = drawn.axes
    marked = [line for line in axes.lines if line.get_marker() not in ("None", "", None)]
    spots = numpy.concatenate([numpy.asarray(line.get_xydata()) for line in marked])
    xs = axes.transData.transform(spots)[:, 0]
    assert len(xs) > 1 and xs.max() - xs.min() <= 2 * REACH + 1
