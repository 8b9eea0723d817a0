"""Remarks behind the last cell of a row, and cells that are too many."""

from pathlib import Path

import pytest

from tests.documents import runs
from tests.program import quick

HEAD = "# Training a 7B model\n\n| GPUs | Tokens/s | Memory |\n|--|--|--|\n"


@pytest.mark.parametrize(
    ("row", "errors"),
    [
        ("| 8 | 20000 | 12 GB | needs another host |", 0),
        ("| 8 | 20000 | 12 GB | 14 GB |", 1),
        ("| 8 | 20000 | 12 GB | OOM at 16k |", 1),  # may be the memory of a row that was shifted
        ("| 8 | fast | 12 GB | needs another host |", 1),
        ("| 8 | ~~20000~~ | 12 GB |", 0),
    ],
)
def test_an_error_is_told_where_cells_may_be_shifted(row: str, errors: int, tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text(f"{HEAD}{row}\n| 16 | 39000 | 12 GB |\n")
    found = quick(tmp_path, "audit", "x.md", "--fail-on", "never").text
    assert found.count("| error") == errors, found


def test_a_row_with_a_remark_behind_it_is_read() -> None:
    first, second = runs(
        f"{HEAD}| 8 | 20000 | 12 GB | needs another host |\n| 16 | 39000 | 9 GB |\n"
    )
    assert (first["tokens_per_s"], first["memory"]) == (20000, 12)
    assert (second["tokens_per_s"], second["memory"]) == (39000, 9)
