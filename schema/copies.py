"""Copies of a warehouse file: backup, restore, and compaction; deletion of sources for good."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from .check import check
from .commits import repeated
from .connect import STORAGE_VERSION, connect_file, disconnect, draft_of, explained, require_plain
from .definitions import outdated
from .errors import BenchError, Incompatible
from .location import is_shared, place_of
from .materialized import views_are_stored
from .migrate import STORED_VIEWS
from .opening import open_read, open_write, require_folder, require_warehouse, sweep_drafts
from .replica import remove, slices
from .sql import tables
from .stored_views import store_views
from .warehouse import Warehouse, transaction
from .write_logs import logs_of

_HEAD, _MAGIC = 12, b"DUCK"  # bytes that a file of DuckDB begins with, and the last of these


def backup(db: Path, to: Path, lock_timeout: float) -> int:
    """Copy a warehouse to a new file; returns its size in bytes.

    Others may read meanwhile, not write. The copy is read before it gets its name. Raises
    BenchError if the file exists, if the disk is full or if the copy is damaged.
    """
    if to.is_dir():
        to = to / ("bench.duckdb" if is_shared(db) else db.name)
    if to.exists():
        raise BenchError(
            f"{to} already exists", hint="choose another name; backups are not replaced"
        )
    require_folder(to)
    with _writable_draft_of(to) as draft:
        with open_read(db, lock_timeout) as source:  # its lock excludes writers
            assert source.path is not None
            _copy(source.path, draft)
        _sound(draft, f"the copy of {db}")
        _put(draft, to)
    return to.stat().st_size


def changed_copy(source: Warehouse, change: Callable[[Warehouse], None]) -> Warehouse:
    """A temporary copy of an open file, after a change read-only; `source` is closed.

    It is removed when it is closed. Raises BenchError if the disk is full, and as `change`.
    """
    assert source.path is not None, "a warehouse in memory is changed itself"
    scratch = TemporaryDirectory(prefix="bench-")
    copy = Path(scratch.name, source.path.name)
    try:
        try:
            _copy(source.path, copy)  # its lock excludes writers
        except OSError as error:
            raise BenchError(f"cannot copy {source.path}", why=error.strerror or "") from error
        source.close()
        with Warehouse(connect_file(copy, read_only=False, confined=True), copy) as made:
            change(made)
        con = connect_file(copy, read_only=True, confined=source.confined)
    except BaseException:
        scratch.cleanup()
        raise
    made = Warehouse(con, copy, read_only=True, confined=source.confined, replica=source.replica)
    made.original, made.scratch = source.path, scratch
    return made


def restore(copy: Path, db: Path, lock_timeout: float) -> Path | None:
    """Replace a warehouse by a copy; returns the new path of the present file, if any.

    The copy is read completely first. Raises BenchError for a damaged copy, Locked while others
    have the present one open.
    """
    if is_shared(db):
        raise BenchError(
            f"{db} is shared: no copy can take its place",
            hint=f"bench db copy --db {copy} NEW-PLACE",
        )
    if not copy.is_file():
        raise BenchError(f"no backup at {copy}", hint="bench db backup FILE makes one")
    if db.exists() and copy.samefile(db):
        raise BenchError(f"{copy} is the warehouse itself", hint="name a backup")
    with copy.open("rb") as file:  # before any of it is copied: a hole may be larger than the disk
        if file.read(_HEAD)[-len(_MAGIC) :] != _MAGIC:
            raise Incompatible(f"{copy} is not a warehouse", hint="name a backup")
    require_folder(db)
    with _writable_draft_of(db) as draft:
        _copy(copy, draft)
        _sound(draft, str(copy))
        kept = _set_aside(db, lock_timeout) if db.exists() else None
        os.replace(draft, db)
    return kept


def share(db: Path, to: Path, data: str | None, lock_timeout: float) -> int:
    """Copy a warehouse to a shared place, created if missing; returns its number of rows.

    The copy is read again from there, and compared by count and checksum. Raises BenchError if
    something is stored there already, or if the copy differs.
    """
    place = place_of(to)
    if not place.exists():
        place.create(data)
    with open_read(db, lock_timeout) as source:
        with open_write(to, lock_timeout) as target:
            if target.rows("SELECT 1 FROM raw.loads LIMIT 1"):
                raise BenchError(f"{to} is not empty", hint="copy to a new place")
            with transaction(target):
                for table in tables():
                    for rows in slices(source.con, table):
                        target.con.register("incoming", rows)
                        target.con.execute(f"INSERT INTO raw.{table} BY NAME FROM incoming")
                        target.con.unregister("incoming")
            written = target.path
        assert written is not None
        remove(written)  # forces a read from the place
        with open_read(to, lock_timeout) as copied:
            digests = [_digests(each) for each in (source, copied)]
    wrong = [table for table in tables() if digests[0][table] != digests[1][table]]
    if wrong:
        raise BenchError(f"the copy at {to} differs", why=f"rows of {', '.join(wrong)}")
    return sum(rows for rows, _ in digests[0].values())


def _digests(warehouse: Warehouse) -> dict[str, tuple[int, int | None]]:
    """The number of rows of each table, and a checksum independent of their order."""
    query = "SELECT count(*), bit_xor(hash(one)) FROM raw.{} one"
    return {table: warehouse.rows(query.format(table))[0] for table in tables()}


def compact(warehouse: Warehouse) -> None:
    """Rewrite the file of an open warehouse without deleted rows, and close it.

    Bytes of deleted rows stay in free blocks of a DuckDB file until these are reused. Raises
    BenchError if the disk is full; then the file is unchanged.
    """
    path = warehouse.path
    assert path is not None, "a warehouse in memory has no file"
    with _writable_draft_of(path) as draft, explained(path):
        con = warehouse.con
        con.execute(f"DROP SCHEMA IF EXISTS {STORED_VIEWS} CASCADE")
        quoted = str(draft).replace("'", "''")
        con.execute(f"ATTACH '{quoted}' AS fresh (STORAGE_VERSION '{STORAGE_VERSION}')")
        try:
            con.execute("COPY FROM DATABASE wh TO fresh")
            con.execute("CHECKPOINT fresh")
        finally:
            con.execute("DETACH fresh")
        con.execute("CHECKPOINT wh")
        _flush(draft)
        os.replace(draft, path)
        warehouse.close()


@repeated
def compact_at(db: Path, lock_timeout: float) -> None:
    """Merge a warehouse's files, or rewrite its only one; errors as above."""
    require_warehouse(db)
    if is_shared(db) and place_of(db).merge():
        return
    with open_write(db, lock_timeout, confined=False) as warehouse:
        complete = views_are_stored(warehouse)
        if not warehouse.replica:
            compact(warehouse)
        else:
            with transaction(warehouse, whole=True):
                pass
    if complete and not is_shared(db):
        with open_write(db, lock_timeout) as warehouse:
            store_views(warehouse)


