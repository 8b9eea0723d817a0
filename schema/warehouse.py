"""An open warehouse: its rows, its confinement, transactions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from .connect import all_or_nothing, confine, disconnect, explained
from .definitions import made_here
from .errors import BenchError
from .location import home_of
from .migrate import doubt_stored_views
from .replica import Replica

# PIVOT is parsed as a CREATE and a SELECT, or MULTI, before it runs.
_READING = frozenset(("SELECT", "EXPLAIN", "CREATE", "MULTI"))
_HASTENED = ("threads", "disabled_optimizers")  # settings changed by `materialized`
Row = Mapping[str, Any]  # of a query, by column; Any: values of any query
Rows = list[tuple[Any, ...]]


class Warehouse:
    """An open warehouse; `con` has it attached as `wh` and in use.

    Get one from `opening.py`, and close it (or use `with`): the file is locked as long as it is
    open.
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
        self.replica = replica  # of a shared place, or None
        self.read_only = read_only
        self.confined = confined  # to its file, which is permanent
        self.remade: list[str] = []  # foreign definitions in the file when it was opened
        self.sealed = False
        self.changed = False  # in settings or other state that outlives the transaction
        self.materialized: list[str] = []  # views computed once, kept
        self.hastened = False  # its instance plans queries as for a small one
        self.small: bool | None = None  # None: not counted since the last write
        self.stored: tuple[str, ...] | None = None  # views; None: not checked since the last write
        self.original: Path | None = None  # what this is a temporary copy of
        self.scratch: TemporaryDirectory[str] | None = None  # that holds the copy

    @property
    def home(self) -> Path:
        """The folder that paths of sources are relative to."""
        if self.replica:
            return self.replica.home
        path = self.original or self.path
        return home_of(path) if path else Path.cwd()

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
        """Run a user's statement, which may change settings; errors as of `table`."""
        self.changed |= any(_kind(one) != "SELECT" for one in self.con.extract_statements(query))
        with explained(self.path):
            return self.con.execute(query, parameters)

    def seal(self) -> None:
        """Block files, the network and settings for all queries; `rows` only reads from here on.

        A refused statement raises duckdb.Error or BenchError.
        """
        confine(self.con, self.path)
        self.con.execute("SET lock_configuration = true")
        self.sealed = True

    def confine(self) -> None:
        """Confine a file to itself: its views may be untrusted."""
        if self.path and not self.confined:
            confine(self.con, self.path)
            self.confined = True

    def release(self, but: Collection[str] = ()) -> None:
        """Drop materialized views, `but` for some: these show the stored rows again."""
        kept = [view for view in self.materialized if view in but]
        if not kept:
            self._run_as_usual()
        for view in self.materialized:
            if view not in kept:
                self.con.execute(f"DROP TABLE temp.main.{view}")
        self.materialized = kept

    def _run_as_usual(self) -> None:
        if self.hastened:
            for name in _HASTENED:  # of the instance, which is shared
                self.con.execute(f"RESET {name}")
            self.hastened = False

    def close(self) -> None:
        reusable = not self.sealed and not self.changed
        if reusable:
            try:
                self._run_as_usual()
            except duckdb.Error:  # after a fatal error nothing runs: the instance is not reused
                reusable = False
        disconnect(self.con, reusable=reusable)
        if self.path and not self.read_only and not self.replica:
            made_here(self.path)
        if self.scratch:
            self.scratch.cleanup()

    def __enter__(self) -> Warehouse:
        return self

    def __exit__(self, *_: object) -> None:
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
    except ValueError:  # DuckDB 2.0 has statements without a name in its Python client
        return "another kind"


@contextmanager
def transaction(
    warehouse: Warehouse, spared: Collection[str] = (), *, aside: bool = False, whole: bool = False
) -> Iterator[None]:
    """All or nothing; materialized views that do not depend on the written tables are `spared`.

    The marker that the views stored in the file are up to date is dropped first, since none may be
    older than its inputs; not for tables `aside`, which none of them reads. In a shared place it is
    one commit; a `whole` one has all rows, which deletions require. Raises BenchError if the disk
    is full or the file damaged, CommitConflict if others have committed since the warehouse was
    opened.
    """
    con = warehouse.con
    with explained(warehouse.path):
        warehouse.release(spared)
        warehouse.small = warehouse.stored = None
        with all_or_nothing(con):
            if not aside:
                doubt_stored_views(con)
            yield
            if warehouse.replica:
                warehouse.replica.publish(con, whole=whole)
