"""`bench chart`: each chart by name, the shape of a slide, and where its numbers come from."""

from __future__ import annotations

import re
import shlex
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.text import Text

from bench.decide.query import Query
from bench.ingest.files.pipeline import ingest_into
from bench.project.short_names import ShortNames
from bench.reports.chart import paired_effects
from bench.reports.chart_parts import ChartDraft
from bench.reports.charts.data import Bar
from bench.reports.charts.style import Sheet, on_sheet
from bench.reports.computed import answered
from bench.reports.drawing import NAMES, PICTURES
from bench.schema.opening import in_memory
from tests.deciding import Stored, table
from tests.program import quick, told

TCMALLOC = "003_check_tcmalloc.md"
SHOWING = {"tflops": "004_tr3m-1B3.md", "mfu": "004_tr3m-1B3.md", "memory": "004_tr3m-1B3.md"}
LOGS = ("steps", "loss")


@pytest.mark.parametrize("name", [one for one in NAMES if one not in LOGS])
def test_every_chart_is_a_slide_with_a_footer(stored: Stored, folder: Path, name: str) -> None:
    by = ["--by", "LD_PRELOAD"] if name == "effects" else []
    asked = ["chart", name, *stored(SHOWING.get(name, TCMALLOC)), *by, "--size", "16:9", "--footer"]
    assert quick(folder, *asked, "-o", "a.svg").code == 0
    text = (folder / "a.svg").read_text()
    assert 'id="footer-0"' in text and 'id="title-0"' in text
    box = ElementTree.fromstring(text).attrib["viewBox"].split()
    assert float(box[2]) / float(box[3]) == pytest.approx(16 / 9, rel=1e-3)
    assert quick(folder, *asked, "-o", "a.png").code == 0
    width, height = struct.unpack(">II", (folder / "a.png").read_bytes()[16:24])
    assert (width, height) == (1600, 900)


def test_without_a_name_of_a_file_it_is_the_chart_s(stored: Stored, folder: Path) -> None:
    done = quick(folder, "chart", "pareto", *stored(TCMALLOC))
    assert done.code == 0 and done.out == "" and "wrote pareto.svg" in done.err
    assert (folder / "pareto.svg").exists()


def test_what_cannot_be_drawn_is_told(stored: Stored, folder: Path) -> None:
    named = stored(TCMALLOC)
    told(quick(folder, "chart", "pie", *named), 2, "unknown chart 'pie'", "effects, efficiency")
    told(quick(folder, "chart", "days", *named, "--size", "9"), 2, "invalid --size", "--size 16:9")
    told(quick(folder, "chart", "days", *named, "-o", "a.pdf"), 2, "a.pdf", ".svg, .png")
    table(folder / "a.md", ["2 | 1.3B | 16 | 1 | 1 | 1 | 512 | 20GB | 10.0 | | "])
    told(quick(folder, "chart", "efficiency", "a.md"), 2, "nothing to draw")


def test_verdicts_of_effects_are_whole(stored: Stored, folder: Path) -> None:
    named = stored("002_chronicles-prequel.md")
    done = quick(folder, "chart", "effects", *named, "--by", "mbs", "--size", "16:9", "-o", "a.svg")
    text = (folder / "a.svg").read_text()
    assert done.code == 0 and "faster, not significant" in text and "…" not in text


def test_labels_of_effects_stay_inside() -> None:
    bars = [
        Bar(
            "DP8, TP8, PP6, MBS 4, GBS 2048, a long setting of many words", 1.2, 1.1, 1.3, "faster"
        ),
        Bar("<b>&", 0.9, None, None, "one job a side"),
    ]
    with on_sheet(Sheet(16 / 9, "a footer " * 60)):
        figure = paired_effects(bars, [True, False], title="$x_1$")
    width, height = figure.get_size_inches() * figure.dpi
    assert width / height == pytest.approx(16 / 9)
    for text in figure.texts:
        box = text.get_window_extent()
        assert box.x0 >= -1 and box.x1 <= width + 1 and box.y0 >= -1, text.get_text()
    assert not re.search("nan", str(figure.axes[0].get_xlim()))


