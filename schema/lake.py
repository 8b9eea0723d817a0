"""A shared warehouse on DuckLake: a catalog in a database, rows in Parquet files.

The tables of schema `raw` are there for other tools too; views are not, since each takes hundreds
of statements of the catalog to plan. One writer commits at a time, by an advisory lock of
PostgreSQL or a lock beside the file of the catalog: DuckLake itself takes the same rows twice.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from .connect import connect
from .ddl import tables
from .errors import BenchError, Locked
from .migrate import apply_tables, lacks_tables
from .place import Change, Commit

_SCANNER = {"sqlite": "sqlite_scanner", "postgres": "postgres_scanner"}
_GUARD = 0x62656E6368  # of PostgreSQL's advisory locks, by database
_PATIENCE_S = 60.0
_SLICE = 1 << 20  # rows
_NONE = ("creating disabled", "does not exist", "unable to open database file")
_FASTER = ("conflict", "database is locked", "could not serialize")
_free: dict[tuple[int, str], list[duckdb.DuckDBPyConnection]] = {}  # by process and catalog
_CHECKED = "checkpoints"  # whose rows are deleted when newer ones come


@dataclass(frozen=True, slots=True)
class Lake:
    """The place `ducklake:...`; what each method does is said in `place.Place`."""

    kind: str
    catalog: str

    def exists(self) -> bool:
        if self.kind != "postgres" and not os.path.exists(self.catalog):
            return False
        try:
            with self._attached() as con:
                _latest(con)
        except BenchError as error:
            if any(words in error.why for words in _NONE):
                return False
            raise
        return True

    def create(self, data: Path | None) -> None:
        if data is None and self.kind == "postgres":
            raise BenchError("a catalog in PostgreSQL has no folder", hint="--data DIR")
        if self.kind != "postgres":
            Path(self._lock).touch()
        files = data.absolute() if data else Path(f"{self.catalog}.files")
        files.mkdir(parents=True, exist_ok=True)
        with self._guarded(), self._attached(read_only=False, data=files) as con:
            apply_tables(con)

    def latest(self) -> int:
        with self._attached() as con:
            return _latest(con)

    def changes(self, after: int) -> Iterator[Change]:
        with self._attached() as con:
            con.execute("BEGIN")  # all of it as it is now
            latest = _latest(con)
            if latest == after:
                return
            filled = _filled(con, after, latest) if after else None
            whole = filled is None
            first = after + 1
            rows = {
                table: partial(
                    _slices, con, f"raw.{table}" if whole else _added(table, first, latest)
                )
                for table in (tables() if filled is None else filled)
            }
            yield Change(latest, rows, whole, () if whole else _gone(con, first, latest))

    def commit(self, after: int, change: Change) -> int | None:
        with self._guarded(), self._attached(read_only=False) as con:
            if lacks_tables(con, Path(self.catalog)):
                apply_tables(con)
            con.execute("BEGIN")
            if _latest(con) != after:
                return None
            try:
                _put(con, change)
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
        with self._guarded(), self._attached(read_only=False) as con:
            con.execute("CALL ducklake_rewrite_data_files('wh')").fetchall()
            con.execute("CALL ducklake_merge_adjacent_files('wh')").fetchall()
        return True

    def collect(self, age: timedelta) -> int:
        past = f"TIMESTAMPTZ '{datetime.now(UTC) - age:%Y-%m-%d %H:%M:%S+00}'"
        with self._guarded(), self._attached(read_only=False) as con:
            calls = [
                f"CALL ducklake_expire_snapshots('wh', older_than => {past})",
                f"CALL ducklake_cleanup_old_files('wh', older_than => {past})",
                # A writer's files are orphans until it commits: never those of today.
                f"CALL ducklake_delete_orphaned_files('wh', older_than => {past})",
            ]
            if not age:
                calls = [
                    "CALL ducklake_expire_snapshots('wh', older_than => now())",
                    "CALL ducklake_cleanup_old_files('wh', cleanup_all => true)",
                ]
            results = [con.execute(call).fetchall() for call in calls]
            return sum(map(len, results[1:]))

    def check(self) -> tuple[int, list[str]]:
        files, problems = 0, []
        with self._attached() as con:
            for table in tables():
                query = "SELECT data_file FROM ducklake_list_files('wh', ?, schema => 'raw')"
                for (name,) in con.execute(query, [table]).fetchall():
                    files += 1
                    if not Path(name).is_file():
                        problems.append(f"raw.{table}: {name} is missing")
        return files, problems

    @property
    def _lock(self) -> str:
        return f"{self.catalog}.lock"

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """While others may not commit; a lock ends with its process, whatever kills it."""
        if self.kind != "postgres":  # each connection to it is alone
            yield
            return
        with _instance(self.kind) as con:
            with self._told():
                con.execute(f"ATTACH '{_quoted(self.catalog)}' AS guard (TYPE postgres)")
                con.execute("BEGIN")
                con.execute(
                    f"CALL postgres_execute('guard', 'SELECT pg_advisory_xact_lock({_GUARD})')"
                )
            yield

    @contextmanager
    def _attached(
        self, *, read_only: bool = True, data: Path | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection with the lake as `wh`, in use."""
        options = ["READ_ONLY"] if read_only else ["DATA_INLINING_ROW_LIMIT 0"]
        if data is not None:
            options.append(f"DATA_PATH '{_quoted(str(data))}'")
        elif not read_only:
            options.append("CREATE_IF_NOT_EXISTS false")
        kind = "" if self.kind == "duckdb" else f"{self.kind}:"
        name = _quoted(f"ducklake:{kind}{self.catalog}")
        with ExitStack() as stack:
            if self.kind != "postgres":
                stack.enter_context(_locked(self._lock))
            con = stack.enter_context(_instance(self.kind))
            stack.enter_context(self._told())
            con.execute(f"ATTACH '{name}' AS wh ({', '.join(options)})")
            con.execute("USE wh")
            yield con

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What the database says in our words; it repeats how it was reached, which is not."""
        try:
            yield
        except duckdb.Error as error:
            why = str(error).splitlines()[0].replace(self.catalog, "...")
            raise BenchError(
                f"the lake with its catalog in {self.kind} failed", why=why,
                hint="check that its server, catalog and files can be reached; bench db check",
            ) from error  # fmt: skip


@contextmanager
def _instance(kind: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the extensions for a kind of catalog, which take half a second to load."""
    free = _free.setdefault((os.getpid(), kind), [])
    keeper = free.pop() if free else connect()
    for extension in ("ducklake", _SCANNER.get(kind)):
        if extension:
            _load(keeper, extension)
    con = keeper.cursor()
    try:
        yield con
    finally:
        con.close()  # what it has begun is rolled back
        for name in ("wh", "guard"):
            keeper.execute(f"DETACH DATABASE IF EXISTS {name}")
        free.append(keeper)


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """A lock of this machine beside the file of a catalog."""
    deadline = time.monotonic() + _PATIENCE_S
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise BenchError(f"cannot read {path}", why=error.strerror or str(error)) from error
    try:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Locked(f"{path} is locked", hint="another process is stuck") from None
                time.sleep(0.01)
        yield
    finally:
        os.close(file)


