"""A warehouse of a million runs and 10^8 steps, made by SQL from one of 100,000 rows and a log.

Each load is copied under names of its own; what copies measured differs a little, for else they
would count as copies of one measurement. Nine tenths of the runs are rows of tables, a tenth are
logs of STEPS steps. `size.py` makes it for 1,000,000 rows; 2 GB, some minutes, 12 GB of memory.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import making

from bench.ingest.files.pipeline import ingest
from bench.schema.opening import open_write
from bench.schema.stored_views import rebuild
from bench.schema.warehouse import Warehouse

STEPS = 1000  # of a log
AT_ONCE = 10_000  # logs copied by one statement: 10^7 steps
ROWS = 100_000  # of the warehouse that is multiplied
IDS = ("load_id", "run_id", "table_id", "source_id", "sha256", "part_id", "chain_id", "audit_id")
VALUES = ("value", "low", "high")


def multiply(kept: Path, folder: Path, rows: int) -> None:
    """Fill `folder` with a warehouse of `rows` runs, made from the one of ROWS in `kept`."""
    folder.mkdir(parents=True)
    for name in ("bench.duckdb", "sweep-000.md", "new.md", "new.log"):
        shutil.copyfile(kept / name, folder / name)
    log = folder / "seed.log"
    log.write_text(making.log(STEPS))
    ingest([log], folder / "bench.duckdb")
    logs = rows // 10
    with open_write(folder / "bench.duckdb") as warehouse:
        warehouse.con.execute("SET preserve_insertion_order = false")
        for table, renamed, measured in _tables(warehouse):
            _copy(warehouse, table, measured, "uri <> 'seed.log'", 1, (rows - logs) // ROWS)
            for first in range(1, logs, AT_ONCE):
                last = min(first + AT_ONCE, logs)
                _copy(warehouse, table, renamed, "uri = 'seed.log'", first, last)
    with open_write(folder / "bench.duckdb") as warehouse:
        rebuild(warehouse)


def _tables(warehouse: Warehouse) -> Iterator[tuple[str, str, str]]:
    """The tables with rows of loads, the ledger last: columns of a copy, and of one whose values
    differ."""
    rows = warehouse.rows("""SELECT table_name, list(column_name) FROM duckdb_columns()
        WHERE database_name = 'wh' AND schema_name = 'raw' GROUP BY table_name
        HAVING list_contains(list(column_name), 'load_id')
        ORDER BY table_name = 'loads', table_name""")
    for table, columns in rows:
        names = [f"{name} || '-' || i AS {name}" for name in IDS if name in columns]
        names += ["'more/' || i || '/' || uri AS uri"] if "uri" in columns else []
        values = VALUES if table == "measurements" else ()
        other = [f"{name} * (1 + i * 1e-4) AS {name}" for name in values]
        yield table, ", ".join(names), ", ".join([*names, *other])


def _copy(
    warehouse: Warehouse, table: str, columns: str, which: str, first: int, last: int
) -> None:
    """Copies `first` to `last` - 1 of the rows of the loads that were read in."""
    warehouse.con.execute(
        f"""INSERT INTO raw.{table} SELECT t.* REPLACE ({columns})
            FROM range({first}, {last}) AS copies (i), (
                FROM raw.{table} SEMI JOIN (
                    SELECT load_id FROM raw.loads WHERE {which} AND NOT starts_with(uri, 'more/')
                ) USING (load_id)) t"""
    )
