"""The local warehouse file that represents a shared place.

It takes in new commits before queries, so that every query runs as fast as on a file, and no view
is run at the place. A transaction is stored in the place first: its rows become the commit right
after the last one taken in; if others were faster it is rolled back and retried with a new reading
(`repeated`). A killed process leaves a replica without its last commit, which is taken in like any
other.
"""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from ..vocabulary.package_cache import cache_folder
from .commits import Change, CommitConflict, Place, Retry, repeated
from .connect import all_or_nothing, connect_file, disconnect, explained
from .errors import BenchError, Incompatible, Locked
from .location import place_of, require_place
from .migrate import doubt_stored_views
from .sql import tables
from .template import create_file, version

if TYPE_CHECKING:
    import pyarrow as pa

_SLOTS = 64  # processes of a machine that use one place at once, each with a replica if needed
_UNCOMMITTED = 36_028_797_018_960_000  # row ids from here on are those of the open transaction
_SLICE = 1 << 20  # rows
_KEPT_S = 30 * 86400.0
_NOT_FITTING = (duckdb.BinderException, duckdb.ConversionException, duckdb.ConstraintException)
_STATE = "CREATE SCHEMA replica; CREATE TABLE replica.state (number BIGINT NOT NULL)"


class _Rebuilt(Exception):
    """The commits after a replica's are gone: it is recreated."""


@dataclass(slots=True)
class Replica:
    """An open replica: its file, its place, the number of its commit."""

    file: Path
    home: Path  # the folder that paths of sources are relative to
    place: Place
    number: int

    def publish(self, con: duckdb.DuckDBPyConnection, *, whole: bool = False) -> None:
        """Make the rows of the open transaction a commit; raises CommitConflict.

        Nothing is committed without new rows. The only deletions in a commit are of checkpoints,
        unless it is `whole`.
        """
        change = _change(con, whole=whole)
        if not (change.tables or change.gone or whole):
            return
        number = self.place.commit(self.number, change)
        if number is None:
            raise CommitConflict
        con.execute("UPDATE replica.state SET number = ?", [number])
        self.number = number


@repeated
def open_replica(
    path: Path, prepare: Callable[[duckdb.DuckDBPyConnection, Path], None] | None = None
) -> tuple[duckdb.DuckDBPyConnection, Replica]:
    """A connection to an up-to-date replica of a place, attached as `wh` and in use.

    With `prepare` it only reads; `prepare` is applied to the file after new commits.

    Raises Locked when too many processes use it, else BenchError.
    """
    place = place_of(path)
    try:
        home, identity = place.home, place.identity
        latest = place.latest() if prepare else 0
    except BenchError as error:
        if not isinstance(error, Retry):
            require_place(path)
        raise
    for file in _files(path, identity):
        with suppress(Locked):
            if prepare and file.exists():
                con = _reading(file, latest)
                if con is not None:
                    return con, Replica(file, home, place, latest)
            con, number = _writing(file, path, place)
            if not prepare:
                return con, Replica(file, home, place, number)
            try:
                prepare(con, file)
            finally:
                disconnect(con, reusable=False)
            con = _reading(file, number)
            if con is not None:
                return con, Replica(file, home, place, number)
    why = f"{_SLOTS} processes of this machine use it"
    raise Locked(f"{path} is locked", why=why, hint="wait for one of them")


def _files(path: Path, identity: str) -> Iterator[Path]:
    """Replicas of a place that a process may use; one set per machine, since locks are local."""
    digest = hashlib.sha256(f"{path}\n{identity}\n{version()}".encode()).hexdigest()[:16]
    folder = cache_folder() / "replicas"
    folder.mkdir(mode=0o700, exist_ok=True)
    for number in range(_SLOTS):
        yield folder / f"{digest}-{platform.node()}-{number}.duckdb"


def _sweep(folder: Path) -> None:
    """Remove replicas that have not been used for long."""
    for file in folder.glob("*.duckdb"):
        with suppress(OSError):
            if time.time() - file.stat().st_mtime > _KEPT_S:
                file.unlink()


def _reading(file: Path, number: int) -> duckdb.DuckDBPyConnection | None:
    """A replica at this commit or a later one, read-only."""
    try:
        con = connect_file(file, read_only=True)
    except Incompatible:  # killed during creation, or damaged: it is recreated
        return None
    if (_number(con) or 0) >= number:
        return con
    disconnect(con)
    return None


def _writing(file: Path, path: Path, place: Place) -> tuple[duckdb.DuckDBPyConnection, int]:
    """An up-to-date replica; recreated if it is unusable."""
    for _ in range(3):
        if not file.exists():
            _sweep(file.parent)
            create_file(file)
        try:
            con = connect_file(file, read_only=False)
        except Incompatible:
            remove(file)
            continue
        try:
            with explained(file):
                return con, _catch_up(con, place)
        except (_Rebuilt, Incompatible) as error:
            disconnect(con)
            remove(file)
            if not isinstance(error, _Rebuilt):
                raise
        except BaseException as error:
            disconnect(con, reusable=False)
            if isinstance(error, BenchError) and not isinstance(error, Retry):
                require_place(path)
            raise
    raise BenchError(f"cannot make {file}", hint="remove it, and try again")


