"""Storage of rows: whole files, one transaction, nothing twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType

import duckdb
import pyarrow as pa

from .arrow import joined, to_arrow
from .errors import BenchError
from .incremental import Part, store_part
from .ledger import LedgerEntry, Stamp, read_ledger_of
from .migrate import now_utc
from .rows import Rows
from .spill import Spill
from .sql import sql_file
from .warehouse import Warehouse, transaction

RUN_STATS_VERSION = 3
_MEMORY_MB = 288  # DuckDB takes all memory otherwise, and is as fast with less
_LONG = 1_100_000  # steps of a run whose medians are computed without all values in memory
_AS_WRITTEN = "common_subplan,build_side_probe_side"
_MANY = 100_000  # rows of a batch that need a limit
Stamps = Mapping[str, tuple[str, Stamp]]
_NONE: Stamps = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Load:
    """One file ready for storing: its plan, and its tables unless its bytes are stored already.

    For a log that may grow `part` has the final rows, and `tables` those that may change.
    """

    plan: LedgerEntry
    tables: Spill | None
    part: Part | None = None

    @property
    def uri(self) -> str:
        return self.plan.uri


@dataclass(frozen=True, slots=True)
class _Batch:
    """Rows to insert, their id, and the load that shows them."""

    tables: Spill
    rows_id: str
    load_id: str


def store(warehouse: Warehouse, loads: Sequence[Load], stamps: Stamps = _NONE) -> set[str]:
    """Store whole files in one transaction; returns the uris of those with a stale plan.

    The ledger is read again inside the transaction: bytes stored meanwhile by another process are
    skipped, so nothing is doubled. The others have to be planned and read again. `stamps` are the
    files' stats, by uri with the SHA-256 of the bytes then read. Raises BenchError if the disk is
    full or the file damaged; then nothing is stored.
    """
    try:
        return _store(warehouse, loads, stamps, bounded=True)
    except BenchError as error:
        if not isinstance(error.__cause__, duckdb.OutOfMemoryException):
            raise
    # Some statistics need more than the limit: retry with all memory.
    for name in ("memory_limit", "threads", "disabled_optimizers", "preserve_insertion_order"):
        warehouse.con.execute(f"RESET {name}")
    return _store(warehouse, loads, stamps, bounded=False)


def _store(
    warehouse: Warehouse, loads: Sequence[Load], stamps: Stamps, *, bounded: bool
) -> set[str]:
    stale: set[str] = set()
    new: list[_Batch] = []
    noted: list[LedgerEntry] = []
    with transaction(warehouse):
        # As it is now, without other writers.
        ledger = read_ledger_of(warehouse, [load.plan for load in loads])
        for load in loads:
            plan = ledger.plan(load.uri, *load.plan.content, load.plan.size)
            if plan is None:  # another process was faster with the same bytes
                continue
            is_new = not ledger.has_load(plan.load_id)
            if plan != load.plan or (is_new and load.tables is None):
                stale.add(load.uri)
                continue
            if is_new and load.tables is not None:
                new.append(_Batch(load.tables, plan.load_id, plan.load_id))
                if load.part:
                    part_id = store_part(warehouse, ledger, plan, load.part)
                    new.append(_Batch(load.part.rows, part_id, plan.load_id))
            noted += ledger.note(plan)
        _note_loads(warehouse.con, noted)
        if bounded:
            _bound(warehouse, [batch.tables for batch in new])
        _insert_tables(warehouse.con, new)
        _note_stamps(warehouse.con, {u: seen for u, seen in stamps.items() if u not in stale})
    return stale


def _bound(warehouse: Warehouse, tables: Sequence[Spill]) -> None:
    """Limit memory until the file is closed, also for the final checkpoint.

    A warehouse in memory has no limit.
    """
    if warehouse.path is None or sum(each.rows for each in tables) < _MANY:
        return
    warehouse.changed = True
    warehouse.con.execute(f"SET memory_limit = '{_MEMORY_MB}MB'")


@contextmanager
def _setting(con: duckdb.DuckDBPyConnection, name: str, value: str) -> Iterator[None]:
    """Change a setting temporarily."""
    con.execute(f"SET {name} = '{value}'")
    try:
        yield
    finally:
        with suppress(duckdb.TransactionException):  # after a failure: `store` does it
            con.execute(f"RESET {name}")


def _note_stamps(con: duckdb.DuckDBPyConnection, stamps: Stamps) -> None:
    """Store stamps of files older than their resolution: others may hide a later write."""
    rows = [(uri, sha256, *stamp) for uri, (sha256, stamp) in stamps.items() if stamp.settled]
    if rows:
        names = ("uri", "sha256", *Stamp._fields)
        columns = map(list, zip(*rows, strict=True))
        _insert(con, "stamps", pa.table(dict(zip(names, columns, strict=True))), "*", [])


def insert(con: duckdb.DuckDBPyConnection, rows: Rows, load_id: str) -> None:
    """Insert rows of one load into their raw tables, in bulk, and its run statistics."""
    tables = Spill()
    tables.add(to_arrow(rows))
    _insert_tables(con, [_Batch(tables, load_id, load_id)])


def restate(con: duckdb.DuckDBPyConnection, load_ids: list[str]) -> None:
    """Recompute the statistics of loads, for runs whose counted iterations have changed."""
    if load_ids:
        _insert_statistics(con, load_ids)


def hide(
    warehouse: Warehouse, scope: str, identifiers: Iterable[str], *, hidden: bool = True
) -> None:
    """Hide (or show again) uris or runs, by `scope`; nothing is deleted."""
    with transaction(warehouse):
        # Later than any other decision, whatever the clock shows.
        [(last,)] = warehouse.rows("SELECT max(hidden_at) FROM raw.hidden")
        at = now_utc() if last is None else max(now_utc(), last + timedelta(microseconds=1))
        for identifier in identifiers:
            row = [scope, identifier, hidden, at]
            warehouse.con.execute("INSERT INTO raw.hidden VALUES (?, ?, ?, ?)", row)


def _note_loads(con: duckdb.DuckDBPyConnection, loads: Sequence[LedgerEntry]) -> None:
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


def _insert_tables(con: duckdb.DuckDBPyConnection, loads: Iterable[_Batch]) -> None:
    """The rows of several loads, table by table, and the statistics of their runs."""
    small: dict[str, list[tuple[str, pa.Table]]] = defaultdict(list)
    with_steps: dict[str, None] = {}
    # Rows are numbered from 0, so that none of those to come has a lower number.
    [(first_new,)] = con.execute("SELECT count(*) FROM raw.iterations").fetchall()
    for batch in loads:
        for name, rows in batch.tables.sources():
            if isinstance(rows, pa.Table) and len(rows) < _MANY:
                small[name].append((batch.rows_id, rows))
                continue
            # Without order each thread writes its own row groups: faster, and in less memory.
            with _setting(con, "preserve_insertion_order", "false"):
                _insert(con, name, rows, "? AS load_id, *", [batch.rows_id])
        if batch.tables.has_rows("iterations") or batch.rows_id != batch.load_id:
            with_steps[batch.load_id] = None
        if batch.rows_id != batch.load_id:  # the parts before it count, too
            first_new = 0
    for name, parts in small.items():
        _insert(con, name, _with_ids(parts), "*", [])
    if with_steps:
        _insert_statistics(con, list(with_steps), first_new)


def _insert_statistics(
    con: duckdb.DuckDBPyConnection, load_ids: list[str], first_row: int = 0
) -> None:
    """Insert the statistics of the runs of some loads, whose steps are rows from `first_row` on.

    Few steps are copied first: their query reads them many times, and would each time look through
    those of all runs.
    """
    of_loads = f"""FROM raw.iterations WHERE rowid >= {first_row}
               AND load_id IN (FROM (SELECT unnest($load_ids)) UNION ALL
                   SELECT p.part_id FROM raw.parts n JOIN raw.parts p USING (chain_id)
                   WHERE n.load_id IN (SELECT unnest($load_ids)) AND p.number <= n.number)"""
    loads: dict[str, object] = {"load_ids": load_ids}
    [(steps,)] = con.execute(f"SELECT count(*) {of_loads}", loads).fetchall()
    few = steps < _MANY
    if few:
        con.execute(f"CREATE OR REPLACE TEMP TABLE few_steps AS {of_loads}", loads)
    parameters = {**loads, "rule_version": RUN_STATS_VERSION, "few": few, "long": _LONG}
    query = sql_file("run_stats")
    with _as_many(con, steps):
        con.execute(query.replace("raw.iterations", "few_steps") if few else query, parameters)
    if few:
        con.execute("DROP TABLE few_steps")


@contextmanager
def _as_many(con: duckdb.DuckDBPyConnection, rows: int) -> Iterator[None]:
    """One thread for few rows: one order of summation, so the same rows give the same last digit.

    Their query runs without the optimizer, which would take longer than the query. For many rows
    repeated subqueries are recomputed, not kept; and joins build on the right side, which is short:
    estimates have it the other way round.
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
    """The rows of several loads, each with its id."""
    ids = pa.chunked_array([pa.repeat(load_id, len(rows)) for load_id, rows in parts])
    return joined([rows for _, rows in parts]).append_column("load_id", ids).combine_chunks()


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
