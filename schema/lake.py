"""A shared warehouse on DuckLake: a catalog in a database, rows in Parquet files.

The tables of schema `raw` are there for other tools too; views are not, since each takes hundreds
of statements of the catalog to plan. One writer commits at a time, by a lock of the catalog:
DuckLake itself takes the same rows twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path

import duckdb
import pyarrow as pa

from .catalogs import Catalog, State, quoted, translated_errors
from .commits import Change, Commit, Notify, ignore_note, refuse_secret
from .errors import BenchError
from .extensions import instance
from .lake_files import (
    S3,
    is_marked,
    mark,
    notify_unmarked,
    remove,
    remove_orphans,
    require_bucket,
)  # fmt: skip
from .migrate import apply_tables, lacks_tables
from .shared_files import permissions_of, share
from .sql import tables

_SLICE = 1 << 20  # rows
_FASTER = ("conflict", "database is locked", "could not serialize", "duplicate key")
# Rows of other tools may lie in the catalog itself.
_INSERTED = ("tables_inserted_into", "inlined_insert")
_DELETED = ("tables_deleted_from", "inlined_delete")
_CHECKED = "checkpoints"  # whose rows are deleted when newer ones come


@dataclass(frozen=True, slots=True)
class Lake:
    """The place `ducklake:...`; `commits.Place` describes its methods."""

    catalog: Catalog

    @property
    def identity(self) -> str:
        return _created(self.catalog).identity

    @property
    def home(self) -> Path:
        if self.catalog.folder:
            return self.catalog.folder
        data = _data(self.catalog)
        # Names below a working folder would be other files for each writer.
        return Path("/") if data.startswith(S3) else Path(data).parent

    @property
    def scratch(self) -> Path | None:
        data = _data(self.catalog)
        return None if data.startswith(S3) else Path(data)

    def exists(self) -> bool:
        return self.catalog.state() is not None

    def create(self, data: str | None) -> None:
        refuse_secret(data or "")  # the catalog keeps it
        if data is None:
            if self.catalog.folder is None:
                raise BenchError(
                    "a catalog in PostgreSQL has no folder for rows",
                    hint="--data DIR, which all machines see, or --data s3://BUCKET/FOLDER",
                )
            data = f"{self.catalog.address.removeprefix('sqlite:')}.files"
        if not data.startswith(S3):
            data = str(Path(data).absolute())
            try:
                with permissions_of(Path(data)):
                    Path(data).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise BenchError(f"cannot make {data}", why=error.strerror or "") from error
            with permissions_of(Path(data)):
                mark(data, self.catalog.address)
        else:  # the catalog keeps this name for ever: it has to be that of a bucket
            require_bucket(data)
            with instance(("httpfs",)) as con, self._translated_errors():
                _objects(con, data)
        with self.catalog.guarded(), self._attached(read_only=False, data=data) as con:
            apply_tables(con)

    def latest(self) -> int:
        return _state(self.catalog).newest

    def changes(self, after: int, until: int | None = None) -> Iterator[Change]:
        if until is None and self.latest() == after:
            return
        with self._attached(version=until) as con:
            con.execute("BEGIN")  # one state for all queries
            latest = _latest(con)
            # To plan a query of an empty table costs more than one of a filled one.
            filled = _filled(con, after, latest)
            whole = filled is None or not after
            first = after + 1
            rows = {
                table: partial(
                    self._slices, con, f"raw.{table}" if whole else _added(table, first, latest)
                )
                for table in (tables() if filled is None else filled)
            }
            yield Change(latest, rows, whole, () if whole else _gone(con, first, latest))

    def commit(self, after: int, change: Change) -> int | None:
        with ExitStack() as stack:
            still = stack.enter_context(self.catalog.guarded())
            if self.latest() != after:  # most that waited are late, and need not attach it
                return None
            con = stack.enter_context(self._attached(read_only=False))
            # A commit by others in between is a conflict: ours must not follow it.
            con.execute("SET ducklake_max_retry_count = 0")
            if lacks_tables(con, Path(self.catalog.address)):
                apply_tables(con)
            con.execute("BEGIN")
            if _latest(con) != after:
                return None
            try:
                _put(con, change)
                still()
                con.execute("COMMIT")
            except duckdb.Error as error:
                if any(word in str(error).lower() for word in _FASTER):
                    return None
                raise
            [(number,)] = con.execute("FROM wh.last_committed_snapshot()").fetchall()
            return int(number)

    def history(self) -> list[Commit]:
        with self._attached() as con:
            names = _names(con)
            query = "SELECT snapshot_id, snapshot_time, changes FROM wh.snapshots() ORDER BY 1"
            return [
                Commit(number, at.astimezone(UTC).replace(tzinfo=None), _touched(changes, names))
                for number, at, changes in con.execute(query).fetchall()
            ]

    def merge(self) -> bool:
        with self.catalog.guarded(), self._attached(read_only=False) as con:
            con.execute("CALL ducklake_rewrite_data_files('wh')").fetchall()
            con.execute("CALL ducklake_merge_adjacent_files('wh')").fetchall()
        return True

    def collect(self, age: timedelta, notify: Notify = ignore_note) -> int:
        past = f"TIMESTAMPTZ '{datetime.now(UTC) - age:%Y-%m-%d %H:%M:%S+00}'"
        with self.catalog.guarded(), self._attached(read_only=False) as con:
            until = past if age else "now()"
            con.execute(f"CALL ducklake_expire_snapshots('wh', older_than => {until})").fetchall()
            which = f"older_than => {past}" if age else "cleanup_all => true"
            data = _data(self.catalog)
            removed = remove(con, f"ducklake_cleanup_old_files('wh', {which})", data)
            # A writer's files are orphans until it commits: never those of today. Nor are those of
            # another lake, whose folder the catalog may name.
            if age and is_marked(data, self.catalog.folder, self.catalog.address):
                call = f"ducklake_delete_orphaned_files('wh', {which})"
                removed += remove_orphans(con, call, data, notify)
            elif age:
                notify_unmarked(data, self.catalog.address, notify)
            return removed

    def check(self) -> tuple[int, list[str]]:
        files, problems = 0, []
        with self._attached() as con:
            there = _objects(con, _data(self.catalog))
            for table in tables():
                query = "SELECT data_file FROM ducklake_list_files('wh', ?, schema => 'raw')"
                for (name,) in con.execute(query, [table]).fetchall():
                    files += 1
                    if not (name in there if name.startswith(S3) else Path(name).is_file()):
                        problems.append(f"raw.{table}: {name} is missing")
        return files, problems

    def _slices(self, con: duckdb.DuckDBPyConnection, source: str) -> Iterator[pa.Table]:
        with self._translated_errors():
            for batch in con.sql(f"SELECT * FROM {source}").to_arrow_reader(_SLICE):
                yield pa.Table.from_batches([batch])

    def _translated_errors(self) -> AbstractContextManager[None]:
        return translated_errors(self.catalog.address.removeprefix("postgres:"))

    @contextmanager
    def _permissions(self, data: str) -> Iterator[None]:
        """Those of the folder of rows and of the catalog's."""
        with ExitStack() as stack:
            if above := self.catalog.folder:
                stack.enter_context(permissions_of(above))
                file = Path(self.catalog.address.removeprefix("sqlite:"))
                stack.callback(share, above, [file])
            if not data.startswith(S3):
                folder = Path(data)
                stack.enter_context(permissions_of(folder))
                # Of the schema and of each table.
                stack.callback(lambda: share(folder, (*folder.glob("*/"), *folder.glob("*/*/"))))
            yield

    @contextmanager
    def _attached(
        self, *, read_only: bool = True, data: str | None = None, version: int | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection with the lake as `wh`, in use; as it was at a snapshot, if given."""
        options = ["READ_ONLY"] if read_only else ["DATA_INLINING_ROW_LIMIT 0"]
        if version is not None:
            options.append(f"SNAPSHOT_VERSION {version}")
        if data is not None:
            options.append(f"DATA_PATH '{quoted(data)}'")
        elif not read_only:
            options.append("CREATE_IF_NOT_EXISTS false")
        extensions = ["ducklake", *([self.catalog.scanner] if self.catalog.scanner else [])]
        if (data or _data(self.catalog)).startswith(S3):
            extensions.append("httpfs")
        with ExitStack() as stack:
            if not read_only:
                stack.enter_context(self._permissions(data or _data(self.catalog)))
            stack.enter_context(self.catalog.opened(new=data is not None))
            con = stack.enter_context(instance(tuple(extensions)))
            stack.enter_context(self._translated_errors())
            name = quoted(f"ducklake:{self.catalog.address}")
            con.execute(f"ATTACH '{name}' AS wh ({', '.join(options)})")
            con.execute("USE wh")
            yield con


@lru_cache
def _created(catalog: Catalog) -> State:
    """The state of a lake, of which only the newest snapshot changes."""
    return _state(catalog)


def _data(catalog: Catalog) -> str:
    """The place of the Parquet files of a lake."""
    return _created(catalog).data


def _state(catalog: Catalog) -> State:
    state = catalog.state()
    if state is None:
        name = f"ducklake:{catalog.address}"
        raise BenchError(f"no warehouse at {name}", hint=f"bench db init --db '{name}' makes one")
    return state


def _latest(con: duckdb.DuckDBPyConnection) -> int:
    [(number,)] = con.execute("FROM wh.current_snapshot()").fetchall()
    return int(number)


def _objects(con: duckdb.DuckDBPyConnection, data: str) -> set[str]:
    """All objects below `s3://...`; empty for a folder, whose files are checked one by one."""
    if not data.startswith(S3):
        return set()
    found = con.execute("SELECT file FROM glob(?)", [f"{data.rstrip('/')}/**"]).fetchall()
    return {file for (file,) in found}


def _names(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Tables of schema raw by their ids in snapshots."""
    query = "SELECT table_id, table_name FROM ducklake_table_info('wh')"
    return {str(number): name for number, name in con.execute(query).fetchall()}


def _touched(changes: Mapping[str, Sequence[str]], names: Mapping[str, str]) -> tuple[str, ...]:
    touched = _ids(changes, *_INSERTED, *_DELETED)
    return tuple(sorted({names[one] for one in touched if one in names}))


def _ids(changes: Mapping[str, Sequence[str]], *kinds: str) -> Iterator[str]:
    """Tables of some kinds of changes, by their ids."""
    for kind in kinds:
        yield from changes.get(kind, ())


def _filled(con: duckdb.DuckDBPyConnection, after: int, latest: int) -> list[str] | None:
    """The tables with new rows after a snapshot; None if that is no longer known."""
    query = """SELECT snapshot_id, changes FROM wh.snapshots()
               WHERE snapshot_id BETWEEN ? AND ? ORDER BY 1"""
    snapshots = con.execute(query, [after + 1, latest]).fetchall()
    if len(snapshots) != latest - after:
        return None
    names, filled = _names(con), dict[str, None]()
    for _, changes in snapshots:
        shrunk = {names.get(one) for one in _ids(changes, *_DELETED)}
        if shrunk - {_CHECKED}:
            return None
        for one in _ids(changes, *_INSERTED):
            if names.get(one) in tables():
                filled[names[one]] = None
    return list(filled)


def _added(table: str, first: int, latest: int) -> str:
    return f"ducklake_table_insertions('wh', 'raw', '{table}', {first}, {latest})"


def _gone(con: duckdb.DuckDBPyConnection, first: int, latest: int) -> tuple[str, ...]:
    query = f"""SELECT load_id FROM ducklake_table_deletions('wh', 'raw', '{_CHECKED}', ?, ?)"""
    return tuple(load for (load,) in con.execute(query, [first, latest]).fetchall())


def _put(con: duckdb.DuckDBPyConnection, change: Change) -> None:
    for table in tables() if change.whole else ():
        con.execute(f"DELETE FROM raw.{table}")
    for table, slices in change.tables.items():
        for rows in slices():
            con.register("incoming", rows)
            con.execute(f"INSERT INTO raw.{table} BY NAME SELECT * FROM incoming")
            con.unregister("incoming")
    if change.gone:
        con.execute(
            "DELETE FROM raw.checkpoints WHERE load_id IN (SELECT unnest(?::VARCHAR[]))",
            [list(change.gone)],
        )
