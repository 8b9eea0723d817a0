"""Two tables that an empty column parts lend each other no settings."""

from pathlib import Path

from tests.documents import check, read

TABLE = """\
# Training sweep

| batch size | tokens/sec | MFU | {between} | sequence length | tokens/sec | MFU |
|---|---|---|---|---|---|---|
| 4 | 31,016 | 21.38% | {cell} | 32 | 31,454 | 21.58% |
| 8 | 40,697 | 28.05% | | | | |
"""


def test_each_side_is_runs_of_its_own(tmp_path: Path) -> None:
    runs, _ = read(TABLE.format(between="", cell=""), tmp_path)
    first, second, length = sorted(runs, key=lambda run: run["gbs"] or 99)
    check(first, line=5, gbs=4, seq_len=None, tokens_per_s=31016.0)
    check(second, line=6, gbs=8, seq_len=None, tokens_per_s=40697.0)
    check(length, line=5, gbs=None, seq_len=32, tokens_per_s=31454.0)


def test_a_column_with_a_heading_or_a_cell_parts_nothing(tmp_path: Path) -> None:
    for between, cell in (("Note", ""), ("", "warm")):
        runs, _ = read(TABLE.format(between=between, cell=cell), tmp_path)
        assert [run["line"] for run in runs] == [5, 6]
