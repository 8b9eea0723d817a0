"""Instances of DuckDB with extensions: from their wheels, with what the environment says of S3."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import duckdb

from .catalogs import quoted
from .connect import connect
from .errors import BenchError

_free: dict[tuple[int, tuple[str, ...]], list[duckdb.DuckDBPyConnection]] = {}  # by process


@contextmanager
def instance(extensions: tuple[str, ...]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with extensions, which take half a second to load; `wh` is free in it."""
    free = _free.setdefault((os.getpid(), extensions), [])
    keeper = free.pop() if free else _started(extensions)
    con = keeper.cursor()
    con.execute("SET enable_progress_bar = false")
    try:
        yield con
    finally:
        if _ended(con, keeper):
            free.append(keeper)
        else:
            keeper.close()


def _ended(con: duckdb.DuckDBPyConnection, keeper: duckdb.DuckDBPyConnection) -> bool:
    """What was begun is rolled back, and `wh` let go; False if a server is not there for that."""
    try:
        with suppress(duckdb.TransactionException):  # nothing was begun
            con.execute("ROLLBACK")  # one that fails only when it closes would end the process
        con.close()
        keeper.execute("DETACH DATABASE IF EXISTS wh")
    except duckdb.Error:
        return False
    return True


def load(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """An extension from its wheel, where there is one of this DuckDB; else one installed before.

    Raises BenchError where there is neither.
    """
    found = importlib.util.find_spec(f"duckdb_extension_{name}")
    folder = Path(found.origin).parent if found and found.origin else Path()
    file = folder / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
    try:
        con.execute(f"LOAD '{quoted(str(file))}'" if file.is_file() else f"LOAD {name}")
    except duckdb.Error as error:
        raise BenchError(
            f"a lake needs DuckDB's extension {name}",
            why=f"there is none for DuckDB {duckdb.__version__} here",
            hint="pip install 'bench-warehouse[lake]', which brings DuckDB 1.5.5 along",
        ) from error


def _started(extensions: tuple[str, ...]) -> duckdb.DuckDBPyConnection:
    con = connect()
    for extension in extensions:
        load(con, extension)
    if "httpfs" in extensions:
        _use_environment(con)
    return con


def _use_environment(con: duckdb.DuckDBPyConnection) -> None:
    """The keys of S3 by the names that AWS's tools have for them; else secrets kept by DuckDB."""
    said = os.environ.get
    url = urlsplit(said("AWS_ENDPOINT_URL_S3") or said("AWS_ENDPOINT_URL") or "")
    words = {
        "KEY_ID": said("AWS_ACCESS_KEY_ID"), "SECRET": said("AWS_SECRET_ACCESS_KEY"),
        "SESSION_TOKEN": said("AWS_SESSION_TOKEN"),
        "REGION": said("AWS_REGION") or said("AWS_DEFAULT_REGION"),
        "ENDPOINT": url.netloc or None, "URL_STYLE": "path" if url.netloc else None,
        "USE_SSL": "false" if url.scheme == "http" else None,
    }  # fmt: skip
    if words["KEY_ID"]:
        told = ", ".join(f"{name} '{quoted(word)}'" for name, word in words.items() if word)
        try:
            con.execute(f"CREATE SECRET bench_s3 (TYPE s3, {told})")
        except duckdb.Error:  # it repeats the statement
            raise BenchError("the keys of S3 in the environment are not taken") from None
