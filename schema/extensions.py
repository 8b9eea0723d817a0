"""Instances of DuckDB with extensions from wheels, and S3 settings from the environment."""

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
    """Roll back and detach `wh`; False if a server is unreachable for that."""
    try:
        with suppress(duckdb.TransactionException):  # no transaction
            con.execute("ROLLBACK")  # a rollback that fails at closing would end the process
        con.close()
        keeper.execute("DETACH DATABASE IF EXISTS wh")
    except duckdb.Error:
        return False
    return True


def load(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Load an extension from its wheel for this DuckDB; else one installed before.

    Raises BenchError without either.
    """
    module_spec = importlib.util.find_spec(f"duckdb_extension_{name}")
    folder = Path(module_spec.origin).parent if module_spec and module_spec.origin else Path()
    file = folder / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
    try:
        con.execute(f"LOAD '{quoted(str(file))}'" if file.is_file() else f"LOAD {name}")
    except duckdb.Error as error:
        raise BenchError(
            f"a lake needs DuckDB's extension {name}",
            why=f"there is none for DuckDB {duckdb.__version__} here",
            hint="pip install 'bench-warehouse[lake]', which includes DuckDB 1.5.5",
        ) from error


def _started(extensions: tuple[str, ...]) -> duckdb.DuckDBPyConnection:
    con = connect()
    for extension in extensions:
        load(con, extension)
    if "httpfs" in extensions:
        _use_environment(con)
    return con


def _use_environment(con: duckdb.DuckDBPyConnection) -> None:
    """S3 keys by the environment variables of AWS's tools; else secrets kept by DuckDB."""
    variable = os.environ.get
    url = urlsplit(variable("AWS_ENDPOINT_URL_S3") or variable("AWS_ENDPOINT_URL") or "")
    settings = {
        "KEY_ID": variable("AWS_ACCESS_KEY_ID"), "SECRET": variable("AWS_SECRET_ACCESS_KEY"),
        "SESSION_TOKEN": variable("AWS_SESSION_TOKEN"),
        "REGION": variable("AWS_REGION") or variable("AWS_DEFAULT_REGION"),
        "ENDPOINT": url.netloc or None, "URL_STYLE": "path" if url.netloc else None,
        "USE_SSL": "false" if url.scheme == "http" else None,
    }  # fmt: skip
    if settings["KEY_ID"]:
        options = ", ".join(f"{name} '{quoted(text)}'" for name, text in settings.items() if text)
        try:
            con.execute(f"CREATE SECRET bench_s3 (TYPE s3, {options})")
        except duckdb.Error:  # its message repeats the statement
            raise BenchError("the keys of S3 in the environment are not taken") from None
