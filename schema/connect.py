"""Connections with the warehouse attached as `wh`, and translated errors."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

import duckdb

from .errors import BenchError, Incompatible, Locked
from .lock_queue import QueueTurn, pause
from .write_logs import logs_of

STORAGE_VERSION = "v1.5.0"  # DuckDB 1.5 and 2.x both open it
# Starting an instance takes 30 ms, as long as ten queries: free ones are kept for the next
# warehouse. By process, since a forked one has none of the threads of its parent's instances.
_free: dict[int, list[_Instance]] = {}
_KEPT = 4  # free instances confined to one file: no other warehouse can use them
_instances: WeakKeyDictionary[duckdb.DuckDBPyConnection, _Instance] = WeakKeyDictionary()
_DAMAGE = (
    duckdb.IOException,
    duckdb.SerializationException,
    duckdb.InternalException,
    duckdb.FatalException,
)


@dataclass(slots=True)
class _Instance:
    """An instance of DuckDB: a connection that keeps it alive, and its folder for spilled data."""

    keeper: duckdb.DuckDBPyConnection
    spill: str
    only: str = ""  # the file that it is confined to, permanently


def connect(only: str = "") -> duckdb.DuckDBPyConnection:
    """A connection that fetches no extensions and sees no Python variables as tables.

    It may reach `only` the file that it was confined to before. It is the only one to its instance
    of DuckDB; close it with `disconnect`.
    """
    free = _free.setdefault(os.getpid(), [])
    fitting = [one for one in free if one.only in ("", only)]
    instance = max(fitting, key=lambda one: one.only) if fitting else _start()
    if fitting:
        free.remove(instance)
    con = instance.keeper.cursor()
    _instances[con] = instance
    con.execute("SET enable_progress_bar = false")
    return con


def disconnect(con: duckdb.DuckDBPyConnection, *, reusable: bool = True) -> None:
    """Close a connection; its instance is reused, unless its settings have been changed.

    Temporary tables, registered tables, variables and transactions end with the connection.
    """
    con.close()
    instance = _instances.pop(con, None)
    if instance is None:  # closed before
        return
    try:
        instance.keeper.execute("DETACH DATABASE IF EXISTS wh")
    except duckdb.Error:  # the disk is full, the file is damaged
        reusable = False
    # Spilled data is removed with the instance.
    if not reusable or os.path.exists(instance.spill):
        instance.keeper.close()
        return
    free = _free.setdefault(os.getpid(), [])
    free.append(instance)
    for one in [one for one in free if one.only][:-_KEPT]:
        free.remove(one)
        one.keeper.close()


@contextmanager
def outside_cursor(con: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """Another cursor, outside of the file in use: it looks up no name there. A macro of a file in
    use stands for DuckDB's function of its name, also for those that list macros."""
    with closing(con.cursor()) as cursor:
        yield cursor


def _start() -> _Instance:
    # A name that cannot be guessed.
    spill = os.path.join(tempfile.gettempdir(), f"bench-spill-{os.urandom(8).hex()}")
    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
        "temp_directory": spill,
    }
    keeper = duckdb.connect(config=settings)
    # Detaching may take seconds. A notebook without ipywidgets has no bar, and refuses the setting.
    with suppress(duckdb.InvalidInputException):
        keeper.execute("SET enable_progress_bar = false")
    return _Instance(keeper, spill)


def connect_memory() -> duckdb.DuckDBPyConnection:
    """A connection with an empty database in memory as `wh`, in use."""
    con = connect()
    con.execute("ATTACH ':memory:' AS wh")
    con.execute("USE wh")
    return con


def connect_file(
    path: Path, *, read_only: bool, lock_timeout: float = 0, confined: bool = False
) -> duckdb.DuckDBPyConnection:
    """A connection with the file attached as `wh`, in use; waits `lock_timeout` seconds for it.

    It may be `confined` to the file, as by `confine`. Raises Locked, Incompatible for a foreign
    file or one of a newer DuckDB, else BenchError.
    """
    _refuse(path)
    deadline = time.monotonic() + lock_timeout
    with QueueTurn(path) as turn:
        while True:
            if read_only:
                turn.yield_to_writer(deadline - time.monotonic())
            try:
                con = _connect_file(path, read_only, confined)
            except Locked:
                if time.monotonic() >= deadline:
                    raise
            else:
                if con:
                    return con
                continue
            if not read_only:
                turn.claim()
            pause()


def _connect_file(path: Path, read_only: bool, confined: bool) -> duckdb.DuckDBPyConnection | None:
    """The connection; None if another process replaced the file meanwhile."""
    con = connect(_name(path) if confined else "")
    try:
        before = _identity(path)
        attach(con, path, "wh", read_only=read_only)
        con.execute("USE wh")
        if before not in (None, _identity(path)):
            disconnect(con)
            return None
        if confined:
            confine(con, path)
        return con
    except duckdb.Error as error:
        disconnect(con)
        raise explain(error, path) from error
    except BaseException:
        disconnect(con, reusable=False)
        raise


def attach(con: duckdb.DuckDBPyConnection, path: Path, name: str, *, read_only: bool) -> None:
    """Attach a file under a name, created if it is writable. Raises duckdb.Error."""
    quoted = str(path).replace("'", "''")
    option = ""
    if read_only:
        option = ", READ_ONLY"
    elif not path.exists():
        option = f", STORAGE_VERSION '{STORAGE_VERSION}'"
    con.execute(f"ATTACH '{quoted}' AS {name} (TYPE duckdb{option})")


