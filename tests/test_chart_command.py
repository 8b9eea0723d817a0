"""`bench chart`: each chart by name, the shape of a slide, and where its numbers come from."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.decide.drawing import NAMES
from bench.reports.chart import Bar, paired_effects
from bench.reports.charts.style import Sheet, on_sheet
from tests.deciding import table
from tests.program import quick, told

TCMALLOC = "003_check_tcmalloc.md"


@pytest.mark.parametrize("name", NAMES)
def test_every_chart_is_a_slide_with_a_footer(data: Path, folder: Path, name: str) -> None:
    by = ["--by", "LD_PRELOAD"] if name == "effects" else []
    asked = ["chart", name, str(data / "tables" / TCMALLOC), *by, "--size", "16:9", "--footer"]
    assert quick(folder, *asked, "-o", "a.svg").code == 0
    assert quick(folder, *asked, "-o", "b.svg").code == 0
    text = (folder / "a.svg").read_text()
    assert text == (folder / "b.svg").read_text(), "the same bytes"
    assert 'id="footer-0"' in text and 'id="title-0"' in text
    box = ElementTree.fromstring(text).attrib["viewBox"].split()
    assert float(box[2]) / float(box[3]) == pytest.approx(16 / 9, rel=1e-3)
    assert quick(folder, *asked, "-o", "a.png").code == 0
    width, height = struct.unpack(">II", (folder / "a.png").read_bytes()[16:24])
    assert (width, height) == (1600, 900)


def test_without_a_name_of_a_file_it_is_the_chart_s(data: Path, folder: Path) -> None:
    done = quick(folder, "chart", "pareto", str(data / "tables" / TCMALLOC))
    assert done.code == 0 and done.out == "" and "wrote pareto.svg" in done.err
    assert (folder / "pareto.svg").exists()


def test_what_cannot_be_drawn_is_told(data: Path, folder: Path) -> None:
    named = str(data / "tables" / TCMALLOC)
    told(quick(folder, "chart", "pie", named), 2, "no chart 'pie'", "effects, efficiency")
    told(quick(folder, "chart", "days", named, "--size", "9"), 2, "no size", "--size 16:9")
    told(quick(folder, "chart", "days", named, "-o", "a.pdf"), 2, "a.pdf", ".svg, .png")
    table(folder / "a.md", ["2 | 1.3B | 16 | 1 | 1 | 1 | 512 | 20GB | 10.0 | | "])
    told(quick(folder, "chart", "efficiency", "a.md"), 2, "nothing to draw")


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
