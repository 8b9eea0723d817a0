"""A warehouse file (or memory): open, lock, bring up to date."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import duckdb

from .connect import confine, connect_file, connect_memory, disconnect, explained, require_plain
from .definitions import created_here, outdated, remake
from .errors import BenchError, Incompatible, Locked
from .location import is_shared, require_place
from .replica import open_replica
from .template import create_file, fill, stamp_applied
from .warehouse import Warehouse
from .write_logs import logs_of

LOCK_TIMEOUT_S = 5.0
_DRAFTS_KEPT_S = 3600.0


def in_memory() -> Warehouse:
    """A fresh warehouse in memory, with every table, view and metric in place."""
    con = connect_memory()
    fill(con)
    return Warehouse(con, None)


def open_read(
    path: Path, lock_timeout: float = LOCK_TIMEOUT_S, *, confined: bool = True
) -> Warehouse:
    """The warehouse at `path`, read-only. One of an older version, or with changed views, is
    brought up to date first; `remade` lists these.

    The creator of the file is unknown: `confined`, none of its views can read another file.
    Raises Locked while another process writes to it, Incompatible for a foreign, newer or damaged
    file, BenchError without one.
    """
    if is_shared(path):
        con, replica = open_replica(path, _store_views)
        if confined:
            confine(con, replica.file)
        return Warehouse(con, replica.file, read_only=True, confined=confined, replica=replica)
    require_warehouse(path)
    deadline = time.monotonic() + lock_timeout
    remade: list[str] = []
    while True:
        left = max(deadline - time.monotonic(), 0)
        con = connect_file(path, read_only=True, lock_timeout=left, confined=confined)
        if (wrong := outdated(con, path)) is None:
            warehouse = Warehouse(con, path, read_only=True, confined=confined)
            warehouse.remade = remade
            return warehouse
        remade += wrong
        disconnect(con)
        _upgrade(path, left, wrong)


def open_write(
    path: Path, lock_timeout: float = LOCK_TIMEOUT_S, *, confined: bool = True
) -> Warehouse:
    """The warehouse at `path`, created or brought up to date; keep it open only for a commit.

    It is `confined` as for reading, unless another file is to be attached. Raises Locked while
    another process has it open, Incompatible for a foreign, newer or damaged file, BenchError if
    its folder is missing or not writable.
    """
    if is_shared(path):
        con, replica = open_replica(path)
        return Warehouse(con, replica.file, replica=replica)
    require_folder(path)
    made = not path.exists() and _create(path)
    con = connect_file(path, read_only=False, lock_timeout=lock_timeout, confined=confined)
    current = outdated(con, path) is None
    if made or not current:
        try:
            with explained(path):
                stamp_applied(con) if current else remake(con, path)
        except BaseException:
            disconnect(con, reusable=False)
            raise
    return Warehouse(con, path, confined=confined)


def require_warehouse(path: Path) -> None:
    """Raises BenchError without a warehouse."""
    if is_shared(path):
        require_place(path)
    elif not path.exists():
        is_url = any(part.endswith(":") for part in path.parts)
        raise BenchError(
            f"no warehouse at {path}",
            hint="a warehouse elsewhere is folder:DIR or ducklake:CATALOG"
            if is_url
            else "bench ingest PATH... makes one; or name logs and tables: bench report FILE",
        )


def require_folder(path: Path) -> None:
    """Raises BenchError without a writable folder for a new warehouse at `path`."""
    if is_shared(path):
        require_place(path)
        return
    what = f"cannot make a warehouse at {path}"
    if not path.parent.is_dir():
        hint = f"mkdir -p {path.parent}"
        raise BenchError(what, why="its folder does not exist", hint=hint)
    if not os.access(path.parent, os.W_OK):
        hint = "choose another --db PATH"
        raise BenchError(what, why="its folder cannot be written to", hint=hint)


def _store_views(con: duckdb.DuckDBPyConnection, file: Path) -> None:
    """Bring the stored views of pages up to date, in a replica that is not small."""
    from .materialized import is_small
    from .stored_views import store_views

    warehouse = Warehouse(con, file)
    if not is_small(warehouse):
        store_views(warehouse)


def _upgrade(path: Path, lock_timeout: float, wrong: Sequence[str]) -> None:
    try:
        open_write(path, lock_timeout).close()
    except (Locked, Incompatible):
        raise
    except BenchError as error:
        made = f"was changed: {wrong[0]}" if wrong else "was made by another version of bench"
        raise Incompatible(
            f"{path} {made}; and it cannot be brought up to date",
            why=error.why or error.what,
            hint="copy it to a place that you may write to",
        ) from error


def _create(path: Path) -> bool:
    """Create the file under another name and link it: complete or absent.

    Returns whether it was created here. Raises BenchError for a write-ahead log without its file:
    DuckDB would replay it into the new one, whoever wrote it.
    """
    require_plain(path)
    for log in logs_of(path):
        if os.path.lexists(log) and not path.exists():
            raise BenchError(
                f"cannot make a warehouse at {path}",
                why=f"{log.name} is the log of a warehouse that is no longer there",
                hint=f"move {log.name} away, or choose another --db PATH",
            )
    sweep_drafts(path)
    made = create_file(path)
    if made:
        created_here(path, made)
    return bool(made)


def sweep_drafts(path: Path) -> None:
    """Remove drafts of killed processes."""
    for draft in path.parent.glob(f".{glob.escape(path.name)}.*.new*"):
        with suppress(OSError):
            if time.time() - draft.stat().st_mtime > _DRAFTS_KEPT_S:
                draft.unlink()
