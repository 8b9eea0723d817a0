"""Pages in one file: nothing is asked of anybody, tables sort, charts are drawings."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

from bench.notebook.frame import Frame
from bench.site.single import of_markdown
from tests.program import quick


def written(swept: Path, folder: Path, line: str) -> str:
    file = folder / "page.html"
    done = quick(swept, *line.split(), "-o", str(file))
    assert done.code in (0, 1) and file.is_file(), done.text
    return file.read_text("utf-8")


def body(page: str) -> str:
    return page[page.index("<main") : page.index("</main>")]


@pytest.mark.parametrize(
    "line",
    [
        "report --model 1.3B",
        "best --model 1.3B",
        "days --model 1.3B",
        "audit data/tables/004_tr3m-1B3.md",
    ],
)
def test_a_page_holds_its_style_and_script_and_names_them_alone(
    swept: Path, tmp_path: Path, root: Path, line: str
) -> None:
    page = written(swept, tmp_path, line.replace("data/", f"{root}/data/"))
    for tag, kind in (("style", "style-src"), ("script", "script-src")):
        [inside] = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.S)
        digest = b64encode(sha256(inside.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in unescape(page), "else a browser leaves it out"
    assert not re.search(r"<(link|img|iframe)|(src|style|onclick)=", body(page))
    assert 'class="grid"' in body(page) and "<h1" in body(page) and "@media print" in page


@pytest.mark.parametrize("line", ["report --model 1.3B", "best --model 1.3B", "days --model 1.3B"])
def test_its_charts_are_drawings_with_their_numbers_as_a_table(
    swept: Path, tmp_path: Path, line: str
) -> None:
    shown = body(written(swept, tmp_path, line))
    marks = re.findall(r'<a class="mark[^>]*>', shown)
    assert marks and not any("href" in mark for mark in marks), "no page stands beside it"
    assert shown.count("<figure") == shown.count("As a table")
    assert re.search(r"<h1[^>]*>[^<]*1\.3B", shown), "whoever gets it by mail sees of what it is"


def test_an_effect_is_drawn(swept: Path, tmp_path: Path) -> None:
    shown = body(written(swept, tmp_path, "compare --by recompute --where size='1.3B'"))
    assert '<figure class="chart" id="effects">' in shown and "1.36x" in shown


def test_two_runs_that_are_named_are_a_change_of_no_setting(swept: Path, tmp_path: Path) -> None:
    shown = body(written(swept, tmp_path, "compare 004:22 004:44"))
    assert ">004:22 → 004:44</text>" in shown and "<h1>Comparison of runs</h1>" in shown


def test_numbers_of_a_report_sort_as_numbers() -> None:
    page = of_markdown(
        "# T\n\n## A b\n\n| x | y |\n|---|--:|\n| a | *1,024.5* |\n| b | ~2e3 |\n| c | none |\n"
    )
    assert '<td class="number" data-value="1024.5"><em>1,024.5</em></td>' in page
    assert 'data-value="2000.0"' in page and '<td class="number">none</td>' in page
    assert '<h2 id="a-b-3">' in page and "<title>T</title>" in page


def test_text_of_a_report_is_text() -> None:
    page = of_markdown(
        "# <script>x</script>\n\n| a |\n|---|\n| <img src=x onerror=y> [l](javascript:x) |\n"
    )
    assert "<script>x" not in page and "<img" not in page and 'href="javascript' not in page


def test_a_notebook_shows_frames_as_pages_show_tables() -> None:
    frame = Frame(
        {"name": ["<b>", None], "tp": [4, None], "at": [pd.Timestamp("2026-01-02"), pd.NaT]}
    )
    shown = frame[frame["name"].isna() | True].sort_values("name")._repr_html_()
    assert 'class="grid"' in shown and "&lt;b&gt;" in shown and "<b>" not in shown
    assert 'data-value="4.0"' in shown and "nan" not in shown.lower() and "NaT" not in shown
    assert "2 rows × 3 columns" in shown


def test_a_long_frame_says_how_much_it_has() -> None:
    shown = Frame({"n": range(500)})._repr_html_()
    assert "the first 60 of 500 rows" in shown and shown.count("<tr>") == 61
