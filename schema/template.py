"""The template database, an empty warehouse kept between processes.

Copying it takes a tenth of the time of binding its views, and its bytes a tenth of that. Its name
holds their digest: what was damaged is not copied.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import duckdb

from .connect import STORAGE_VERSION, attach, connect_file, disconnect, explained
from .migrate import bring_up_to_date, definitions, now_utc

_OTHERS_KEPT_S = 30 * 86400.0  # templates of other versions


def fill(con: duckdb.DuckDBPyConnection, path: Path | None = None) -> None:
    """Every table, view and metric in the empty database `wh` of a connection.

    They are copied from the template of this version where one can be kept, else made. Raises as
    `bring_up_to_date`.
    """
    try:
        template = _kept()
    except (OSError, RuntimeError, duckdb.Error):  # no home, nothing to write to: a cache is spared
        template = None
    if template is None or not _copied(con, template):
        bring_up_to_date(con, path)


def make_file(path: Path) -> None:
    """The same as a file that is not there yet. Raises as `connect_file` and `bring_up_to_date`."""
    try:
        content = _kept().read_bytes()
        with path.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except (OSError, RuntimeError, duckdb.Error):  # as above; a full disk is told by DuckDB
        path.unlink(missing_ok=True)
        _write(path)


def tell_time(con: duckdb.DuckDBPyConnection) -> None:
    """Note that what was copied into the database `wh` is applied now."""
    con.execute("UPDATE raw.applied SET applied_at = ?", [now_utc()])


def create_file(path: Path) -> str:
    """A new warehouse file, filled, under its name: whole, or not there at all.

    Gives its device and inode, "" where another process was first and nothing is done. Raises
    BenchError.
    """
    draft = path.with_name(f".{path.name}.{os.urandom(6).hex()}.new")
    try:
        with explained(path):
            make_file(draft)
        # FileExistsError: another process was first. Else a file system without hard links: then
        # the file is made in place, which is safe from other processes, if not from kill -9.
        with suppress(OSError):
            made = draft.stat()
            os.link(draft, path)
            return f"{made.st_dev}:{made.st_ino}"
        return ""
    finally:
        draft.unlink(missing_ok=True)
        Path(f"{draft}.wal").unlink(missing_ok=True)


def _copied(con: duckdb.DuckDBPyConnection, template: Path) -> bool:
    try:
        attach(con, template, "template", read_only=True)
        try:
            con.execute("BEGIN")
            con.execute("COPY FROM DATABASE template TO wh")
            tell_time(con)
            con.execute("COMMIT")
        except BaseException:  # Ctrl-C too, which DuckDB tells as a RuntimeError
            with suppress(duckdb.Error):
                con.execute("ROLLBACK")
            raise
        finally:
            con.execute("DETACH template")
    except duckdb.Error:  # cut short when the machine went down, mostly: it is made anew next time
        with suppress(OSError):
            template.unlink()
        return False
    return True


def _kept() -> Path:
    """The template of this version, made if there is none that is whole."""
    from platformdirs import user_cache_path

    folder = user_cache_path("bench", appauthor=False)
    name = f"template-{version()}"
    for path in folder.glob(f"{name}-*.duckdb"):
        if path.name == f"{name}-{_digest(path)}.duckdb":
            return path
        path.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    path = _make(folder, name)
    _sweep(path)
    return path


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:32]


@cache
def version() -> str:
    """What the bytes of a template depend on."""
    text = "\n".join((duckdb.__version__, STORAGE_VERSION, *definitions()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _make(folder: Path, name: str) -> Path:
    """Whole, or not there at all."""
    draft = folder / f".{name}.{os.urandom(6).hex()}.new"
    try:
        _write(draft)
        return draft.replace(folder / f"{name}-{_digest(draft)}.duckdb")
    finally:
        draft.unlink(missing_ok=True)
        Path(f"{draft}.wal").unlink(missing_ok=True)


def _write(path: Path) -> None:
    con = connect_file(path, read_only=False)
    try:
        bring_up_to_date(con, path)
        con.execute("CHECKPOINT wh")
    finally:
        disconnect(con)


def _sweep(path: Path) -> None:
    """Remove templates that other versions made long ago, and what killed processes left."""
    # Earlier versions called them blanks.
    for other in (*path.parent.glob("*template-*"), *path.parent.glob("*blank-*")):
        with suppress(OSError):
            if other != path and time.time() - other.stat().st_mtime > _OTHERS_KEPT_S:
                other.unlink()
