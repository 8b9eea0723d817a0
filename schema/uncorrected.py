"""A warehouse as its sources alone have it: without annotations by people."""

from __future__ import annotations

from pathlib import Path

import duckdb

from .annotations import rank_annotations, store_annotations
from .connect import attach, confine, explain
from .opening import in_memory, open_read
from .sql import tables
from .warehouse import Warehouse

# Facts of sources and of files next to logs are kept, but not a record's annotations by people.
_KEPT = {
    "told": "false",
    "facts": "how <> 'user' AND coalesce(source_kind, 'bundle') = 'bundle'",
}  # fmt: skip
_OPEN_AGAIN = """UPDATE raw.findings SET closed = ''
    WHERE starts_with(closed, 'known exception: ')
        OR starts_with(closed, 'accepted correction: ')"""


def without_annotations(path: Path, lock_timeout: float) -> Warehouse:
    """A copy in memory of the warehouse at `path`, without facts.toml, `--set`, patterns of paths
    and what records carry of them; findings that they close are open.

    Raises as `open_read`.
    """
    open_read(path, lock_timeout).close()  # recognised, and of this version
    warehouse = in_memory()
    con = warehouse.con
    try:
        try:
            attach(con, path, "other", read_only=True)
        except duckdb.Error as error:
            raise explain(error, path) from error
        confine(con)
        warehouse.confined = True
        for table in tables():
            where = _KEPT.get(table, "true")
            con.execute(f"INSERT INTO raw.{table} BY NAME FROM other.raw.{table} WHERE {where}")
        con.execute("DETACH other")
        con.execute(_OPEN_AGAIN)
        store_annotations(warehouse, rank_annotations(warehouse, ()))
    except BaseException:
        warehouse.close()
        raise
    return warehouse
