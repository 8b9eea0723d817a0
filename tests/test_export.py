"""An export that fails leaves the connection free and no half file."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.reports import export
from bench.schema.opening import open_read


def test_a_full_disk_leaves_the_connection_free(swept: Path) -> None:
    with open_read(swept / "bench.duckdb") as warehouse:
        with pytest.raises(OSError, match="No space left") as told:
            export._write_parquet(warehouse, "FROM range(1_000_000)", Path("/dev/full"))
        assert told.tb and warehouse.rows("SELECT 1") == [(1,)]  # while the error is on its way


def test_a_failed_export_leaves_no_part(
    swept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sources.parquet").mkdir()  # a folder stands in the way of the file
    with open_read(swept / "bench.duckdb") as warehouse, pytest.raises(IsADirectoryError):
        export.export(warehouse, tmp_path, "parquet")
    assert [one.name for one in tmp_path.iterdir()] == ["sources.parquet"]