def _load(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """An extension from its wheel, where there is one of this DuckDB; else one installed before."""
    found = importlib.util.find_spec(f"duckdb_extension_{name}")
    folder = Path(found.origin).parent if found and found.origin else Path()
    file = folder / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
    try:
        con.execute(f"LOAD '{_quoted(str(file))}'" if file.is_file() else f"LOAD {name}")
    except duckdb.Error as error:
        raise BenchError(
            f"a lake needs DuckDB's extension {name}",
            why=f"there is none for DuckDB {duckdb.__version__} here",
            hint="pip install 'bench-warehouse[lake]', which brings DuckDB 1.5.5 along",
        ) from error


def _latest(con: duckdb.DuckDBPyConnection) -> int:
    [(number,)] = con.execute("FROM wh.current_snapshot()").fetchall()
    return int(number)


def _names(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Tables of schema raw by the id that snapshots call them by."""
    query = "SELECT table_id, table_name FROM ducklake_table_info('wh')"
    return {str(number): name for number, name in con.execute(query).fetchall()}


def _touched(changes: Mapping[str, Sequence[str]], names: Mapping[str, str]) -> tuple[str, ...]:
    ids = (*changes.get("tables_inserted_into", ()), *changes.get("tables_deleted_from", ()))
    return tuple(sorted({names[one] for one in ids if one in names}))


def _filled(con: duckdb.DuckDBPyConnection, after: int, latest: int) -> list[str] | None:
    """The tables that grew behind a snapshot; None where that cannot be told any more."""
    query = "SELECT snapshot_id, changes FROM wh.snapshots() WHERE snapshot_id > ? ORDER BY 1"
    snapshots = con.execute(query, [after]).fetchall()
    if len(snapshots) != latest - after:
        return None
    names, filled = _names(con), dict[str, None]()
    for _, changes in snapshots:
        shrunk = {names.get(one) for one in changes.get("tables_deleted_from", ())}
        if shrunk - {_CHECKED}:
            return None
        for one in changes.get("tables_inserted_into", ()):
            if names.get(one) in tables():
                filled[names[one]] = None
    return list(filled)


def _added(table: str, first: int, latest: int) -> str:
    return f"ducklake_table_insertions('wh', 'raw', '{table}', {first}, {latest})"


def _gone(con: duckdb.DuckDBPyConnection, first: int, latest: int) -> tuple[str, ...]:
    query = f"""SELECT load_id FROM ducklake_table_deletions('wh', 'raw', '{_CHECKED}', ?, ?)"""
    return tuple(load for (load,) in con.execute(query, [first, latest]).fetchall())


def _slices(con: duckdb.DuckDBPyConnection, source: str) -> Iterator[pa.Table]:
    for batch in con.sql(f"SELECT * FROM {source}").to_arrow_reader(_SLICE):
        yield pa.Table.from_batches([batch])


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


def _quoted(text: str) -> str:
    return text.replace("'", "''")
