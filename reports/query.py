"""One SQL query of a user over the public tables."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import duckdb

from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse

Listing = tuple[list[str], list[tuple[Any, ...]]]


def query(warehouse: Warehouse, text: str) -> Listing:
    """Columns and rows of one query; it can reach neither files nor the network nor settings."""
    warehouse.seal()
    try:
        count = len(warehouse.con.extract_statements(text))
        if count != 1:
            raise BenchError(
                "bench sql takes one query",
                why=f"there are {count}" if count else "there is none",
                hint="bench sql 'SELECT uri, count(*) FROM runs GROUP BY ALL'",
            )
        return _interruptible(warehouse, text)
    except duckdb.Error as error:
        names = ", ".join(name for (name,) in warehouse.rows(_TABLES))
        raise BenchError(
            "the query failed", why=str(error).strip(), hint=f"tables: {names}"
        ) from error


def _interruptible(warehouse: Warehouse, text: str) -> Listing:
    # DuckDB does not look for Ctrl-C while it works: so it works in a thread, and this one waits.
    with ThreadPoolExecutor(1) as worker:
        asked = worker.submit(warehouse.table, text)
        try:
            return asked.result()
        except KeyboardInterrupt:
            warehouse.con.interrupt()
            raise


_TABLES = """SELECT view_name FROM duckdb_views()
             WHERE database_name = 'wh' AND schema_name = 'main' AND NOT internal
             ORDER BY view_name"""