@contextmanager
def _writable_draft_of(path: Path) -> Iterator[Path]:
    """A temporary file next to another; raises BenchError where it cannot be written."""
    sweep_drafts(path)  # each is as large as the warehouse
    try:
        with draft_of(path) as draft:
            yield draft
    except OSError as error:
        raise BenchError(f"cannot write {path}", why=error.strerror or str(error)) from error


def _copy(path: Path, draft: Path) -> None:
    """Copy a warehouse file with its write-ahead log. Raises BenchError if that is a link."""
    require_plain(path)
    shutil.copyfile(path, draft)
    log = logs_of(path)[0]
    if log.exists():
        shutil.copyfile(log, f"{draft}.wal")


@contextmanager
def _named(draft: Path, name: str) -> Iterator[None]:
    """Say what is wrong with a copy of the copy that a user named."""
    try:
        yield
    except Incompatible as error:
        error.what, error.hint = error.what.replace(str(draft), name), "name a backup"
        raise


def _sound(draft: Path, name: str) -> None:
    """Read a copy completely, and apply its write-ahead log."""
    with _named(draft, name):
        con = connect_file(draft, read_only=False, confined=True)
    try:
        with _named(draft, name):
            wrong = outdated(con, draft)  # before any query runs a view in place of a table
        with explained(draft):
            con.execute("DROP SCHEMA IF EXISTS replica CASCADE")  # a file is no replica
            con.execute("CHECKPOINT wh")
        found = check(Warehouse(con, draft), deep=True, views=not wrong)
    except duckdb.Error as error:
        raise BenchError(f"{name} is no warehouse", why=str(error).splitlines()[0]) from error
    finally:
        disconnect(con)
    damage = [problem for one in found for problem in one.problems if one.name != "views"]
    if damage:
        raise Incompatible(f"{name} is damaged", why=damage[0], hint="take another copy")
    _flush(draft)


def _put(draft: Path, to: Path) -> None:
    """Rename a draft, unless the name is taken."""
    try:
        os.link(draft, to)
    except FileExistsError:
        raise BenchError(f"{to} already exists", hint="choose another name") from None
    except OSError:  # a file system without hard links
        os.replace(draft, to)


def _set_aside(db: Path, lock_timeout: float) -> Path:
    """Move the present file to another name; its own name exists at every moment."""
    # A damaged file, or one of another version, is kept unchanged.
    with suppress(Incompatible), open_write(db, lock_timeout) as warehouse, explained(db):
        warehouse.con.execute("CHECKPOINT wh")
    number = 1
    while (kept := db.with_name(f"{db.name}.before-restore-{number}")).exists():
        number += 1
    log = Path(f"{db}.wal")
    if log.exists():  # else it would be applied to the restored file
        os.replace(log, f"{kept}.wal")
    try:
        os.link(db, kept)
    except OSError:
        shutil.copyfile(db, kept)
    return kept


def _flush(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


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
