"""Databases with the catalog of a lake: a file of DuckDB or SQLite, or PostgreSQL.

The newest snapshot is queried from the database itself, in a table of DuckLake's format 1.0:
loading DuckLake takes half a second, and attaching a lake a hundred statements.
"""

from __future__ import annotations

import fcntl
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import duckdb

from .commits import Retry, repeated
from .connect import connect_file, disconnect, outside_cursor, require_plain
from .errors import BenchError, Locked
from .lake_files import RunQuery, require_bucket, require_own, require_tables

if TYPE_CHECKING:
    import psycopg

_STATE = """SELECT (SELECT max(snapshot_id) FROM ducklake_snapshot),
                   (SELECT value FROM ducklake_metadata WHERE key = 'data_path'),
                   (SELECT schema_uuid FROM ducklake_schema WHERE schema_id = 0 LIMIT 1)"""
_PATIENCE_S = 60.0
_GUARD = 0x62656E6368  # of PostgreSQL's advisory locks, by database
_LOST = (
    "connection to server", "could not receive", "could not send", "closed the connection",
    "terminating connection", "connection is closed", "connection is lost", "starting up",
    "shutting down", "shutdown", "failed to fetch", "HTTP code 5", "HTTP 5", "Timeout",
    "Current transaction is aborted",  # the only error for later statements of the transaction
)  # fmt: skip
_reached: set[str] = set()  # catalogs reached by this process


class State(NamedTuple):
    """The newest snapshot of a lake, the place of its Parquet files, and the id of its schema."""

    newest: int
    data: str
    identity: str


class Catalog(Protocol):
    """A database with the catalog of a lake; methods raise BenchError, Retry for a lost
    connection."""

    @property
    def address(self) -> str:
        """Its name behind `ducklake:`."""

    @property
    def scanner(self) -> str | None:
        """The DuckDB extension that reads it."""

    @property
    def folder(self) -> Path | None:
        """The folder of its file."""

    def __hash__(self) -> int:
        """The hash of its name."""

    def state(self) -> State | None:
        """The state; None without a lake."""

    def opened(self, *, new: bool) -> AbstractContextManager[None]:
        """A context in which DuckDB has it attached."""

    def guarded(self) -> AbstractContextManager[Callable[[], None]]:
        """A context without commits of others; yields a check that raises if the lock was lost."""


def catalog_of(kind: str, name: str) -> Catalog:
    """The catalog of a kind: `duckdb`, `sqlite` (a file) or `postgres` (a libpq connection
    string)."""
    return Postgres(name) if kind == "postgres" else File(kind, name)


@dataclass(frozen=True, slots=True)
class File:
    """A local file with a lock file: one process uses it at a time."""

    kind: str
    path: str

    @property
    def address(self) -> str:
        return self.path if self.kind == "duckdb" else f"{self.kind}:{self.path}"

    @property
    def scanner(self) -> str | None:
        return None if self.kind == "duckdb" else "sqlite_scanner"

    @property
    def folder(self) -> Path | None:
        return Path(os.path.abspath(self.path)).parent

    def state(self) -> State | None:
        if not os.path.exists(self.path):
            return None
        with self.opened(new=False), translated_errors(self.path):
            return self._sqlite() if self.kind == "sqlite" else self._duckdb()

    def opened(self, *, new: bool) -> AbstractContextManager[None]:
        require_plain(Path(self.path))
        return _locked(Path(f"{self.path}.lock"), os.O_CREAT if new else 0)

    def guarded(self) -> AbstractContextManager[Callable[[], None]]:
        return nullcontext(lambda: None)

    def _sqlite(self) -> State | None:
        with closing(sqlite3.connect(f"{Path(self.path).as_uri()}?mode=ro", uri=True)) as con:
            try:
                require_tables(lambda query: con.execute(query).fetchall(), self.kind)
                return _state(lambda query: con.execute(query).fetchall())
            except sqlite3.OperationalError as error:
                if "no such table" in str(error):
                    return None
                raise

    def _duckdb(self) -> State | None:
        con = connect_file(Path(self.path), read_only=True, confined=True)
        try:
            with outside_cursor(con) as cursor:
                require_tables(lambda query: cursor.execute(query).fetchall(), self.kind)
            return _state(lambda query: con.execute(query).fetchall())
        except duckdb.CatalogException:
            return None
        finally:
            disconnect(con)


