"""Every view answers on a warehouse of many rows, in a process that can be ended from outside."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest
from bench.schema.opening import open_read, open_write
from bench.schema.reference import public_columns

COPIES = 60
LIMIT_S = 300  # of all views together: each is read in some seconds on a busy machine
IDS = ("load_id", "run_id", "table_id", "source_id", "uri", "sha256", "part_id", "chain_id")
# DuckDB holds on to what it reads for as long as it hangs: no interrupt reaches it.
CHILD = """
import sys
from pathlib import Path
from bench.schema.opening import open_read
with open_read(Path(sys.argv[1])) as warehouse:
    for view in sys.argv[2:]:
        print(view, flush=True)
        cursor = warehouse.con.execute(f"FROM {view}")
        while cursor.fetchmany(100_000):
            pass
"""


def multiplied(db: Path) -> int:
    """As many copies of each load of a warehouse, under names of their own; rows of facts then."""
    with open_write(db) as warehouse:
        tables = warehouse.rows(
            "SELECT table_name FROM duckdb_tables()"
            " WHERE database_name = 'wh' AND schema_name = 'raw'"
        )
        for (table,) in tables:
            names = [name for name, *_ in warehouse.rows(f"DESCRIBE raw.{table}")]
            ids = [name for name in IDS if name in names]
            if table == "applied" or not ids:
                continue
            other = ", ".join(f"{name} || '-' || i AS {name}" for name in ids)
            warehouse.con.execute(
                f"INSERT INTO raw.{table} SELECT t.* REPLACE ({other}) FROM raw.{table} t,"
                f" range({COPIES}) AS copies (i)"
            )
        [(rows,)] = warehouse.rows("SELECT count(*) FROM raw.facts")
    return int(rows)


@pytest.mark.slow
def test_no_view_hangs(data: Path, db: Path) -> None:
    ingest([data], db)
    assert multiplied(db) > 120_000
    with open_read(db) as warehouse:
        views = sorted(public_columns(warehouse))
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", CHILD, str(db), *views],
            capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as hung:
        pytest.fail(f"hangs: {(hung.stdout or b'').decode().split()[-1:]}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == views