def many(folder: Path) -> None:
    """Nine settings of two sizes, and ten systems' worth of pairs."""
    row = "{n} | 1.3B | {dp} | {tp} | {pp} | 1 | 512 | 20GB | {time} | | "
    rows = [
        row.format(n=n, dp=8 * n // (tp * pp), tp=tp, pp=pp, time=20 / n + tp + pp / 10)
        for n in (2, 4)
        for tp in (1, 2, 4)
        for pp in (1, 2, 4)
    ]
    table(folder / "many.md", rows)


def test_what_a_chart_has_no_room_for_is_said_on_it_and_below(folder: Path) -> None:
    many(folder)
    for name, words in (("days", "2 of 9 settings, of most days"), ("efficiency", "2 of 9 groups")):
        for more in ((), ("--footer",)):
            done = quick(folder, "chart", name, "many.md", "-o", "a.svg", *more)
            assert done.code == 0 and f"Not drawn: {words}" in done.err, done.text
            assert 'id="footer-0"' in (folder / "a.svg").read_text()


def test_the_footer_says_what_is_not_drawn_and_names_drawn_rows_alone(folder: Path) -> None:
    many(folder)
    from bench.reports.drawing import footer

    with in_memory() as warehouse:
        ingest_into(warehouse, [folder / "many.md"], folder)
        answer = answered(warehouse, "days", Query(all_rows=True))
    picture = PICTURES["days"](ShortNames(["many.md"]), answer)
    assert len(picture.rows) == 14 and len(answer.rows) == 18
    said = footer({"many.md": "0123456789abcdef"}, picture, len(answer.left_out), "1")
    assert said.startswith("Not drawn: 2 of 9 settings, of most days ('TP4, PP2', 'TP4, PP4').")
    assert "many.md:" in said and "(sha256 0123456789ab)" in said


def test_days_of_one_size_are_a_bar_a_configuration(folder: Path) -> None:
    rows = [
        f"2 | 1.3B | 16 | 1 | 1 | {mbs} | {64 * mbs} | | {mbs * (3 - mbs / 100):.3f} | |"
        for mbs in range(1, 14)
    ]
    table(folder / "one.md", rows)
    with in_memory() as warehouse:
        ingest_into(warehouse, [folder / "one.md"], folder)
        answer = answered(warehouse, "days", Query(all_rows=True))
    picture = PICTURES["days"](ShortNames(["one.md"]), answer)
    assert [row["mbs"] for row in picture.rows] == list(range(13, 2, -1))
    assert (
        picture.note
        == "Not drawn: 2 of 13 configurations, of most days ('MBS 2, GBS 128', 'MBS 1, GBS 64')."
    )
    figure = picture.draw("Days")
    assert figure.axes[0].get_xscale() == "linear" and len(figure.axes[0].patches) == 11


def drawn_from(folder: Path, name: str, report: str, query: Query, file: str) -> ChartDraft:
    with in_memory() as warehouse:
        ingest_into(warehouse, [folder / file], folder)
        return PICTURES[name](ShortNames([file]), answered(warehouse, report, query))


def test_many_dots_on_one_size_become_bars(folder: Path) -> None:
    row = "{n} | 1.3B | {dp} | 1 | 1 | {mbs} | 512 | | {time} | |"
    rows = [row.format(n=2, dp=16, mbs=mbs, time=20 - mbs) for mbs in range(1, 13)]
    table(folder / "a.md", [*rows, row.format(n=4, dp=32, mbs=1, time=9)])
    figure = drawn_from(folder, "pareto", "best", Query(all_rows=True), "a.md").draw("Days")
    assert len(figure.axes[0].patches) == 11
    table(folder / "b.md", [*rows[:3], row.format(n=4, dp=32, mbs=1, time=9)])
    figure = drawn_from(folder, "pareto", "best", Query(all_rows=True), "b.md").draw("Days")
    assert not figure.axes[0].patches


def test_each_effect_has_its_own_label_and_each_change_its_range(folder: Path) -> None:
    head = "# 7B on H100\n\n| Nodes | GPUs | Recompute | MBS | GBS | Seq len | Sec/it |\n"
    rows = [
        f"| {nodes} | {gpus} | {kind} | 1 | 64 | 2048 | {time / gpus} |"
        for nodes, gpus in (("1", 8), ("-", 16), ("-", 32))
        for kind, time in (("full", 100), ("selective", 90), ("none", 80 - gpus / 8))
    ]
    (folder / "a.md").write_text(f"{head}|--|--|--|--|--|--|--|\n" + "\n".join(rows) + "\n")
    picture = drawn_from(folder, "effects", "compare", Query(by="recompute"), "a.md")
    texts = [one for one in picture.draw("").findobj(Text) if "row-label" in (one.get_gid() or "")]
    named: dict[str, str] = {}
    for one in texts:
        number = re.sub(r"\D*(\d+).*", r"\1", one.get_gid() or "")
        named[number] = f"{named.get(number, '')} {one.get_text()}"
    assert len(set(named.values())) == len(picture.rows) == 6
    assert picture.message.startswith("7B on H100, GBS 64: recompute: full → ")
    assert picture.message.count("→") == len({(row["base"], row["level"]) for row in picture.rows})


def test_weak_scaling_is_labelled_by_its_batch_a_device(folder: Path) -> None:
    head = "| Nodes | GPUs | Model | TP | PP | DP | MBS | GBS | SL | Sec/it |"
    row = "| {} | {} | 7B | 1 | 1 | {} | 1 | {} | 2048 | {} |"
    rows = [row.format(n, 8 * n, 8 * n, batch * n, time)
            for batch, time in ((32, 4.0), (48, 5.9)) for n in (1, 2, 4)]  # fmt: skip
    (folder / "a.md").write_text("\n".join(["# A100 80GB", "", head, "|---" * 10 + "|", *rows, ""]))
    assert quick(folder, "chart", "efficiency", "a.md", "-o", "a.svg").code == 0
    drawn = (folder / "a.svg").read_text()
    assert "batch 4 per device" in drawn and "batch 6 per device" in drawn and "GBS" not in drawn


MESSAGES = {
    "pareto --model 1.3B data/tables/004_tr3m-1B3.md": "1.3B on V100-32GB",
    "efficiency data/tables/003_check_tcmalloc.md": "efficiency on 64 nodes",
    "effects --by LD_PRELOAD data/tables/003_check_tcmalloc.md": "1.30x to 1.77x the speed of none",
    "tflops data/tables/004_tr3m-1B3.md": "TFLOP/s at best",
    "mfu data/tables/004_tr3m-1B3.md": "35.6% MFU at best",
    "memory data/tables/004_tr3m-1B3.md": "GB at best",
    "steps data/logs": "s/it",
    "loss data/logs": "at iteration",
}


@pytest.mark.parametrize("args", MESSAGES)
def test_the_title_says_what_a_chart_shows(root: Path, folder: Path, args: str) -> None:
    words = [str(root / one) if one.startswith("data/") else one for one in shlex.split(args)]
    done = quick(folder, "chart", *words, "-o", "a.svg")
    assert done.code == 0, done.text
    written = re.findall("<!-- (.*?) -->", (folder / "a.svg").read_text(), re.DOTALL)
    assert any(MESSAGES[args] in " ".join(one.split()) for one in written), written


def test_one_size_is_ranked_by_bars_that_differ_in_name(data: Path) -> None:
    with in_memory() as warehouse:
        ingest_into(warehouse, [data / "tables" / "004_tr3m-1B3.md"], data)
        answer = answered(warehouse, "best", Query(all_rows=True))
        names = ShortNames(uri for (uri,) in warehouse.rows("SELECT uri FROM sources"))
    assert len({row["device_count"] for row in answer.rows}) == 1
    figure = PICTURES["pareto"](names, answer).draw("x")
    labels = [
        one.get_text()
        for one in figure.findobj(Text)
        if (one.get_gid() or "").startswith("row-label")
    ]
    assert len(labels) == len(set(labels)) == 11 and figure.axes[0].patches


def test_estimates_look_estimated() -> None:
    from bench.reports.chart import days_over_devices, days_to_train
    from bench.reports.charts.data import Bar, Point, Series

    bars = days_to_train([Bar("a", 1), Bar("b", 2, estimated=True)])
    assert [bool(one.get_hatch()) for one in bars.axes[0].patches] == [False, True]
    lines = days_over_devices([Series("a", (Point(1, 2), Point(2, 1, estimated=True)))])
    faces = [
        str(one.get_markerfacecolor()) for one in lines.axes[0].lines if one.get_marker() == "o"
    ]
    assert "white" in faces and len(faces) == 2


def test_models_of_one_size_each_are_bars_and_their_mfu_is_the_printed_one(folder: Path) -> None:
    """A table of rates and one of MFU of the same runs: none is drawn twice, no dots on one x."""
    head = "| Model | Network | GPU | GPUs | Tokens/s/GPU |\n|---|---|---|---|---|\n"
    shares = "| Model | GPU | GPUs | MFU |\n|---|---|---|---|\n"
    (folder / "two.md").write_text(
        f"# Throughput\n\n{head}"
        "| 7B | 800 Gbps | H100 80GB | 96 | 9600 |\n| 7B | 400 Gbps | A100 80GB | 128 | 4550 |\n"
        "| 13B | 800 Gbps | H100 80GB | 96 | 4850 |\n"
        f"\n## Utilization\n\n{shares}"
        "| 7B | H100 80GB | 96 | 46% |\n| 7B | A100 80GB | 128 | 68% |\n"
    )
    for name, values in (
        ("days", ("1.26 days", "1.99 days", "2.49 days")),
        ("mfu", ("68.0%", "46.0%")),
    ):
        assert quick(folder, "chart", name, "two.md", "-o", f"{name}.svg").code == 0
        text = (folder / f"{name}.svg").read_text("utf-8")
        labels = re.findall(r"<!-- (.*?) -->", text)
        assert [label for label in labels if label in values] == list(values)
        assert not any("Network" in label for label in labels), "it follows from the system"
    assert not any(label in ("61.2%", "40.8%") for label in labels), "computed of the same runs"
    other = head.replace("| Network", "").replace("|---|---|---|---|---|", "|---|---|---|---|")
    (folder / "other.md").write_text(f"# Mine\n\n{other}| 7B | H100 80GB | 64 | 9000 |\n")
    assert quick(folder, "chart", "mfu", "two.md", "other.md", "-o", "mfu.svg").code == 0
    assert "<!-- 38.2% -->" in (folder / "mfu.svg").read_text("utf-8"), "nobody printed its MFU"
