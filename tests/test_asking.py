"""How decisions are asked for, and how their answers read where there is little room."""

from __future__ import annotations

import re
from pathlib import Path

import numpy
import pytest
from matplotlib.text import Text

from bench.commands.chart import title
from bench.decide.query import Query
from bench.project.short import Names
from bench.reports.answer import Answer
from bench.reports.charts.data import Bar, Point, Series, checked_series
from bench.reports.charts.lines import REACH, Plan, draw
from bench.reports.charts.rows import draw_effects
from bench.reports.pair_charts import efficiency
from bench.terminal.layouts import table as as_table
from tests.deciding import answer, table
from tests.program import quick, told

JOB = "2 | 1.3B | {dp} | {tp} | 1 | {mbs} | 512 | 20GB | {time} | | "


@pytest.fixture
def five(folder: Path) -> str:
    """Five jobs of two micro batches, the second slower."""
    times = {1: (10.01, 10.05, 9.97, 10.02, 10.00), 2: (10.60, 10.50, 10.55, 10.61, 10.58)}
    rows = [
        JOB.format(dp=16, tp=1, mbs=mbs, time=f"{t:.2f}") for mbs, of in times.items() for t in of
    ]
    table(folder / "a.md", rows)
    return "a.md"


def test_goodput_as_a_percentage(five: str, folder: Path) -> None:
    share, percent = (answer(folder, "days", five, "--goodput", one) for one in ("0.9", "90%"))
    assert share == percent and share[0]["goodput"] == 0.9
    told(quick(folder, "days", five, "--goodput", "90"), 2, "use e.g. 0.9 or 90%")


def test_two_budgets_are_refused(five: str, folder: Path) -> None:
    for command in ("days", "best"):
        done = quick(folder, command, five, "--tokens", "1B", "--steps", "5")
        told(done, 2, "--tokens and --steps are two budgets")


def test_years_stand_in_the_days_of_their_column(folder: Path) -> None:
    table(folder / "a.md", [JOB.format(dp=16, tp=1, mbs=1, time="10.0")])
    said = quick(folder, "days", "a.md", "--tokens", "9T").out
    [(days, low)] = re.findall(r"\| +([\d,]+) \| ([\d,]+)-[\d,]+ \|", said)
    assert float(low.replace(",", "")) <= float(days.replace(",", "")) > 900


def test_a_number_of_a_comparison_is_told_of_its_base_too(five: str, folder: Path) -> None:
    for line in (8, 13):
        done = quick(folder, "explain", f"a:{line}.p_value", five, "--by", "mbs")
        assert done.code == 0 and "p_value = 0.0079" in done.out
    done = quick(folder, "explain", "a:8.p_value", five)
    told(done, 2, "it is a number of bench compare", "--by COLUMN")


def test_sides_may_be_absolute_paths(five: str, folder: Path) -> None:
    table(folder / "b.md", [JOB.format(dp=16, tp=1, mbs=1, time="12.0")])
    sides = f"{folder / 'b.md'} / {folder / 'a.md'}"
    done = quick(folder, "explain", sides, "a.md", "b.md")
    assert done.code == 0 and "speedup = 0.8" in done.out


def test_a_narrow_terminal_keeps_the_answer() -> None:
    heads = ("Model", "Nodes", "Sec/it", "Speed-up", "95%", "Verdict")
    rows = [["1.3B", "2 (16)", "10.00", "1.30x", "1.2-1.4x", "faster"]]
    text = as_table(heads, rows, 40, ("Speed-up", "Verdict"))
    assert "1.30x" in text and "faster" in text and text.index("Model") < text.index("Speed-up")
    assert max(map(len, text.splitlines()[:2])) <= 40
    assert "also: 95% (--columns" in text
    rows = [[*rows[0][:-1], "not significant: only 1.2% or more would be"]]
    wrapped = as_table(heads, rows, 60, ("Speed-up", "Verdict")).split()
    assert "not significant: only 1.2% or more would be" in " ".join(wrapped)
    assert "Speed-up" not in as_table(heads, rows, 30).splitlines()[0]


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
    drawn = efficiency(Names(["a"]), answer).draw("")
    assert any("TFLOP/s a node" in one.get_text() for one in drawn.findobj(Text))


def test_a_marker_stays_beside_its_count_on_a_log_axis() -> None:
    alike = tuple(Point(8.0, 10.0 + at / 1000) for at in range(30))
    drawn = draw(checked_series([Series("a", alike, lowest=True)]), Plan("", "", "", log_y=True))
    [axes] = drawn.axes
    marked = [line for line in axes.lines if line.get_marker() not in ("None", "", None)]
    spots = numpy.concatenate([numpy.asarray(line.get_xydata()) for line in marked])
    xs = axes.transData.transform(spots)[:, 0]
    assert len(xs) > 1 and xs.max() - xs.min() <= 2 * REACH + 1


def test_a_ramp_up_longer_than_the_training_is_refused(five: str, folder: Path) -> None:
    asked = ("days", five, "--tokens", "1B", "--ramp-up", "32,32,1000000")
    why = "1,000,000 samples x 2048 tokens = 2.05B tokens, of 1B"
    told(quick(folder, *asked), 2, "the ramp-up is longer than the training", why)


def test_a_gate_says_which_pairs_are_inconclusive(folder: Path) -> None:
    once = [JOB.format(dp=16, tp=1, mbs=mbs, time=f"{t:.2f}") for mbs, t in ((1, 10), (2, 10.5))]
    twice = [JOB.format(dp=8, tp=2, mbs=1, time=f"{time:.2f}") for time in (9.0, 9.6)]
    table(folder / "a.md", [*once, *twice])
    asked = ("compare", "a.md", "--by", "mbs", "--threshold", "step_time:3%")
    [row] = [one for one in answer(folder, *asked) if not one["left_out"]]
    assert (row["worse"], row["inconclusive"]) == (False, True)
