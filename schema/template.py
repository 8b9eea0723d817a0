"""The template database, an empty warehouse kept between processes.

Copying it takes a tenth of the time of binding its views.
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


def create_file(path: Path) -> None:
    """A new warehouse file, filled, under its name: whole, or not there at all.

    Nothing is done where another process was first. Raises BenchError.
    """
    draft = path.with_name(f".{path.name}.{os.urandom(6).hex()}.new")
    try:
        con = connect_file(draft, read_only=False)
        try:
            with explained(path):
                fill(con, draft)
                con.execute("CHECKPOINT wh")
        finally:
            disconnect(con)
        # FileExistsError: another process was first. Else a file system without hard links: then
        # the file is made in place, which is safe from other processes, if not from kill -9.
        with suppress(OSError):
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
        Path(f"{draft}.wal").unlink(missing_ok=True)


def _copied(con: duckdb.DuckDBPyConnection, template: Path) -> bool:
    try:
        attach(con, template, "template", read_only=True)
        try:
            con.execute("BEGIN")
            con.execute("COPY FROM DATABASE template TO wh")
            con.execute("UPDATE raw.applied SET applied_at = ?", [now_utc()])
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
    """The template of this version, made if there is none."""
    from platformdirs import user_cache_path

    path = user_cache_path("bench", appauthor=False) / f"template-{version()}.duckdb"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        _make(path)
        _sweep(path)
    return path


@cache
def version() -> str:
    """What the bytes of a template depend on."""
    text = "\n".join((duckdb.__version__, STORAGE_VERSION, *definitions()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _make(path: Path) -> None:
    """Whole, or not there at all."""
    draft = path.with_name(f".{path.name}.{os.urandom(6).hex()}.new")
    try:
        con = connect_file(draft, read_only=False)
        try:
            bring_up_to_date(con, draft)
            con.execute("CHECKPOINT wh")
        finally:
            disconnect(con)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
        Path(f"{draft}.wal").unlink(missing_ok=True)


def _sweep(path: Path) -> None:
    """Remove templates that other versions made long ago, and what killed processes left."""
    # Earlier versions called them blanks.
    for other in (*path.parent.glob("*template-*"), *path.parent.glob("*blank-*")):
        with suppress(OSError):
            if other != path and time.time() - other.stat().st_mtime > _OTHERS_KEPT_S:
                other.unlink()
