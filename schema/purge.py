"""Permanent deletion of the rows of sources, which every other command avoids."""

from __future__ import annotations

from collections.abc import Sequence

from .sql import tables
from .warehouse import Warehouse, transaction

# Loads shown only at these uris, and the parts of logs that belong only to them.
_GONE = """CREATE TEMP TABLE gone_loads AS
    SELECT DISTINCT load_id FROM raw.loads WHERE list_contains(?::VARCHAR[], uri)
    EXCEPT SELECT load_id FROM raw.loads WHERE NOT list_contains(?::VARCHAR[], uri)"""
_PARTS = """CREATE TEMP TABLE gone_rows AS
    SELECT load_id FROM gone_loads UNION
    SELECT part_id FROM raw.parts WHERE chain_id NOT IN
        (SELECT chain_id FROM raw.parts WHERE load_id NOT IN (FROM gone_loads))"""
_SOURCES = """CREATE TEMP TABLE gone_sources AS
    SELECT source_id FROM raw.sources WHERE load_id IN (FROM gone_loads) EXCEPT
    SELECT source_id FROM raw.sources WHERE load_id NOT IN (FROM gone_loads)"""
_RUNS = """CREATE TEMP TABLE gone_runs AS
    SELECT run_id FROM raw.runs WHERE load_id IN (FROM gone_rows) EXCEPT
    SELECT run_id FROM raw.runs WHERE load_id NOT IN (FROM gone_rows)"""


def purge(warehouse: Warehouse, uris: Sequence[str]) -> int:
    """Delete every row from sources, of all their versions; returns the number.

    Rows that other uris show too are kept. The bytes stay in free blocks of the file until it is
    compacted.
    """
    con, deleted = warehouse.con, 0
    listed = list(uris)
    with transaction(warehouse, whole=True):
        con.execute(_GONE, [listed, listed])
        for query in (_PARTS, _SOURCES, _RUNS):
            con.execute(query)
        for table, columns in tables().items():
            conditions = []
            if "uri" in columns:
                conditions.append("list_contains($uris, uri)")
            elif "load_id" in columns:
                conditions.append("load_id IN (FROM gone_rows)")
            if "source_id" in columns and "load_id" not in columns:
                conditions.append("source_id IN (FROM gone_sources)")
            if "run_id" in columns and "load_id" not in columns:
                conditions.append("run_id IN (FROM gone_runs)")
            if table == "hidden":
                conditions.append("(scope = 'uri' AND list_contains($uris, id))")
                conditions.append("(scope = 'run' AND id IN (FROM gone_runs))")
            if conditions:
                where = " OR ".join(conditions)
                given = {"uris": listed} if "$uris" in where else {}
                [(rows,)] = con.execute(f"DELETE FROM raw.{table} WHERE {where}", given).fetchall()
                deleted += rows
        for table in ("gone_loads", "gone_rows", "gone_sources", "gone_runs"):
            con.execute(f"DROP TABLE {table}")
    return deleted
