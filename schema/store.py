"""The way rows get in: whole files, one transaction, nothing twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType

import duckdb
import numpy as np
import pyarrow as pa

from .arrow import joined, to_arrow
from .errors import BenchError
from .incremental import Part, store_part
from .ledger import Known, Stamp, read_ledger
from .migrate import now_utc
from .rows import Rows
from .spill import Spill
from .sql import sql_file
from .warehouse import Warehouse, transaction

RUN_STATS_VERSION = 3
_MEMORY_MB = 288  # DuckDB takes what memory there is, and is as fast with less
_LONG = 1_100_000  # steps of a run whose values are not all held for its medians
_AS_WRITTEN = "common_subplan,build_side_probe_side"
_MANY = 100_000  # rows of a batch that are worth a limit
Stamps = Mapping[str, tuple[str, Stamp]]
_NONE: Stamps = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Load:
    """One file ready to be stored: its plan, and its tables unless its bytes are stored already.

    Of a log that may grow `part` has the rows that stay, and `tables` those that may change.
    """

    plan: Known
    tables: Spill | None
    part: Part | None = None

    @property
    def uri(self) -> str:
        return self.plan.uri


@dataclass(frozen=True, slots=True)
class _Held:
    """Rows on their way in, the id that they take, and the load that shows them."""

    tables: Spill
    rows_id: str
    load_id: str


def store(warehouse: Warehouse, loads: Sequence[Load], stamps: Stamps = _NONE) -> set[str]:
    """Store whole files in one transaction; returns the uris of those whose plan no longer holds.

    The ledger is read again inside the transaction: what another process stored meanwhile is
    left out, so nothing is doubled. The others have to be planned and read again. `stamps` is what
    the file system said of files, by uri with the SHA-256 of what was then read.
    Raises BenchError when the disk is full or the file damaged; then nothing is stored.
    """
    try:
        return _store(warehouse, loads, stamps, bounded=True)
    except BenchError as error:
        if not isinstance(error.__cause__, duckdb.OutOfMemoryException):
            raise
    # Some statistics need more than the limit: once more with what memory there is.
    for name in ("memory_limit", "threads", "disabled_optimizers", "preserve_insertion_order"):
        warehouse.con.execute(f"RESET {name}")
    return _store(warehouse, loads, stamps, bounded=False)


def _store(
    warehouse: Warehouse, loads: Sequence[Load], stamps: Stamps, *, bounded: bool
) -> set[str]:
    overtaken: set[str] = set()
    new: list[_Held] = []
    noted: list[Known] = []
    with transaction(warehouse):
        ledger = read_ledger(warehouse)  # as it is now that nobody else can write
        for load in loads:
            plan = ledger.plan(load.uri, *load.plan.content, load.plan.size)
            if plan is None:  # another process was faster with the same bytes
                continue
            is_new = not ledger.holds(plan.load_id)
            if plan != load.plan or (is_new and load.tables is None):
                overtaken.add(load.uri)
                continue
            if is_new and load.tables is not None:
                new.append(_Held(load.tables, plan.load_id, plan.load_id))
                if load.part:
                    part_id = store_part(warehouse, ledger, plan, load.part)
                    new.append(_Held(load.part.rows, part_id, plan.load_id))
            noted += ledger.note(plan)
        _note_loads(warehouse.con, noted)
        if bounded:
            _bound(warehouse, [held.tables for held in new])
        _insert_tables(warehouse.con, new)
        _note_stamps(warehouse.con, {u: seen for u, seen in stamps.items() if u not in overtaken})
    return overtaken


def _bound(warehouse: Warehouse, tables: Sequence[Spill]) -> None:
    """Little memory until the file is closed, which puts its last rows in order with what it may.

    A warehouse in memory needs what it needs.
    """
    if warehouse.path is None or sum(each.rows for each in tables) < _MANY:
        return
    warehouse.changed = True
    warehouse.con.execute(f"SET memory_limit = '{_MEMORY_MB}MB'")


@contextmanager
def _setting(con: duckdb.DuckDBPyConnection, name: str, value: str) -> Iterator[None]:
    """A setting for the time being."""
    con.execute(f"SET {name} = '{value}'")
    try:
        yield
    finally:
        with suppress(duckdb.TransactionException):  # after a failure: `store` does it
            con.execute(f"RESET {name}")


def _note_stamps(con: duckdb.DuckDBPyConnection, stamps: Stamps) -> None:
    """What the file system said of files that had settled: others may hide a later write."""
    rows = [(uri, sha256, *stamp) for uri, (sha256, stamp) in stamps.items() if stamp.settled]
    if rows:
        names = ("uri", "sha256", *Stamp._fields)
        columns = map(list, zip(*rows, strict=True))
        _insert(con, "stamps", pa.table(dict(zip(names, columns, strict=True))), "*", [])


def insert(con: duckdb.DuckDBPyConnection, rows: Rows, load_id: str) -> None:
    """Insert rows of one load into their raw tables, in bulk, and its run statistics."""
    tables = Spill()
    tables.add(to_arrow(rows))
    _insert_tables(con, [_Held(tables, load_id, load_id)])


def restate(con: duckdb.DuckDBPyConnection, load_ids: list[str]) -> None:
    """Insert the statistics of loads again, of runs where other iterations count than before."""
    if load_ids:
        _tell_statistics(con, load_ids)


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


def _note_loads(con: duckdb.DuckDBPyConnection, loads: Sequence[Known]) -> None:
    """Rows of the ledger, in the order of their times."""
    if not loads:
        return
    at = now_utc()
    table = pa.table({
        "uri": [load.uri for load in loads],
        "generation": pa.array([load.generation for load in loads], pa.int32()),
        "load_id": [load.load_id for load in loads],
        "source_id": [load.source_id for load in loads],
        "sha256": [load.sha256 for load in loads],
        "from_byte": pa.repeat(pa.scalar(0, pa.int64()), len(loads)),
        "to_byte": pa.array([load.size for load in loads], pa.int64()),
        "parser_version": pa.array([load.parser_version for load in loads], pa.int32()),
        "loaded_at": [at + timedelta(microseconds=number) for number in range(len(loads))],
    })  # fmt: skip
    _insert(con, "loads", table, "*", [])


def _insert_tables(con: duckdb.DuckDBPyConnection, loads: Iterable[_Held]) -> None:
    """The rows of several loads, table by table, and the statistics of their runs."""
    small: dict[str, list[tuple[str, pa.Table]]] = defaultdict(list)
    with_steps: dict[str, None] = {}
    for held in loads:
        for name, rows in held.tables.sources():
            if isinstance(rows, pa.Table) and len(rows) < _MANY:
                small[name].append((held.rows_id, rows))
                continue
            # In any order each thread writes row groups of its own: faster, and in less memory.
            with _setting(con, "preserve_insertion_order", "false"):
                _insert(con, name, rows, "? AS load_id, *", [held.rows_id])
        if held.tables.holds("iterations") or held.rows_id != held.load_id:
            with_steps[held.load_id] = None
    for name, parts in small.items():
        _insert(con, name, _with_ids(parts), "*", [])
    if with_steps:
        _tell_statistics(con, list(with_steps))


def _tell_statistics(con: duckdb.DuckDBPyConnection, load_ids: list[str]) -> None:
    """Statistics of the runs of some loads."""
    query = """SELECT count(*) FROM raw.iterations
               WHERE load_id IN (FROM (SELECT unnest($load_ids)) UNION ALL
                   SELECT p.part_id FROM raw.parts n JOIN raw.parts p USING (chain_id)
                   WHERE n.load_id IN (SELECT unnest($load_ids)) AND p.number <= n.number)"""
    [(steps,)] = con.execute(query, {"load_ids": load_ids}).fetchall()
    parameters = {
        "load_ids": load_ids, "rule_version": RUN_STATS_VERSION,
        "few": steps < _MANY, "long": _LONG,
    }  # fmt: skip
    with _as_many(con, steps):
        con.execute(sql_file("run_stats"), parameters)


@contextmanager
def _as_many(con: duckdb.DuckDBPyConnection, rows: int) -> Iterator[None]:
    """One thread for few rows, which adds up in one order: the same rows, the same last digit.

    Their query runs as it is written: to optimize it takes longer than to run it.
    Of many, what is asked for several times is computed as often, not kept; and joins look rows up
    in what is written on their right, which is short: estimates have it the other way round.
    """
    if rows >= _MANY:
        with _setting(con, "disabled_optimizers", _AS_WRITTEN):
            yield
        return
    con.execute("PRAGMA disable_optimizer")
    try:
        with _setting(con, "threads", "1"):
            yield
    finally:
        with suppress(duckdb.TransactionException):
            con.execute("PRAGMA enable_optimizer")


def _with_ids(parts: Sequence[tuple[str, pa.Table]]) -> pa.Table:
    """The rows of several loads, each with the id that it takes."""
    ids, tables = zip(*parts, strict=True)
    places = np.repeat(np.arange(len(ids)), [len(table) for table in tables])
    rows = joined(tables).combine_chunks()
    return rows.append_column("load_id", pa.array(ids).take(pa.array(places)))


def _insert(
    con: duckdb.DuckDBPyConnection,
    name: str,
    rows: pa.Table | pa.RecordBatchReader,
    columns: str,
    parameters: list[str],
) -> None:
    con.register("incoming", rows)
    try:
        con.execute(f"INSERT INTO raw.{name} BY NAME SELECT {columns} FROM incoming", parameters)
    finally:
        with suppress(duckdb.TransactionException):  # as above; the next one takes its place
            con.unregister("incoming")
