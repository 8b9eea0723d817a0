"""The template database: an empty warehouse cached between processes.

Copying it takes a tenth of the time of binding its views, and its bytes a tenth of that. Its name
contains their digest: a damaged one is not copied.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import duckdb

from ..vocabulary.package_cache import cache_folder, read
from .connect import (
    STORAGE_VERSION,
    all_or_nothing,
    attach,
    connect_file,
    disconnect,
    draft_of,
    explained,
)
from .migrate import bring_up_to_date, definitions, now_utc

_OTHERS_KEPT_S = 30 * 86400.0  # templates of other versions


def fill(con: duckdb.DuckDBPyConnection) -> None:
    """Create every table, view and metric in the empty database `wh` of a connection.

    They are copied from the template of this version if it can be cached, else created. Raises as
    `bring_up_to_date`.
    """
    try:
        template = _kept()
    except (OSError, RuntimeError, duckdb.Error):  # no home, nothing writable: no cache
        template = None
    if template is None or not _copied(con, template):
        bring_up_to_date(con)


def make_file(path: Path) -> None:
    """The same in a new file. Raises as `connect_file` and `bring_up_to_date`."""
    try:
        content = _kept().read_bytes()
        with path.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except (OSError, RuntimeError, duckdb.Error):  # as above; DuckDB reports a full disk
        path.unlink(missing_ok=True)
        _write(path)


def stamp_applied(con: duckdb.DuckDBPyConnection) -> None:
    """Set the time of application of the copied tables in the database `wh` to now."""
    con.execute("UPDATE raw.applied SET applied_at = ?", [now_utc()])


def create_file(path: Path) -> str:
    """Create and fill a new warehouse file: complete or absent.

    Returns its device and inode, or "" if another process was first and nothing was done. Raises
    BenchError.
    """
    with draft_of(path) as draft:
        with explained(path):
            make_file(draft)
        # FileExistsError: another process was first. Else a file system without hard links: then
        # the file is created in place, safe from other processes, though not from kill -9.
        with suppress(OSError):
            made = draft.stat()
            os.link(draft, path)
            return f"{made.st_dev}:{made.st_ino}"
        return ""


def _copied(con: duckdb.DuckDBPyConnection, template: Path) -> bool:
    try:
        attach(con, template, "template", read_only=True)
        try:
            with all_or_nothing(con):
                con.execute("COPY FROM DATABASE template TO wh")
                stamp_applied(con)
        finally:
            con.execute("DETACH template")
    except duckdb.Error:  # truncated by a crash of the machine, mostly: recreated next time
        with suppress(OSError):
            template.unlink()
        return False
    return True


def _kept() -> Path:
    """The template of this version, created if there is no complete one."""
    folder = cache_folder()
    name = f"template-{version()}"
    for path in folder.glob(f"{name}-*.duckdb"):
        with suppress(PermissionError):
            if path.name == f"{name}-{_digest(path)}.duckdb":
                return path
        path.unlink()
    path = _make(folder, name)
    _sweep(path)
    return path


def _digest(path: Path) -> str:
    return hashlib.sha256(read(path)).hexdigest()[:32]


@cache
def version() -> str:
    """The key of a template's bytes."""
    text = "\n".join((duckdb.__version__, STORAGE_VERSION, *definitions()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _make(folder: Path, name: str) -> Path:
    """Create a template: complete or absent."""
    with draft_of(folder / name) as draft:
        _write(draft)
        draft.chmod(0o600)  # whatever the umask: what others may write is not read
        return draft.replace(folder / f"{name}-{_digest(draft)}.duckdb")


def _write(path: Path) -> None:
    con = connect_file(path, read_only=False)
    try:
        bring_up_to_date(con, path)
        con.execute("CHECKPOINT wh")
    finally:
        disconnect(con)


def _sweep(path: Path) -> None:
    """Remove old templates of other versions, and remains of killed processes."""
    # Earlier versions called them blanks.
    for other in (*path.parent.glob("*template-*"), *path.parent.glob("*blank-*")):
        with suppress(OSError):
            if other != path and time.time() - other.stat().st_mtime > _OTHERS_KEPT_S:
                other.unlink()
