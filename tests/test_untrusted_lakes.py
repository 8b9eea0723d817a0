"""A lake whose catalog somebody else made: no file of ours is read, written or removed for it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from bench.schema.errors import BenchError, Incompatible
from bench.schema.lake_files import is_marked, require_tables
from bench.schema.location import place_of
from bench.schema.opening import open_read
from tests.sharing import made

THESIS = "thesis.odt"
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r"
TRIGGER = "CREATE TRIGGER g AFTER INSERT ON plain FOR EACH STATEMENT INSERT INTO others SELECT 1"
_FILE = """INSERT INTO ducklake_data_file (data_file_id, table_id, begin_snapshot, path,
    path_is_relative, file_format, record_count, file_size_bytes)
    SELECT 9999, table_id, 0, {}, 'parquet', 1, 9 FROM ducklake_table WHERE table_name = 'loads'"""
_VIEW = """INSERT INTO ducklake_view (view_id, begin_snapshot, end_snapshot, schema_id, view_name,
    dialect, sql, column_aliases) SELECT 99, 0, {}, schema_id, 'loads', 'duckdb',
    'FROM read_text(''x'')', '' FROM ducklake_schema WHERE lower(schema_name) = 'raw'"""
REFUSED = {
    "a file elsewhere": _FILE.format("'/etc/passwd', 0"),
    "a file above": _FILE.format("'../../x.parquet', 1"),
    "a table elsewhere": _FILE.format("'x.parquet', 1") + ";"
    "UPDATE ducklake_table SET path = '/home/', path_is_relative = 0 WHERE table_name = 'loads'",
    "a view without end": "ALTER TABLE ducklake_snapshot RENAME TO others;"
    f"CREATE VIEW ducklake_snapshot (snapshot_id) AS {ENDLESS}",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON ducklake_snapshot BEGIN SELECT 1; END",
    "a macro": "INSERT INTO ducklake_macro (schema_id, macro_id, macro_name, begin_snapshot)"
    " VALUES (0, 1, 'snapshots', 0)",
    "a value that is computed": "UPDATE ducklake_column SET default_value_type = 'expression',"
    " default_value = 'list_sum(range(1000000000000))' WHERE column_name = 'to_byte'",
    "an order without end": "INSERT INTO ducklake_sort_expression (sort_id, table_id,"
    " sort_key_index, expression, dialect) SELECT 9, table_id, 0, 'list_sum(range(1000000000000))',"
    " 'duckdb' FROM ducklake_table WHERE table_name = 'loads'",
    "a view of the lake": _VIEW.format("NULL"),
    "a view that ends with a snapshot to come": _VIEW.format("9999"),
    "a view in a schema of our name": "UPDATE ducklake_schema SET schema_name = 'RAW' WHERE"
    " schema_name = 'raw';" + _VIEW.format("NULL"),
    "a file elsewhere of a schema of our name": "UPDATE ducklake_schema SET schema_name = 'Raw'"
    " WHERE schema_name = 'raw';" + _FILE.format("'/etc/passwd', 0"),
    "a file elsewhere, not said where": _FILE.format("'/etc/passwd', NULL"),
    "an empty table elsewhere": "UPDATE ducklake_table SET path = '/home/', path_is_relative = 0"
    " WHERE table_name = 'loads'",
    "a file with another server": _FILE.format("'x.parquet?s3_endpoint=127.0.0.1:9', 1"),
    "another server of S3": "UPDATE ducklake_metadata SET value = 's3://b/?s3_endpoint=h:9&x='"
    " WHERE key = 'data_path'",
    "a server as a bucket": "UPDATE ducklake_metadata SET value = 's3://127.0.0.1:9#/'"
    " WHERE key = 'data_path'",
    "a statement as a name": "INSERT INTO ducklake_inlined_data_tables SELECT table_id,"
    " 'ducklake_schema; COPY (SELECT 1) TO ''x.csv''; FROM ducklake_schema', 1"
    " FROM ducklake_table WHERE table_name = 'loads'",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    made("sqlite", folder)
    return folder


@pytest.fixture
def lake(whole: Path, tmp_path: Path) -> Path:
    """The file of a catalog, beside a file that is not of the lake."""
    shutil.copytree(whole, tmp_path / "lake")
    with sqlite3.connect(tmp_path / "lake/lake.sqlite") as con:
        rows = f"{tmp_path}/lake/lake.sqlite.files/"
        con.execute("UPDATE ducklake_metadata SET value = ? WHERE key = 'data_path'", [rows])
    (tmp_path / THESIS).write_text("years of work\n")
    os.utime(tmp_path / THESIS, (0, 0))
    return tmp_path / "lake/lake.sqlite"


def test_a_lake_of_others_names_its_own_files(lake: Path) -> None:
    whole = lake.read_bytes()
    for what, text in REFUSED.items():
        lake.write_bytes(whole)
        with sqlite3.connect(lake) as con:
            con.executescript(text)
        for asked in (place_of(Path(f"ducklake:sqlite:{lake}")).latest,
                      lambda: open_read(Path(f"ducklake:sqlite:{lake}"))):  # fmt: skip
            with pytest.raises(BenchError, match=r"is not one of|is not a plain S3 bucket"):
                asked()
                pytest.fail(what)


@pytest.mark.parametrize("named", ["{}/thesis.odt", "../../thesis.odt", "{}/ducklake-a-b.parquet"])
def test_a_lake_removes_no_file_that_it_has_not_made(
    lake: Path, tmp_path: Path, named: str
) -> None:
    (tmp_path / "ducklake-a-b.parquet").touch()
    with sqlite3.connect(lake) as con:
        con.execute(
            "INSERT INTO ducklake_files_scheduled_for_deletion VALUES (9999, ?, ?, '2020-01-01')",
            [named.format(tmp_path), "{" not in named],
        )
    for age in (timedelta(days=1), timedelta()):
        with pytest.raises(BenchError, match="none of it"):
            place_of(Path(f"ducklake:sqlite:{lake}")).collect(age)
    assert (tmp_path / THESIS).exists() and (tmp_path / "ducklake-a-b.parquet").exists()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t (a INT, b INT GENERATED ALWAYS AS (a) STORED)",
        "CREATE TABLE t (a INT, b INT AS (hex(zeroblob(1000000000))))",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE t (a INT); CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END",
    ],
)
def test_a_catalog_in_sqlite_has_plain_tables(statement: str) -> None:
    with closing(sqlite3.connect(":memory:")) as con:
        con.execute("CREATE TABLE plain (a INT PRIMARY KEY)")
        require_tables(lambda query: con.execute(query).fetchall(), "sqlite")
        con.executescript(statement)
        with pytest.raises(Incompatible, match="not one of DuckLake"):
            require_tables(lambda query: con.execute(query).fetchall(), "sqlite")


@pytest.mark.parametrize("statement", ["CREATE VIEW v AS SELECT 1", TRIGGER])
def test_a_catalog_in_duckdb_has_plain_tables(tmp_path: Path, statement: str) -> None:
    if statement == TRIGGER and duckdb.__version__ < "2":
        pytest.skip("DuckDB 1.5 has no triggers")
    version = "v2.0.0" if statement == TRIGGER else "v1.5.0"
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{tmp_path / 'lake'}' AS wh (STORAGE_VERSION '{version}')")
        con.execute("CREATE TABLE wh.plain (a INT); CREATE TABLE wh.others (a INT)")
        require_tables(lambda query: con.execute(query).fetchall(), "duckdb")
        con.execute(f"USE wh; {statement}")
        with pytest.raises(Incompatible, match="not one of DuckLake"):
            require_tables(lambda query: con.execute(query).fetchall(), "duckdb")


def test_a_catalog_in_duckdb_does_not_answer_for_itself(tmp_path: Path) -> None:
    """Its macros would stand for the functions that list them."""
    lake = made("duckdb", tmp_path)
    listed = {"functions": "function_name", "views": "view_name", "tables": "table_name"}
    with duckdb.connect(str(tmp_path / "lake.ducklake")) as con:
        for what, name in listed.items():
            con.execute(
                f"CREATE MACRO duckdb_{what}() AS TABLE SELECT '' AS database_name, true AS"
                f" internal, '' AS {name}, '' AS sql WHERE false"
            )
        con.execute("ALTER TABLE ducklake_snapshot RENAME TO others")
        con.execute("CREATE VIEW ducklake_snapshot AS SELECT error('it runs') AS snapshot_id")
    with pytest.raises(Incompatible, match="not one of DuckLake"):
        place_of(lake).latest()


def test_files_of_another_lake_are_no_orphans(lake: Path, tmp_path: Path) -> None:
    other = tmp_path / "other/ducklake-0a-0b.parquet"
    other.parent.mkdir()
    other.touch()
    os.utime(other, (0, 0))
    with sqlite3.connect(lake) as con:
        con.execute("UPDATE ducklake_metadata SET value = ? WHERE key = 'data_path'",
                    [f"{other.parent}/"])  # fmt: skip
    told: list[str] = []
    place = place_of(Path(f"ducklake:sqlite:{lake}"))
    assert place.collect(timedelta(days=1), told.append) == 0
    assert other.exists()
    assert len(told) == 1 and f"write 'sqlite:{lake}' into {other.parent}/.bench-lake" in told[0]
    (other.parent / ".bench-lake").write_text(f"sqlite:{lake}\n")
    assert place.collect(timedelta(days=1), told.append) == 1
    assert not other.exists() and len(told) == 1


def test_orphans_are_removed_and_files_of_others_stay(lake: Path) -> None:
    rows = Path(f"{lake}.files")
    orphan, mine = rows / "ducklake-0a-0b.parquet", rows / "mine.parquet"
    rows.mkdir(exist_ok=True)
    for file in (orphan, mine):
        file.touch()
        os.utime(file, (0, 0))
    told: list[str] = []
    place = place_of(Path(f"ducklake:sqlite:{lake}"))
    assert place.collect(timedelta(days=1), told.append) == 1
    assert mine.exists() and not orphan.exists()
    assert [text.rpartition(": ")[2] for text in told] == ["1"]


def test_whose_the_rows_of_a_folder_are(tmp_path: Path) -> None:
    rows, catalogs = tmp_path / "rows", tmp_path / "catalogs"
    for folder in (rows, catalogs):
        folder.mkdir()
    assert is_marked(str(catalogs / "x.files"), catalogs, "x")
    assert not is_marked(str(rows), catalogs, "x")
    (rows / ".bench-lake").write_text("x\n")
    assert is_marked(str(rows), catalogs, "x") and not is_marked(str(rows), catalogs, "y")


def test_the_lock_of_a_catalog_is_a_file(lake: Path, tmp_path: Path) -> None:
    lock = Path(f"{lake}.lock")
    lock.unlink()
    lock.symlink_to(tmp_path / "new")
    with pytest.raises(BenchError, match="cannot open"):
        place_of(Path(f"ducklake:sqlite:{lake}")).latest()
    assert not (tmp_path / "new").exists()
