"""What bench wrote below a folder is no source of it: its runs would count twice."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench.vocabulary.own_pages import HTML
from tests.program import quick, selected

NAME = "004_tr3m-1B3.md"


@pytest.fixture
def stored(folder: Path, data: Path) -> Path:
    shutil.copy(data / "tables" / NAME, folder)
    assert quick(folder, "ingest", NAME).code == 0
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ("best", "-o", "best.md"),
        ("days", "-o", "days.html"),
        ("runs", "-o", "runs.markdown", "--format", "md"),
        ("report", "--model", "1.3B", "-o", "page.html"),
        ("report", "--model", "1.3B", "-o", "out"),
        ("site", "-o", "public"),
    ],
)
def test_a_file_of_bench_is_no_source(stored: Path, command: tuple[str, ...]) -> None:
    before = {path.name for path in stored.rglob("*")}
    assert quick(stored, *command).code == 0
    assert {path.name for path in stored.rglob("*")} > before
    assert quick(stored, "ingest", ".").code == 0
    assert selected(stored, "SELECT uri FROM sources") == [{"uri": NAME}]


@pytest.mark.parametrize("command", [("best", "--all"), ("days",), ("runs",)])
def test_nor_is_what_it_printed(stored: Path, command: tuple[str, ...]) -> None:
    listed = quick(stored, *command, "--format", "md").out
    assert NAME[:3] in listed and "|" in listed
    (stored / "notes.md").write_text(f"# Training\n\n{listed}")
    assert quick(stored, "ingest", ".").code == 0
    assert selected(stored, "SELECT DISTINCT uri FROM runs") == [{"uri": NAME}]


def test_a_table_of_others_that_names_lines_of_logs_is_read(folder: Path) -> None:
    (folder / "notes.md").write_text(
        "# Training\n\n| Model | tokens/s/GPU | Source |\n| --- | --- | --- |\n"
        "| 7B | 4100 | logs/a.log:12 |\n| 13B | 2100 | logs/b.log:17 |\n"
    )
    assert quick(folder, "ingest", ".").code == 0
    assert len(selected(folder, "SELECT * FROM runs")) == 2


def test_the_templates_bear_the_mark(root: Path) -> None:
    for name in ("single", "page"):
        assert HTML in (root / "site" / "templates" / f"{name}.html.j2").read_text("utf-8")
