"""The way rows get in: whole files, one transaction, nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import duckdb

from .arrow import to_arrow
from .ledger import Known, read_ledger
from .migrate import now_utc
from .rows import Rows
from .spill import Spill
from .sql import sql_file
from .warehouse import Warehouse, transaction

RUN_STATS_VERSION = 2
# DuckDB takes what memory there is and is faster with less. Medians need room for every interval.
_MEMORY_MB, _ROOM_FOR, _BYTES_MORE = 256, 1_000_000, 200
_MANY = 100_000  # rows of a load that are worth a limit


@dataclass(frozen=True, slots=True)
class Load:
    """One file ready to be stored: its plan, and its tables unless its bytes are stored already."""

    plan: Known
    size: int
    tables: Spill | None

    @property
    def uri(self) -> str:
        return self.plan.uri


def store(warehouse: Warehouse, loads: Sequence[Load]) -> list[Load]:
    """Store whole files in one transaction; returns those whose plan no longer holds.

    The ledger is read again inside the transaction: what another process stored meanwhile is
    left out, so nothing is doubled. A returned load has to be planned and read again.
    Raises BenchError when the disk is full or the file damaged; then nothing is stored.
    """
    stale: list[Load] = []
    with transaction(warehouse):
        ledger = read_ledger(warehouse)
        for load in loads:
            plan = ledger.plan(load.uri, *load.plan.content)
            if plan is None:
                continue
            if not ledger.holds(plan.load_id):
                if load.tables is None or plan.source_id != load.plan.source_id:
                    stale.append(load)
                    continue
                with _bounded(warehouse, load.tables):
                    _insert_tables(warehouse.con, load.tables, plan.load_id)
            for noted in ledger.note(plan):
                _note_load(warehouse.con, noted, load.size)
    return stale


@contextmanager
def _bounded(warehouse: Warehouse, tables: Spill) -> Iterator[None]:
    """Little memory for a large load; a warehouse in memory needs what it needs."""
    if warehouse.path is None or tables.rows < _MANY:
        yield
        return
    more = max(0, tables.counts["iterations"] - _ROOM_FOR) * _BYTES_MORE // 1_000_000
    warehouse.con.execute(f"SET memory_limit = '{_MEMORY_MB + more}MB'")
    try:
        yield
    finally:
        warehouse.con.execute("RESET memory_limit")


def insert(con: duckdb.DuckDBPyConnection, rows: Rows, load_id: str) -> None:
    """Insert rows of one load into their raw tables, in bulk, and its run statistics."""
    tables = Spill()
    tables.add(to_arrow(rows))
    _insert_tables(con, tables, load_id)


def hide(
    warehouse: Warehouse, scope: str, identifiers: Iterable[str], *, hidden: bool = True
) -> None:
    """Hide (or show again) uris or runs, `scope` says which; nothing is deleted."""
    with transaction(warehouse):
        # Later than any other decision, whatever the clock says.
        [(last,)] = warehouse.rows("SELECT max(hidden_at) FROM raw.hidden")
        at = now_utc() if last is None else max(now_utc(), last + timedelta(microseconds=1))
        for identifier in identifiers:
            row = [scope, identifier, hidden, at]
            warehouse.con.execute("INSERT INTO raw.hidden VALUES (?, ?, ?, ?)", row)


def _note_load(con: duckdb.DuckDBPyConnection, load: Known, size: int) -> None:
    con.execute(
        "INSERT INTO raw.loads VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?)",
        [
            load.uri,
            load.generation,
            load.load_id,
            load.source_id,
            load.sha256,
            size,
            load.parser_version,
            now_utc(),
        ],
    )


def _insert_tables(con: duckdb.DuckDBPyConnection, tables: Spill, load_id: str) -> None:
    for name, table in tables.sources():
        con.register("incoming", table)
        try:
            query = f"INSERT INTO raw.{name} BY NAME SELECT ? AS load_id, * FROM incoming"
            con.execute(query, [load_id])
        finally:
            con.unregister("incoming")
    if tables.holds("iterations"):
        parameters = {"load_id": load_id, "rule_version": RUN_STATS_VERSION}
        con.execute(sql_file("run_stats"), parameters)
