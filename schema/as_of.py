"""The warehouse as known at an earlier time or commit, or without annotations by people.

Rows are never overwritten. Only a few views choose the newest of the stored rows; they are
restricted to rows stored by then, and all others read those.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path

import duckdb

from .annotations import rank_annotations, store_annotations
from .connect import attach, confine, explain
from .errors import BenchError
from .location import is_shared, place_of, require_place
from .opening import in_memory, open_read
from .replica import Replica, insert
from .sql import sql_file, sql_files, tables
from .warehouse import Warehouse

# The time of storing a row, by table.
_STORED_AT = {
    "loads": "loaded_at", "hidden": "hidden_at", "redone": "found_at", "fact_sets": "made_at",
    "link_sets": "made_at", "audits": "made_at", "histories": "begun_at",
}  # fmt: skip
# The choosing views; each after its inputs.
CHOOSING = ("current_uris", "hidden_runs", "superseded_steps", "newest_fact_set", "newest_link_set",
            "newest_audits", "document_histories")  # fmt: skip


def require_known(warehouse: Warehouse, at: datetime) -> None:
    """Raises BenchError if no source was stored by a time, UTC."""
    [(first,)] = warehouse.rows("SELECT min(loaded_at) FROM raw.loads")
    if first is None or first > at:
        raise BenchError(f"the warehouse was empty on {at:%Y-%m-%d %H:%M:%S}",
                         why=f"its first source was read on {first:%Y-%m-%d %H:%M:%S} UTC" if first
                         else "nothing was ever read in")  # fmt: skip


def show_as_known_at(warehouse: Warehouse, at: datetime) -> None:
    """Show the rows stored by a time, UTC, until the warehouse is closed."""
    warehouse.stored = ()  # they are of today
    for view in CHOOSING:
        warehouse.rows(f"CREATE TEMP TABLE {view} AS {_as_of(view)}", {"at": at})
        warehouse.materialized.append(view)
    _judge_annotations(warehouse, at)
    _judge_findings(warehouse, at)


def _judge_annotations(warehouse: Warehouse, at: datetime) -> None:
    """Restrict annotations to those known by then and not yet withdrawn."""
    view = "annotations"
    warehouse.rows(f"CREATE TEMP TABLE {view} AS {sql_file('known')}", {"at": at})
    warehouse.materialized.append(view)


def _judge_findings(warehouse: Warehouse, at: datetime) -> None:
    """Restrict closed findings to those closed by then."""
    view = "findings"
    query = """CREATE TEMP TABLE findings AS
        SELECT f.* REPLACE (CASE WHEN c.audit_id IS NULL THEN f.closed ELSE coalesce(c.reason, '')
            END AS closed)
        FROM main.findings f LEFT JOIN (
            SELECT audit_id, number, min_by(reason, place) FILTER (
                coalesce(known_since <= $at::DATE, true)
                AND coalesce(withdrawn_on > $at::DATE, true)) AS reason
            FROM raw.closings GROUP BY ALL) c USING (audit_id, number)"""
    warehouse.rows(query, {"at": at})
    warehouse.materialized.append(view)


@cache
def _as_of(view: str) -> str:
    """The query of a view over the rows stored by `$at` alone."""
    texts = "\n".join(text for _, text in sql_files("views"))
    found = re.search(rf"^CREATE OR REPLACE VIEW {view} AS\n(.*?);$", texts, re.M | re.S)
    assert found, f"view {view} is in no file"
    return re.sub(
        rf"raw\.({'|'.join(_STORED_AT)})\b",
        lambda table: f"(SELECT * FROM {table[0]} WHERE {_STORED_AT[table[1]]} <= $at)",
        found[1],
    )


def open_commit(path: Path, number: int, complete: Callable[[Warehouse, Path], None]) -> Warehouse:
    """The warehouse at `path` with the rows up to commit `number` alone.

    `complete` is called with it and the folder that paths of sources are relative to. Raises
    BenchError for a file, and for a commit that is not kept.
    """
    if not is_shared(path):
        raise BenchError(
            f"{path} is a file: it has no commit {number}", hint="--known-at '2024-05-31 12:00'"
        )
    require_place(path)
    place = place_of(path)
    latest = place.latest()
    if not 0 < number <= latest:
        raise BenchError(
            f"no commit {number} at {path}",
            why=f"the newest is {latest}",
            hint="bench db snapshots",
        )
    warehouse = in_memory()
    try:
        for change in place.changes(0, number):
            insert(warehouse.con, change)
        confine(warehouse.con)
        complete(warehouse, place.home)
    except BaseException as error:
        warehouse.close()
        if isinstance(error, BenchError) and number not in {one.number for one in place.history()}:
            raise BenchError(
                f"commit {number} of {path} is no longer kept",
                why="bench db compact and gc keep what the newest needs", hint="bench db snapshots",
            ) from error  # fmt: skip
        raise
    warehouse.confined = warehouse.read_only = True
    warehouse.replica = Replica(path, place.home, place, number)
    return warehouse


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
