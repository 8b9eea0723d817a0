"""A sealed warehouse reaches no files, no network and no settings, on either line of DuckDB."""

from pathlib import Path

import duckdb
import pytest

from bench.schema.errors import BenchError
from bench.schema.opening import open_read, open_write
from bench.schema.stored_views import store_views
from tests.program import quick

REFUSED = [
    "COPY (SELECT 1) TO '{out}'",
    "COPY runs TO '{out}' (FORMAT parquet)",
    "COPY runs FROM '/etc/passwd'",
    "EXPORT DATABASE '{out}'",
    "IMPORT DATABASE '{out}'",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM read_json('/etc/passwd')",
    "SELECT * FROM read_parquet('/etc/passwd')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM 'https://example.com/x.csv'",
    "SELECT getenv('HOME')",
    "SELECT * FROM query",  # a Python variable
    "SELECT * FROM duckdb_secrets()",
    "ATTACH '{out}'",
    "ATTACH ':memory:' AS other",
    "DETACH wh",
    "USE memory",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{out}'",
    "UPDATE EXTENSIONS",
    "SET threads = 1",
    "SET enable_external_access = true",
    "SET temp_directory = '{out}'",
    "SET GLOBAL lock_configuration = false",
    "RESET ALL",
    "PRAGMA threads = 1",
    "PRAGMA profiling_output = '{out}'",
    "CALL enable_logging(storage = 'file', storage_path = '{out}')",
    "CREATE PERSISTENT SECRET s (TYPE http)",
    "COPY FROM DATABASE wh TO memory",
    "CHECKPOINT",
    "BEGIN",
    "DELETE FROM raw.runs",
    "INSERT INTO raw.loads SELECT * FROM raw.loads",
    "UPDATE raw.loads SET generation = 2",
    "CREATE TABLE more (i INT)",
    "DROP VIEW runs",
    "SELECT 1; COPY (SELECT 1) TO '{out}'",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{out}'",
]


@pytest.fixture(scope="module")
def sealed_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sealed") / "bench.duckdb"
    open_write(path).close()
    return path


@pytest.mark.parametrize("statement", REFUSED)
def test_a_sealed_warehouse_only_reads(tmp_path: Path, sealed_file: Path, statement: str) -> None:
    out = tmp_path / "out"
    with open_read(sealed_file) as warehouse:
        warehouse.seal()
        with pytest.raises((duckdb.Error, BenchError)):
            warehouse.rows(statement.replace("{out}", str(out)))
        assert warehouse.rows("SELECT count(*) FROM runs") == [(0,)], "it still reads"
    assert not out.exists()


VIEWS = [
    "SELECT content AS line FROM read_text('{secret}')",
    "SELECT line FROM read_csv('{secret}', header = false, columns = {line: 'VARCHAR'})",
    "SELECT file AS line FROM glob('{secret}')",
]


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_of_a_stranger_reads_no_other_file(tmp_path: Path, view: str) -> None:
    """A warehouse has views, and whoever made the file chose what they read."""
    secret, path = tmp_path / "secret.txt", tmp_path / "bench.duckdb"
    secret.write_text("TOKEN-OF-THE-JOB\n")
    with open_write(path, confined=False) as warehouse:
        text = view.replace("{secret}", str(secret))
        warehouse.con.execute(f"CREATE OR REPLACE VIEW warnings AS {text}")
    with open_read(path) as warehouse, pytest.raises((duckdb.Error, BenchError), match="disabled"):
        warehouse.rows("SELECT * FROM warnings")
    for line in (["report"], ["runs"], ["export", "-o", "out"], ["doctor"]):
        done = quick(tmp_path, *line)
        assert "TOKEN-OF" not in done.text
        assert not [f for f in tmp_path.glob("out/*") if b"TOKEN-OF" in f.read_bytes()]


@pytest.mark.parametrize("view", VIEWS)
def test_no_view_of_a_stranger_is_stored_with_another_file(tmp_path: Path, view: str) -> None:
    secret, path = tmp_path / "secret.txt", tmp_path / "bench.duckdb"
    secret.write_text("TOKEN-OF-THE-JOB\n")
    with open_write(path, confined=False) as warehouse:
        text = view.replace("{secret}", str(secret))
        warehouse.con.execute(f"CREATE OR REPLACE VIEW regimes AS {text}")
    (tmp_path / "new.md").write_text("| GPUs | TP | Sec/it |\n|--|--|--|\n| 8 | 8 | 10.0 |\n")
    with open_write(path) as warehouse, pytest.raises((duckdb.Error, BenchError), match="disabled"):
        store_views(warehouse)
    done = quick(tmp_path, "ingest", "new.md")
    assert "TOKEN-OF" not in done.text and b"TOKEN-OF" not in path.read_bytes()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT size_label(1.3) FROM range(2)",
        "FROM configurations",
        "DESCRIBE runs",
        "SUMMARIZE runs",
        "SHOW TABLES",
        "EXPLAIN SELECT 1",
        "WITH a AS (SELECT 1) FROM a",
        "PIVOT (SELECT 'a' AS k, 1 AS v) ON k USING sum(v)",
    ],
)
def test_a_sealed_warehouse_reads(sealed_file: Path, query: str) -> None:
    with open_read(sealed_file) as warehouse:
        warehouse.seal()
        columns, _ = warehouse.table(query)
        assert columns
