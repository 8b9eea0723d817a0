"""The warehouse file: made, recognised, brought up to date, sealed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from bench.ingest.files.pipeline import ingest
from bench.schema import arrow, migrate, sql
from bench.schema.errors import BenchError, Incompatible
from bench.schema.opening import in_memory, open_read, open_write
from bench.schema.reference import public_columns
from bench.schema.sql import digest, sql_files
from bench.schema.warehouse import Warehouse
from tests.making import everything, folder

NAMES = {
    "sources", "loads", "tables", "cells", "facts", "runs", "topology", "env_flags", "iterations",
    "timers", "memory", "events", "evaluations", "measurements", "statements", "findings",
    "run_stats",
}  # fmt: skip
# What DuckLake lacks, so that the same DDL runs on both.
LACKING = r"""\b(PRIMARY|UNIQUE|FOREIGN|REFERENCES|CHECK|SEQUENCE|INDEX|ENUM|GENERATED
|RETURNING|COLLATE|CREATE\ TYPE|ON\ CONFLICT|OR\ REPLACE\ INTO|UNION\(|BIT)\b"""
OTHER_PYTHON = os.environ.get("BENCH_OTHER_PYTHON", "")


def test_tables_are_applied_in_order_and_recorded(db: Path) -> None:
    with open_write(db) as warehouse:
        applied = warehouse.rows("SELECT number, name, sha256 FROM raw.applied ORDER BY number")
    files = [(int(name[:3]), name, digest(text)) for name, text in sql_files("tables")]
    assert applied[1:] == files
    assert [number for number, _, _ in files] == list(range(1, len(files) + 1))
    assert [number for number, _, _ in applied[:1]] == [migrate.VIEWS]


def test_every_table_of_the_design_is_a_public_name() -> None:
    with in_memory() as warehouse:
        assert public_columns(warehouse).keys() >= NAMES


def test_the_ddl_uses_nothing_that_ducklake_lacks() -> None:
    for folder_name in ("tables", "views", "metrics", "formulas"):
        for name, text in sql_files(folder_name):
            code = re.sub(r"--[^\n]*", "", text)
            assert not re.search(LACKING, code, re.X | re.I), name


def test_a_better_comment_changes_no_table() -> None:
    assert digest("CREATE TABLE a (\n  b INT -- c\n);") == digest("CREATE TABLE a ( b INT -- d\n);")


def test_a_plain_duckdb_reads_every_view_under_any_name(tmp_path: Path, db: Path) -> None:
    ingest([folder(tmp_path / "logs")], db)
    with open_read(db) as warehouse:
        views = public_columns(warehouse)
    attached = duckdb.connect()
    attached.execute(f"ATTACH '{db}' AS elsewhere (READ_ONLY)")
    # Of few rows: to think about how to join them takes far longer than to join them.
    attached.execute("PRAGMA disable_optimizer")
    for view in views:
        rows = attached.execute(f"SELECT * FROM elsewhere.{view}").fetchall()
        assert rows or view not in ("runs", "configurations", "metric_step_time")
    attached.close()
    # Names that are found from outside are found inside: the view that reads most others, for all.
    with duckdb.connect(str(db), read_only=True) as plain:
        assert plain.execute("DESCRIBE results").fetchall()


def change(db: Path, *statements: str) -> None:
    con = duckdb.connect(str(db))
    for statement in statements:
        con.execute(statement)
    con.close()


@pytest.mark.parametrize("opening", [open_read, open_write])
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO raw.applied VALUES (999, '999_future', 'x', now()::TIMESTAMP)",
        "UPDATE raw.applied SET sha256 = 'x' WHERE number = 2",
    ],
)
def test_a_newer_warehouse_is_refused(db: Path, opening: type, statement: str) -> None:
    open_write(db).close()
    change(db, statement)
    with pytest.raises(Incompatible, match="another version of bench") as error:
        opening(db)
    assert error.value.exit_code == 4


@pytest.mark.parametrize("opening", [open_read, open_write])
@pytest.mark.parametrize(
    "statement", ["CREATE TABLE t (i INT)", "CREATE VIEW v AS SELECT 1", "CREATE SCHEMA s"]
)
def test_a_foreign_file_is_refused_and_left_alone(db: Path, opening: type, statement: str) -> None:
    change(db, statement)
    before = db.read_bytes()
    with pytest.raises(Incompatible, match="no warehouse of bench"):
        opening(db)
    assert db.read_bytes() == before


@pytest.mark.parametrize("opening", [open_read, open_write])
@pytest.mark.parametrize("content", [b"", b"hi", b"not a database" * 1000, bytes(20_000)])
def test_what_is_no_duckdb_file_is_refused_and_left_alone(
    db: Path, opening: type, content: bytes
) -> None:
    db.write_bytes(content)
    with pytest.raises(Incompatible):
        opening(db)
    assert db.read_bytes() == content


@pytest.mark.parametrize("opening", [open_read, open_write])
@pytest.mark.parametrize("part", [0.001, 0.1, 0.5, 0.9])
def test_a_file_cut_short_is_refused_in_words(
    tmp_path: Path, db: Path, opening: type, part: float
) -> None:
    ingest([folder(tmp_path / "logs")], db)
    content = db.read_bytes()
    db.write_bytes(content[: int(len(content) * part)])
    try:
        with opening(db) as warehouse:
            found = warehouse.rows("SELECT count(*), sum(step_time_s) FROM iterations")
    except BenchError as error:
        assert part < 1 and error.why
    else:  # what was cut off was free space
        assert found == [(15, pytest.approx(1.515))]


def test_a_folder_or_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="is a folder"):
        open_read(tmp_path)
    with pytest.raises(BenchError, match="no warehouse at"):
        open_read(tmp_path / "no.duckdb")
    with pytest.raises(BenchError, match="folder does not exist"):
        open_write(tmp_path / "no" / "no.duckdb")


@pytest.mark.parametrize("opening", [open_read, open_write])
def test_views_are_rebuilt_when_their_text_changed(tmp_path: Path, db: Path, opening: type) -> None:
    ingest([folder(tmp_path / "logs")], db)
    before = everything(db)
    change(
        db,
        "CREATE OR REPLACE VIEW runs AS SELECT 1 AS old",
        "CREATE VIEW gone AS SELECT 1",
        "CREATE VIEW of_the_user AS SELECT 1",
        "UPDATE raw.applied SET sha256 = 'old', name = name || ',VIEW gone' WHERE number = 0",
    )
    opening(db).close()
    with open_read(db) as warehouse:
        names = public_columns(warehouse).keys()
    assert "gone" not in names
    assert "of_the_user" in names
    change(db, "DROP VIEW of_the_user")
    assert everything(db) == before


def test_a_clock_that_went_back_rebuilds_views_once(db: Path) -> None:
    open_write(db).close()
    change(db, "UPDATE raw.applied SET sha256 = 'old', applied_at = '2999-01-01' WHERE number = 0")
    open_read(db).close()
    before = db.stat().st_mtime_ns
    open_read(db).close()
    assert db.stat().st_mtime_ns == before


def test_a_name_with_quotes_and_blanks(tmp_path: Path) -> None:
    path = tmp_path / 'it\'s a "warehouse" ü.duckdb'
    open_write(path).close()
    open_read(path).close()


READ_EVERYTHING = """
import sys, duckdb
con = duckdb.connect(sys.argv[1])
con.execute("CREATE TABLE raw.probe_" + sys.argv[2] + " (i INT)")
con.execute("DROP TABLE raw.probe_" + sys.argv[2])
views = con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
for (view,) in views:
    con.execute("FROM " + view).fetchall()
con.close()
print(duckdb.__version__.split(".")[0], len(views))
"""


@pytest.mark.skipif(
    not OTHER_PYTHON, reason="NOT TESTED: BENCH_OTHER_PYTHON names no Python with the other DuckDB"
)
def test_both_lines_of_duckdb_read_and_write_the_file(tmp_path: Path, db: Path) -> None:
    ingest([folder(tmp_path / "logs")], db)
    before = everything(db)
    lines = set()
    for number, python in enumerate((OTHER_PYTHON, sys.executable, OTHER_PYTHON)):
        command = [python, "-c", READ_EVERYTHING, str(db), str(number)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        lines.add(done.stdout.split()[0])
    assert lines == {"1", "2"}, "BENCH_OTHER_PYTHON has the same line of DuckDB"
    assert everything(db) == before


def test_the_storage_version_is_that_of_duckdb_15(db: Path) -> None:
    with open_write(db) as warehouse:
        query = "SELECT tags['storage_version'] FROM duckdb_databases() WHERE database_name = 'wh'"
        [(version,)] = warehouse.rows(query)
    assert version.startswith("v1.5")


def test_a_long_list_of_ids(tmp_path: Path, db: Path) -> None:
    ingest([folder(tmp_path / "logs")], db)
    ids = [f"{number:012x}" for number in range(20_000)]
    marks = ", ".join("?" * len(ids))
    with open_read(db) as warehouse:
        query = f"SELECT count(*) FROM configurations WHERE run_id NOT IN ({marks})"
        assert warehouse.rows(query, ids) == [(5,)]
        query = "SELECT count(*) FROM configurations WHERE NOT list_contains(?, run_id)"
        assert warehouse.rows(query, [ids]) == [(5,)]


SECRETS = {
    "HF_TOKEN": "hf_" + "Q7r" * 11,
    "WANDB_API_KEY": "0123456789abcdef" * 2 + "deadbeef",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY",
    "DB_PASSWORD": "correct-horse-battery",
}


def test_secrets_of_a_log_are_nowhere_in_the_file(tmp_path: Path, data: Path, db: Path) -> None:
    text = (data / "logs" / "fugaku_dp2.log").read_text()
    block = "".join(f"  {name.lower()} .......... {value}\n" for name, value in SECRETS.items())
    lines = text.splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if "reset_iteration" in line)
    plain = "".join(f"export {name}={value}\n" for name, value in SECRETS.items())
    failed = f"RuntimeError: HF_TOKEN={SECRETS['HF_TOKEN']} is not valid\n"
    (tmp_path / "run.log").write_text(plain + "".join([*lines[:at], block, *lines[at:], failed]))
    assert ingest([tmp_path / "run.log"], db).new == 1
    content = db.read_bytes()
    stored = repr(everything(db)) + repr(raw(db))
    for value in SECRETS.values():
        assert value.encode() not in content
        assert value not in stored


def raw(db: Path) -> list[object]:
    with open_read(db) as warehouse:
        return [rows_of(warehouse, name) for name in tables_of(warehouse)]


def tables_of(warehouse: Warehouse) -> list[str]:
    query = "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'raw'"
    return [name for (name,) in warehouse.rows(query)]


def rows_of(warehouse: Warehouse, table: str) -> list[tuple[object, ...]]:
    return warehouse.rows(f"SELECT * FROM raw.{table}")


def test_a_changed_view_is_rebuilt_without_a_number_to_raise(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_write(db).close()
    metric = "CREATE OR REPLACE VIEW metric_trial AS SELECT run_id, 1.0 AS value FROM runs;"
    views = (*migrate._views(), metric)
    monkeypatch.setattr(migrate, "_views", lambda: views)
    migrate.views_digest.cache_clear()
    try:
        with open_read(db) as warehouse:
            assert warehouse.rows("FROM metric_trial") == []
    finally:
        monkeypatch.undo()
        migrate.views_digest.cache_clear()
    with open_read(db) as warehouse:
        found = warehouse.rows("SELECT 1 FROM duckdb_views() WHERE view_name = 'metric_trial'")
        assert found == [], "what is gone is dropped"


@pytest.mark.parametrize(
    ("revision", "kept"),
    [
        ("999000000 0123456789abcdef", True),
        ("1000 0123456789abcdef", False),
        ("14 cbc9db8dfaa088fd", False),
        ("0 0", False),
    ],
)
def test_an_older_program_leaves_newer_views_be(db: Path, revision: str, kept: bool) -> None:
    open_write(db).close()
    change(
        db,
        "CREATE VIEW of_the_future AS SELECT 1 AS n",
        f"""UPDATE raw.applied SET sha256 = '{revision}', name = name || ',VIEW of_the_future'
            WHERE number = {migrate.VIEWS}""",
    )
    with open_write(db) as warehouse:
        names = {name for (name,) in warehouse.rows("SELECT view_name FROM duckdb_views()")}
    assert ("of_the_future" in names) is kept


def test_the_columns_are_those_of_the_tables() -> None:
    """What is read in the SQL files is what DuckDB makes of them, in order."""
    query = """SELECT table_name,
                   list((column_name, data_type, NOT is_nullable) ORDER BY column_index)
               FROM duckdb_columns() WHERE schema_name = 'raw' AND table_name <> 'applied'
               GROUP BY table_name"""
    with in_memory() as warehouse:
        made = {str(table): columns for table, columns in warehouse.rows(query)}
    read = {
        table: [(column.name, column.type, column.required) for column in columns.values()]
        for table, columns in sql.tables().items()
    }
    assert read == made


def test_columns_of_arrow_are_of_the_types_of_the_tables() -> None:
    with in_memory() as warehouse:
        for name, shape in arrow.shapes().items():
            warehouse.con.register("given", shape.schema.empty_table())
            query = """SELECT column_name, column_type FROM (DESCRIBE {})
                       WHERE column_name <> 'load_id' ORDER BY column_name"""
            given = warehouse.rows(query.format("given"))
            assert given == warehouse.rows(query.format(f"raw.{name}"))