def remove(file: Path) -> None:
    """Remove a replica; the next process recreates it from its place."""
    for each in (file, Path(f"{file}.wal")):
        each.unlink(missing_ok=True)


def _number(con: duckdb.DuckDBPyConnection) -> int | None:
    """The commit of a replica; None for a new one."""
    try:
        [(number,)] = con.execute("SELECT max(number) FROM replica.state").fetchall()
    except duckdb.CatalogException:
        return None
    return None if number is None else int(number)


def _catch_up(con: duckdb.DuckDBPyConnection, place: Place) -> int:
    """Take in new commits; returns the number of the last one."""
    number = _number(con)
    if number is None:
        con.execute(_STATE)
        con.execute("INSERT INTO replica.state VALUES (0)")
        number = 0
    for change in place.changes(number):
        if number and (change.whole or change.number <= number):
            raise _Rebuilt
        try:
            with all_or_nothing(con):
                doubt_stored_views(con)
                _take_in(con, change)
        except _NOT_FITTING as error:  # written by others
            why = str(error).splitlines()[0]
            what = f"the rows of commit {change.number} do not fit"
            raise Incompatible(what, why=why) from error
        number = change.number
    return number


def _take_in(con: duckdb.DuckDBPyConnection, change: Change) -> None:
    insert(con, change)
    con.execute("UPDATE replica.state SET number = ?", [change.number])


def insert(con: duckdb.DuckDBPyConnection, change: Change) -> None:
    """Insert the rows of a commit, and remove the checkpoints that it drops."""
    for table, slices in change.tables.items():
        for rows in slices():
            con.register("incoming", rows)
            con.execute(f"INSERT INTO raw.{table} BY NAME SELECT * FROM incoming")
            con.unregister("incoming")
    con.execute(
        "DELETE FROM raw.checkpoints WHERE load_id IN (SELECT unnest(?::VARCHAR[]))",
        [list(change.gone)],
    )


def _change(con: duckdb.DuckDBPyConnection, *, whole: bool) -> Change:
    """The rows written in the open transaction."""
    low = 0 if whole else _UNCOMMITTED
    filled: dict[str, Callable[[], Iterator[pa.Table]]] = {}
    counts = _counts(con, low)
    for table, rows in counts.items():
        if rows:
            filled[table] = partial(slices, con, table, low)
    before = con.cursor()  # sees only committed rows
    try:
        before.execute("SET enable_progress_bar = false")
        gone = () if whole else _gone(con, before)
        if not whole:
            _refuse_deleted(_counts(con, 0), counts, _counts(before, 0), len(gone))
    finally:
        before.close()
    return Change(0, filled, whole, gone)


def _counts(con: duckdb.DuckDBPyConnection, low: int) -> dict[str, int]:
    """Rows by table, from a row id on."""
    one = "SELECT '{0}', count(*) FROM wh.raw.{0}" + (f" WHERE rowid >= {low}" if low else "")
    query = " UNION ALL ".join(one.format(table) for table in tables())
    return {table: int(rows) for table, rows in con.execute(query).fetchall()}


def _gone(con: duckdb.DuckDBPyConnection, before: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    query = "SELECT load_id FROM wh.raw.checkpoints"
    left = {load for (load,) in con.execute(query).fetchall()}
    return tuple(sorted({load for (load,) in before.execute(query).fetchall()} - left))


def _refuse_deleted(
    now: dict[str, int], new: dict[str, int], before: dict[str, int], gone: int
) -> None:
    """Raises BenchError if rows of other tables were deleted: a commit cannot express that."""
    for table, rows in now.items():
        missing = before[table] + new[table] - rows
        assert missing == (gone if table == "checkpoints" else 0), f"{missing} rows of raw.{table}"


def slices(con: duckdb.DuckDBPyConnection, table: str, low: int = 0) -> Iterator[pa.Table]:
    """The rows of a table from a row id on, about a million at a time."""
    query = f"SELECT min(rowid), max(rowid) FROM raw.{table} WHERE rowid >= {low}"
    [(first, last)] = con.execute(query).fetchall()
    if first is None:
        return
    starts = [first] if last - first < _UNCOMMITTED // 2 else [first, _UNCOMMITTED]
    for start in starts:
        end = last if start == starts[-1] else _last_below(con, table)
        for at in range(start, end + 1, _SLICE):
            rows = con.sql(
                f"SELECT * FROM raw.{table} WHERE rowid BETWEEN {at} AND {at + _SLICE - 1}"
            ).to_arrow_table()
            if len(rows):
                yield rows


def _last_below(con: duckdb.DuckDBPyConnection, table: str) -> int:
    query = f"SELECT max(rowid) FROM raw.{table} WHERE rowid < {_UNCOMMITTED}"
    [(last,)] = con.execute(query).fetchall()
    return int(last)
