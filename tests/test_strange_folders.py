"""A folder that somebody else made: its links choose no file that we write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.project.settings import find_db
from bench.schema.connect import connect_file, disconnect
from bench.schema.errors import BenchError
from bench.schema.warehouse import open_read, open_write

TEXT = "export PATH=$HOME/bin:$PATH\n"


@pytest.fixture
def cloned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that was made by others, beside a file that is not theirs."""
    monkeypatch.delenv("BENCH_DB", raising=False)
    (tmp_path / "profile").write_text(TEXT)
    (tmp_path / "work/.git").mkdir(parents=True)
    return tmp_path / "work"


@pytest.mark.parametrize("end", [".wal", ".wal.checkpoint", ".wal.recovery"])
@pytest.mark.parametrize("target", ["profile", "missing"])
def test_nothing_is_written_through_a_link_for_a_log_of_writes(
    cloned: Path, end: str, target: str
) -> None:
    db = cloned / "bench.duckdb"
    Path(f"{db}{end}").symlink_to(cloned.parent / target)
    for _ in range(2):  # of a file that is new, and of one that is there
        with pytest.raises(BenchError, match="is a link"):
            open_write(db)
    with pytest.raises(BenchError, match="is a link"):
        open_read(db)
    assert (cloned.parent / "profile").read_text() == TEXT
    assert not (cloned.parent / "missing").exists()


def test_a_warehouse_is_a_file(cloned: Path) -> None:
    os.mkfifo(cloned / "pipe.duckdb")
    for db in (cloned / "pipe.duckdb", Path("/dev/zero")):
        with pytest.raises(BenchError, match="not a regular file"):
            open_read(db)
    (cloned / "link.duckdb").symlink_to(cloned.parent / "missing")
    with pytest.raises(BenchError, match="not there"):
        connect_file(cloned / "link.duckdb", read_only=False)
    # One of a user's own that leads to a warehouse is followed, where they name it.
    open_write(cloned.parent / "own.duckdb").close()
    (cloned / "own.duckdb").symlink_to(cloned.parent / "own.duckdb")
    disconnect(connect_file(cloned / "own.duckdb", read_only=True))


OUTSIDE = ("../x.duckdb", "/x.duckdb", "away/x.duckdb", "folder:../x", "ducklake:../x.ducklake",
           "ducklake:sqlite:/x", ".git/x.duckdb", "~/x.duckdb")  # fmt: skip


@pytest.mark.parametrize("named", OUTSIDE)
def test_bench_toml_names_a_warehouse_within_the_repository(
    cloned: Path, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cloned / "away").symlink_to(cloned.parent)
    (cloned / "bench.toml").write_text(f'db = "{named}"\n')
    with pytest.raises(BenchError, match="is outside work"):
        find_db(None, cloned)
    assert find_db(Path("../x.duckdb"), cloned) == cloned / "../x.duckdb"
    monkeypatch.setenv("BENCH_DB", named)
    assert find_db(None, cloned)


def test_bench_toml_sends_no_password_to_a_server(cloned: Path) -> None:
    (cloned / "bench.toml").write_text('db = "ducklake:postgres:dbname=x host=example.com"\n')
    with pytest.raises(BenchError, match="names a server"):
        find_db(None, cloned)


def test_the_usual_name_is_no_link_that_leads_away(cloned: Path) -> None:
    (cloned / "bench.duckdb").symlink_to(cloned.parent / "profile")
    with pytest.raises(BenchError, match="is outside work"):
        find_db(None, cloned)
