"""A warehouse file (or memory): open, lock, bring up to date."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb

from .connect import confine, connect_file, connect_memory, disconnect, explained
from .definitions import closed, outdated, remake
from .errors import BenchError, Incompatible, Locked
from .migrate import LAST_STORED, STORED_VIEWS
from .place import home_of, is_shared, require_place
from .replica import Replica, open_replica
from .template import create_file, fill, tell_time

LOCK_TIMEOUT_S = 5.0
# PIVOT is a CREATE and a SELECT, or MULTI, before it runs.
_READING = frozenset(("SELECT", "EXPLAIN", "CREATE", "MULTI"))
_DRAFTS_KEPT_S = 3600.0
_HASTENED = ("threads", "disabled_optimizers")  # settings, by `materialized`
Rows = list[tuple[Any, ...]]  # Any: whatever the query gives


class Warehouse:
    """An open warehouse; `con` has it attached as `wh` and in use.

    Get one from `open_read`, `open_write` or `in_memory`, and close it (or use `with`): the file
    is locked as long as it is open.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        path: Path | None,
        *,
        read_only: bool = False,
        confined: bool = False,
        replica: Replica | None = None,
    ) -> None:
        self.con = con
        self.path = path
        self.replica = replica  # of the shared place that the file stands for, if any
        self.read_only = read_only
        self.confined = confined  # to its file, which cannot be undone
        self.remade: list[str] = []  # what was not ours in the file when it was opened, in words
        self.sealed = False
        self.changed = False  # in what outlives the connection: its settings, perhaps
        self.materialized: list[str] = []  # views computed once, kept
        self.hastened = False  # its instance plans queries as those of a small one
        self.small: bool | None = None  # None: not counted since the last write
        self.stores_views: bool | None = None  # None: not looked for since the last write

    @property
    def home(self) -> Path:
        """The folder that paths of sources begin at."""
        if self.replica:
            return self.replica.home
        return home_of(self.path) if self.path else Path.cwd()

    def table(
        self, query: str, parameters: object = None
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Column names and all rows of a query.

        Raises duckdb.Error for a wrong query, BenchError for a damaged file or too little memory,
        and once sealed for anything but reading.
        """
        self._check(query)
        with explained(self.path):
            cursor = self.con.execute(query, parameters)
            columns = [column[0] for column in cursor.description or []]
            return columns, cursor.fetchall() if columns else []

    def rows(self, query: str, parameters: object = None) -> Rows:
        """All rows of a query; errors as those of `table`."""
        return self.table(query, parameters)[1]

    def dicts(self, query: str, parameters: object = None) -> list[dict[str, Any]]:
        """All rows of a query, each as column name -> value; errors as those of `table`."""
        columns, rows = self.table(query, parameters)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def execute(self, query: str, parameters: object = None) -> duckdb.DuckDBPyConnection:
        """The answer to a statement of a user, which may change settings; errors as of `table`."""
        self.changed |= any(_kind(one) != "SELECT" for one in self.con.extract_statements(query))
        with explained(self.path):
            return self.con.execute(query, parameters)

    def seal(self) -> None:
        """From here on no query can reach files, the network or settings, and `rows` only reads.

        A refused statement raises duckdb.Error or BenchError.
        """
        confine(self.con, self.path)
        self.con.execute("SET lock_configuration = true")
        self.sealed = True

    def confine(self) -> None:
        """From here on a file reaches no other file: its views may be a stranger's."""
        if self.path and not self.confined:
            confine(self.con, self.path)
            self.confined = True

    def release(self, but: Collection[str] = ()) -> None:
        """Drop what views hold, `but` for some: the others show again what is stored."""
        kept = [view for view in self.materialized if view in but]
        if not kept:
            self._run_as_usual()
        for view in self.materialized:
            if view not in kept:
                self.con.execute(f"DROP TABLE temp.main.{view}")
        self.materialized = kept

    def _run_as_usual(self) -> None:
        if self.hastened:
            for name in _HASTENED:  # of the instance, which serves others too
                self.con.execute(f"RESET {name}")
            self.hastened = False

    def close(self) -> None:
        reusable = not self.sealed and not self.changed
        if reusable:
            try:
                self._run_as_usual()
            except duckdb.Error:  # after a fatal error nothing runs: no other gets the instance
                reusable = False
        disconnect(self.con, reusable=reusable)
        if self.path and not self.read_only and not self.replica:
            closed(self.path)

    def __enter__(self) -> Warehouse:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _check(self, query: str) -> None:
        if not self.sealed:
            return
        for statement in self.con.extract_statements(query):
            if (kind := _kind(statement)) not in _READING:
                raise BenchError(
                    f"a query may only read, this one is {kind}",
                    hint="SELECT, FROM, DESCRIBE, SUMMARIZE, PIVOT or EXPLAIN",
                )


def _kind(statement: duckdb.Statement) -> str:
    try:
        return str(statement.type.name)
    except ValueError:  # DuckDB 2.0 knows statements that its Python client has no name for
        return "another kind"


def in_memory() -> Warehouse:
    """A fresh warehouse in memory, with every table, view and metric in place."""
    con = connect_memory()
    fill(con)
    return Warehouse(con, None)


def open_read(
    path: Path, lock_timeout: float = LOCK_TIMEOUT_S, *, confined: bool = True
) -> Warehouse:
    """The warehouse at `path`, read-only; one of an older version is brought up to date first, as
    is one whose views were changed: `remade` tells them.

    Who made the file is not known: `confined`, none of its views can read another file.
    Raises Locked while another process writes to it, Incompatible for a foreign, newer or damaged
    file, BenchError when there is none.
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
    """The warehouse at `path`, made or brought up to date; keep it open only for a commit.

    It is `confined` as one that is read, but for who has it attach another file. Raises Locked
    while another process has it open, Incompatible for a foreign, newer or damaged file,
    BenchError when its folder is not there or not writable.
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
                tell_time(con) if current else remake(con, path)
        except BaseException:
            disconnect(con, reusable=False)
            raise
    return Warehouse(con, path, confined=confined)


def require_warehouse(path: Path) -> None:
    """Raises BenchError when there is none."""
    if is_shared(path):
        require_place(path)
    elif not path.exists():
        raise BenchError(
            f"no warehouse at {path}",
            hint="bench ingest PATH... makes one; or name logs and tables: bench report FILE",
        )


def require_folder(path: Path) -> None:
    """Raises BenchError when there is no folder to make the warehouse `path` in, or to write to."""
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


@contextmanager
def transaction(
    warehouse: Warehouse,
    spared: Collection[str] = (),
    *,
    aside: bool = False,
    whole: bool = False,
) -> Iterator[None]:
    """All of it or nothing; materialized views that do not depend on what is written are `spared`.

    What tells that the views stored in the file are up to date is dropped first, since none may be
    older than what it shows; not for what stands `aside`, which none of them reads. In a shared
    place it is one commit, which a `whole` one makes of all rows, as it has to where any are
    deleted. Raises BenchError when the disk is full or the file damaged, Overtaken when others have
    committed since the warehouse was opened.
    """
    con = warehouse.con
    with explained(warehouse.path):
        warehouse.release(spared)
        warehouse.small = warehouse.stores_views = None
        con.execute("BEGIN")
        try:
            if not aside:
                con.execute(f"DROP TABLE IF EXISTS {STORED_VIEWS}.{LAST_STORED}")
            yield
            if warehouse.replica:
                warehouse.replica.publish(con, whole=whole)
            con.execute("COMMIT")
        except BaseException:
            with suppress(duckdb.Error):  # a failed COMMIT has rolled back already
                con.execute("ROLLBACK")
            raise


def _store_views(con: duckdb.DuckDBPyConnection, file: Path) -> None:
    """What pages read of a replica that is not small, brought up to date."""
    from .materialized import is_small
    from .stored import store_views

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
    """Make the file under another name and link it into place: whole, or not there at all.

    Gives whether it was made here.
    """
    _sweep_drafts(path)
    return create_file(path)


def _sweep_drafts(path: Path) -> None:
    """Remove what a killed process left of its draft."""
    for draft in path.parent.glob(f".{path.name}.*.new*"):
        with suppress(OSError):
            if time.time() - draft.stat().st_mtime > _DRAFTS_KEPT_S:
                draft.unlink()
