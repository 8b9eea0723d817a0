"""The template database that is kept between processes: what is copied from it is what is made."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from bench.schema.connect import connect_memory
from bench.schema.migrate import bring_up_to_date
from bench.schema.opening import in_memory, open_write
from bench.schema.warehouse import Rows, Warehouse
from tests.sharing import furnished

# Views by their columns: DuckDB prints the columns of EXCLUDE in another order each time.
CATALOGUE = (
    "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns()",
    "SELECT table_name, constraint_text FROM duckdb_constraints()",
    "SELECT function_name, parameters FROM duckdb_functions()",
    "SELECT view_name, schema_name FROM duckdb_views()",
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where templates are kept, for this test alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "bench"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same with the template in it that other tests have made."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(furnished(tmp_path / "cache")))
    return tmp_path / "cache" / "bench"


def catalogue(warehouse: Warehouse) -> list[Rows]:
    found = [
        warehouse.rows(f"{query} WHERE database_name = 'wh' ORDER BY ALL") for query in CATALOGUE
    ]
    return [*found, warehouse.rows("SELECT number, name, sha256 FROM raw.applied ORDER BY number")]


def test_a_copy_is_what_is_made(kept: Path, tmp_path: Path) -> None:
    con = connect_memory()
    bring_up_to_date(con)
    with Warehouse(con, None) as made, in_memory() as first, in_memory() as again:
        expected = catalogue(made)
        assert all(expected)
        assert catalogue(first) == catalogue(again) == expected
        assert again.rows("SELECT count(*) FROM runs") == [(0,)]
    with open_write(tmp_path / "a.duckdb") as file:
        assert catalogue(file) == expected
        attached = file.rows("SELECT database_name FROM duckdb_databases() WHERE NOT internal")
        assert sorted(attached) == [("memory",), ("wh",)]


def test_it_is_made_once_and_tells_the_time_of_each_copy(cache: Path) -> None:
    in_memory().close()
    [template] = cache.iterdir()
    before = template.stat()
    with in_memory() as warehouse:
        [(applied,)] = warehouse.rows("SELECT epoch(min(applied_at)) FROM raw.applied")
    assert abs(applied - time.time()) < 60
    assert [path.stat() for path in cache.iterdir()] == [before]


def test_a_damaged_template_is_made_anew(kept: Path) -> None:
    [template] = kept.iterdir()
    content = template.read_bytes()
    whole = len(content)
    for damage in (b"", b"no database", content[: whole // 2]):
        template.unlink()  # a link to the one of other tests
        template.write_bytes(damage)
        with in_memory() as warehouse:
            assert warehouse.rows("SELECT count(*) FROM runs") == [(0,)]
        in_memory().close()
        [template] = kept.iterdir()
        assert template.stat().st_size == whole


def test_a_template_that_others_may_have_written_is_made_anew(kept: Path) -> None:
    [template] = kept.iterdir()
    content = template.read_bytes()
    template.unlink()  # a link to the one of other tests
    template.write_bytes(content)
    template.chmod(0o666)
    in_memory().close()
    [made] = kept.iterdir()
    assert made.stat().st_mode & 0o777 == 0o600


def test_nothing_hangs_on_a_folder_that_cannot_be_written(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nothing")
    with in_memory() as warehouse:
        assert warehouse.rows("SELECT count(*) FROM runs") == [(0,)]
    assert not cache.exists()


def test_templates_of_other_versions_go_in_time(cache: Path) -> None:
    cache.mkdir(parents=True)
    for name, days in (("template-old.duckdb", 40), ("template-recent.duckdb", 1), ("other", 40)):
        path = cache / name
        path.write_text("")
        at = time.time() - days * 86400
        os.utime(path, (at, at))
    in_memory().close()
    names = {path.name for path in cache.iterdir()}
    assert {"template-recent.duckdb", "other"} < names and "template-old.duckdb" not in names
