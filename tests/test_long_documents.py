"""Documents longer than any that people write are read as far as such are, and it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.ingest.documents import csv_files, markdown, sections
from bench.ingest.documents.document import read_document
from bench.ingest.documents.tables import read_markdown
from tests.program import quick

TABLE = "| Model | TP | DP | TFLOPs |\n|--|--|--|--|\n" + "| 7B | 4 | 1 | 100 |\n" * 5 + "\n"


def test_what_follows_many_lines_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "MOST_BLOCKS", 20)
    rows, coverage = read_markdown("# T\n\n" + "a\n" * 18 + "\n" + TABLE + TABLE, "s")
    assert coverage.tables == 1 and len(rows.by_table["runs"]) == 5
    [warning] = rows.by_table["warnings"]
    assert (warning["code"], warning["line"]) == ("long_document", 30)
    rows, _ = read_markdown("# T\n\n" + "a\n" * 17 + "\n" + TABLE + TABLE, "s")
    assert len(rows.by_table["runs"]) == 10 and "warnings" not in rows.by_table


def test_all_tables_together_have_so_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "MOST_ROWS", 32)
    document = read_document("# T\n\n" + TABLE * 3 + TABLE[: TABLE.index("|\n", 60) + 2] + "\n")
    assert [found.number for found in document.tables] == [1, 2, None, None]
    assert [(kind, line) for kind, _, line in document.warnings] == [("endless_table", 19)]


def test_a_table_that_fits_is_read_after_one_that_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "MOST_ROWS", 45)
    large = TABLE.rstrip() + "\n" + "| 7B | 4 | 1 | 100 |\n" * 7 + "\n"
    document = read_document("# T\n\n" + TABLE * 2 + large + TABLE * 2)
    assert [found.number for found in document.tables] == [1, 2, None, 3, None]
    assert document.warnings == [
        (
            "endless_table",
            "a table of 12 rows is not read, nor are later benchmark tables that do not fit: a file"
            " may have 50,000 table rows in all, and each table counts 10 more",
            19,
        )
    ]


@pytest.mark.parametrize("name", ["x.md", "x.csv"])
def test_a_file_of_one_table_that_is_too_long_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(sections, "MOST_ROWS", 12)
    monkeypatch.setattr(csv_files, "MOST_ROWS", 3)
    table = TABLE if name == "x.md" else "Model,TP,DP,TFLOPs\n" + "7B,4,1,100\n" * 5
    (folder / name).write_text(table)
    done = quick(folder, "ingest", name)
    assert f"warning: {name}:1: a table of 5 rows is not read" in done.err and done.code == 0
    assert "no log or benchmark table" not in done.err