def confine(con: duckdb.DuckDBPyConnection, path: Path | None = None) -> None:
    """Confine a connection to `path`, which is attached: no other file, extension or network.

    Its instance is confined too, and cannot serve another file.
    """
    if not _instances[con].only:
        con.execute("SET enable_external_access = false")
        _instances[con].only = _name(path) if path else ":memory:"


@contextmanager
def explained(path: Path | None) -> Iterator[None]:
    """Translate errors of damaged or forbidden files, a full disk or too little memory to
    BenchError.

    Errors of a query itself (duckdb.ParserException, ...) pass.
    """
    try:
        yield
    except duckdb.Error as error:
        _refuse_no_text(error)
        if _is_damage(error) or _is_out_of_resources(error) or _is_outside(error):
            raise explain(error, path) from error
        raise
    except RuntimeError as error:  # of DuckDB 1.5
        _refuse_no_text(error)
        raise


def _refuse_no_text(error: Exception) -> None:
    """Raises BenchError if a parameter was a text with a lone surrogate, as of a broken name."""
    if re.search(
        "cannot encode str|Unable to cast Python instance of type <class 'str'>", str(error)
    ):
        raise BenchError(
            "a word of the command is no UTF-8", why="texts in a warehouse are",
            hint="name a run by its id, a source as bench runs prints it",
        ) from error  # fmt: skip


def explain(error: duckdb.Error, path: Path | None) -> BenchError:
    """The translated error."""
    text = str(error)
    first = text.splitlines()[0] if text else type(error).__name__
    name = f"the warehouse {path}" if path else "the warehouse in memory"
    if "Could not set lock" in text or "Conflicting lock" in text:
        pid = re.search(r"PID (\d+)", text)
        holder = f"process {pid[1]} has it open" if pid else "another process has it open"
        return Locked(
            f"{name} is locked", why=holder, hint="wait for it, or --lock-timeout SECONDS"
        )
    if "Unique file handle conflict" in text or "different configuration" in text:
        return Locked(f"{name} is locked", why="this process has it open", hint="close it first")
    if "version number" in text:
        hint = "pip install --upgrade duckdb"
        return Incompatible(f"{path} was written by a newer DuckDB", why=first, hint=hint)
    if "not a valid DuckDB" in text:
        why = "it is not a DuckDB file"
        return Incompatible(f"{path} is not a warehouse", why=why, hint="choose another --db PATH")
    if _is_out_of_resources(error):
        return BenchError(f"{name}: out of memory or disk space", why=first, hint="free some of it")
    if any(word in text for word in ("Permission denied", "Read-only file system")):
        hint = "check its permissions and those of its folder"
        return BenchError(f"cannot open {name}", why=first, hint=hint)
    if _is_outside(error):
        hint = "only its own tables can be read; if a view of it failed, ingest again"
        return BenchError(f"the query failed: it reaches outside {name}", why=first, hint=hint)
    if _is_damage(error):
        hint = "restore a copy, or ingest again into a new --db PATH"
        return Incompatible(f"{name} is damaged or cut short", why=first, hint=hint)
    return BenchError(f"cannot open {name}", why=first)


def _is_out_of_resources(error: duckdb.Error) -> bool:
    """Whether memory or disk space is exhausted."""
    full = re.search(r"No space left|Disk quota exceeded|File too large", str(error))
    return isinstance(error, duckdb.OutOfMemoryException) or full is not None


def _is_outside(error: duckdb.Error) -> bool:
    """Whether a query tried to reach outside of a confined connection."""
    return isinstance(error, duckdb.PermissionException)


def _is_damage(error: duckdb.Error) -> bool:
    # DuckDB 2 has no error class for a wrong checksum of a block.
    words = ("Corrupt database file", "Failure while replaying WAL")
    return isinstance(error, _DAMAGE) or str(error).startswith(words) or words[1] in str(error)


def _name(path: Path) -> str:
    """A path's name in DuckDB, which compares the texts."""
    return f"{path.absolute()}\0{path}"


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of a path; None without a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def require_plain(path: Path) -> None:
    """Raises BenchError for a warehouse that is no file, or whose write-ahead log is a link.

    DuckDB would wait for a pipe, and write through the link into a file chosen by its creator.
    """
    for file in (path, *logs_of(path)):
        is_link = file != path and file.is_symlink()
        if is_link or (file.exists() and not file.is_file()):
            what = "a link" if is_link else "not a regular file"
            raise BenchError(f"{file} is {what}", hint="look at it; choose another --db PATH")


def _refuse(path: Path) -> None:
    if path.is_dir():
        raise BenchError(f"{path} is a folder", hint=f"name a file: --db {path / 'bench.duckdb'}")
    require_plain(path)
    if path.is_symlink() and not path.exists():
        raise BenchError(f"{path} is a link to a file that is not there", hint="name that file")
    if path.exists() and path.stat().st_size == 0:
        why = "an empty file is no warehouse"
        raise Incompatible(
            f"{path} is empty", why=why, hint=f"rm {path}, or choose another --db PATH"
        )


@contextmanager
def all_or_nothing(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """One transaction of a connection; rolled back after any exception, which is raised on."""
    con.execute("BEGIN")
    try:
        yield
        con.execute("COMMIT")
    except BaseException:  # Ctrl-C too, which DuckDB raises as a RuntimeError
        with suppress(duckdb.Error):  # a failed COMMIT has rolled back already
            con.execute("ROLLBACK")
        raise


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """The name of a temporary file next to another, to be renamed once complete; removed at the
    end, with its write-ahead log."""
    draft = path.with_name(f".{path.name}.{os.urandom(6).hex()}.new")
    try:
        yield draft
    finally:
        for left in (draft, Path(f"{draft}.wal")):
            left.unlink(missing_ok=True)
