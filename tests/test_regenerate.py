"""Published tables come back from their typed values."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.pages import split, tables
from tests.program import quick


def recognised(data: Path) -> list[tuple[str, int, list[str]]]:
    """Every benchmark table of data/tables by file and number: the lines between its rules."""
    golden = json.loads((data / "golden/golden.json").read_text())
    found = []
    for document in golden["documents"]:
        file = next((data / "tables").glob(f"{document['file'][:3]}*.md"))
        lines = file.read_text("utf-8").splitlines()
        numbers = sorted(table["header_line"] for table in document["tables"])
        for number, header in enumerate(numbers, 1):
            end = header
            while end < len(lines) and lines[end].lstrip().startswith("|"):
                end += 1
            found.append((file.name, number, lines[header - 1 : end]))
    return found


def test_every_table_comes_back_from_its_typed_values(swept: Path, data: Path) -> None:
    all_tables = recognised(data)
    assert len(all_tables) == 40
    for name, number, lines in all_tables:
        done = quick(swept, "report", "--table", f"{name}:{number}")
        assert (done.code, done.err) == (0, ""), done.text
        made = [split(line) for line in done.out.splitlines()]
        wanted = [split(line) for line in lines]
        wanted = [row for row in wanted if any(row)] if len(made) < len(wanted) else wanted
        width = len(made[0])
        assert len(made) == len(wanted), (name, number)
        for place, (row, original) in enumerate(zip(made, wanted, strict=True)):
            if place == 1:
                assert all(re.fullmatch(r":?-+:?", cell) for cell in row)
            else:
                assert row == original + [""] * (width - len(original)), (name, number, place)


def test_a_table_by_path_and_by_name(swept: Path, folder: Path, data: Path) -> None:
    file = data / "tables/001_1.3b_benchmarking.md"
    by_path = quick(folder, "report", "--table", f"{file}:2")
    assert by_path.code == 0, by_path.text
    assert by_path == quick(swept, "report", "--table", "001:2")
    assert by_path == quick(swept, "report", "--table", "data/tables/001_1.3b_benchmarking.md:2")
    whole = quick(swept, "report", "--table", "001").out
    assert whole.count("\n| ---") == 3 and by_path.out in whole
    assert len(tables(whole)) == 3
