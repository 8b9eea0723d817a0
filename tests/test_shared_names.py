"""Names of shared warehouses: no password in them, relative to the folder that names them, and what
to do where nothing is there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.schema.errors import BenchError
from bench.schema.location import is_there, located
from tests.program import quick
from tests.sharing import at


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at(tmp_path / "here", monkeypatch)


@pytest.mark.parametrize("name", [
    "ducklake:postgres:dbname=b password=quietly", "ducklake:postgres:postgresql://me:quietly@h/b",
    "ducklake:postgresql:dbname=b password = quietly", "postgres:dbname=b sslpassword=quietly",
    "postgres://me:quietly@host/b", "ducklake:postgres:dbname='postgres://me:quietly@host/b'",
])  # fmt: skip
def test_no_password_is_taken_or_repeated(name: str, folder: Path) -> None:
    (folder / "bench.toml").write_text(f'db = "{name}"\n')
    for words in (["runs", "--db", name], ["db", "info"], ["db", "init"], ["db", "copy", name]):
        done = quick(folder, *words)
        assert done.code == 2 and "quietly" not in done.text and "a password" in done.err


def test_no_catalog_keeps_a_password_of_its_rows(folder: Path) -> None:
    where = ("db", "init", "--db", "ducklake:b.ducklake", "--data", "s3://me:quietly@bucket/rows")
    done = quick(folder, *where)
    assert done.code == 2 and "quietly" not in done.text and "a password" in done.err
    assert not list(folder.glob("b.ducklake*"))


def test_names_of_places_are_seen_from_the_folder_that_names_them(tmp_path: Path) -> None:
    named = ("folder:a", "ducklake:sqlite:a", "ducklake:a", "a")
    where = f"{tmp_path}/a"
    assert [str(located(name, tmp_path)) for name in named] == [
        f"folder:{where}", f"ducklake:sqlite:{where}", f"ducklake:{where}", where,
    ]  # fmt: skip
    served = "ducklake:postgres:dbname=a host=h"
    assert str(located(served, tmp_path)) == served
    with pytest.raises(BenchError, match="names no database"):
        located("ducklake:postgres:a", tmp_path)
    assert not is_there(Path(f"folder:{where}"))


def test_what_is_not_there_is_said_with_what_to_do(folder: Path) -> None:
    nowhere = f"folder:{folder}/nowhere"
    for words in (["report"], ["ingest", "."], ["db", "snapshots"], ["db", "gc"]):
        done = quick(folder, *words, "--db", nowhere)
        assert done.code == 2 and f"bench db init --db '{nowhere}'" in done.err, done.text


def test_a_catalog_without_the_extra_is_said_with_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)  # as where it is not installed
    for words in (["runs"], ["db", "init", "--data", "rows"], ["ingest", "."]):
        done = quick(folder, *words, "--db", "ducklake:postgres:dbname=b host=127.0.0.1 port=1")
        assert done.code == 2 and "pip install 'bench-warehouse[lake]'" in done.err, done.text