@dataclass(frozen=True, slots=True)
class Postgres:
    """A PostgreSQL database by its connection string; the password is in ~/.pgpass or
    PGPASSWORD."""

    conninfo: str

    @property
    def address(self) -> str:
        return f"postgres:{self.conninfo}"

    @property
    def scanner(self) -> str | None:
        return "postgres_scanner"

    @property
    def folder(self) -> Path | None:
        return None

    @repeated
    def state(self) -> State | None:
        errors = _psycopg().errors
        with self._connected() as con:
            try:
                return _state(lambda query: con.execute(query).fetchall())
            except errors.UndefinedTable:
                return None

    def opened(self, *, new: bool) -> AbstractContextManager[None]:
        return nullcontext()

    @contextmanager
    def guarded(self) -> Iterator[Callable[[], None]]:
        with self._connected() as con:
            con.execute(f"SET lock_timeout = '{_PATIENCE_S:.0f}s'")
            con.execute(f"SELECT pg_advisory_xact_lock({_GUARD})")
            yield lambda: con.execute("SELECT 1") and None

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:  # Any: rows of any query
        connect = _psycopg().connect
        with translated_errors(self.conninfo), connect(self.conninfo, connect_timeout=10) as con:
            _reached.add(self.conninfo)
            yield con


def _psycopg() -> ModuleType:
    """The client of PostgreSQL. Raises BenchError without the extra that installs it."""
    try:
        return import_module("psycopg")
    except ImportError as error:
        raise BenchError(
            "a catalog in PostgreSQL needs psycopg", why=str(error),
            hint="pip install 'bench-warehouse[lake]'",
        ) from error  # fmt: skip


@contextmanager
def translated_errors(catalog: str) -> Iterator[None]:
    """Translate database errors, which may repeat the connection string with its password.

    A lost connection raises Retry: the ledger shows what was stored.
    """
    import sys

    failed: tuple[type[Exception], ...] = (duckdb.Error, sqlite3.Error)
    if psycopg := sys.modules.get("psycopg"):
        failed = (*failed, psycopg.Error)
    try:
        yield
    except failed as error:
        why = error_text(str(error), catalog)
        again = catalog in _reached and any(word in str(error) for word in _LOST)
        raise (Retry if again else BenchError)(
            "the lake failed", why=why, hint=_hint(str(error))
        ) from None


def error_text(text: str, catalog: str) -> str:
    """PostgreSQL's message, else the first line; without the connection string."""
    if answer := re.search(r"\bERROR: +(.+)", text):
        return answer[1].replace(catalog, "...")
    line = (text.splitlines() or ["no reason given"])[0]
    if "Unable to connect to Postgres" in line:  # DuckDB adds the contents of its secrets
        _, found, line = line.rpartition('": ')
        line = line if found else "PostgreSQL cannot be reached"
    return line.replace(catalog, "...")


def _hint(text: str) -> str:
    if "ermission denied" in text:
        return "ask who owns the lake for the right to its catalog and its files"
    if "HTTP" in text:
        return "check the bucket, and the keys and the address of S3 in the environment (AWS_...)"
    return "check that its server, catalog and files can be reached; bench db check"


def quoted(text: str) -> str:
    """A text escaped for SQL quotes."""
    return text.replace("'", "''")


def _state(run_query: RunQuery) -> State | None:
    """Raises Incompatible for a catalog with foreign tables or files."""
    [(newest, data, identity)] = run_query(_STATE)
    if newest is None:
        return None
    require_own(run_query)
    require_bucket(str(data))
    if newest == 0:  # DuckLake's own: whoever was creating our tables was interrupted
        return None
    return State(int(newest), str(data), str(identity))


@contextmanager
def _locked(path: Path, more: int) -> Iterator[None]:
    """Lock a regular file; the lock ends with its process, however it ends."""
    deadline = time.monotonic() + _PATIENCE_S
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | more, 0o666)
    except OSError as error:
        raise BenchError(f"cannot open {path}", why=error.strerror or str(error)) from error
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
