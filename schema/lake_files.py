"""Checks of the files and objects in the catalog of a lake, which may be by an untrusted creator.

DuckLake reads and removes any file that a catalog names, runs its views and macros as if they were
tables, and looks for files that no snapshot names in any folder given to it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb

from .commits import Notify
from .errors import BenchError, Incompatible

S3 = "s3://"
_OURS = re.compile(r"ducklake-[0-9a-f-]+(?:-delete)?\.(?:parquet|puffin)")
_MARK = ".bench-lake"  # in a folder of rows: the catalog that owns it
# A query in an address, `?s3_endpoint=HOST`, would send the user's keys there.
_ELSEWHERE = """{0}.path_is_relative IS NULL OR NOT {0}.path_is_relative
    OR {0}.path LIKE '%..%' OR {0}.path LIKE '%?%'"""
_BUCKET = re.compile(r"s3://[A-Za-z0-9][A-Za-z0-9._-]+(?:/[^?#*\[\x00-\x1f\x7f]*)?")
# DuckLake compares names without case, and shows a view of any snapshot that is asked for: schemas
# are ours in any case, and what has ended counts.
_OURS_IN = "JOIN ducklake_schema s ON s.schema_id = {}.schema_id WHERE lower(s.schema_name) = 'raw'"
# Files of our tables, which we name relative to the folder of rows.
_FILES = f"""SELECT coalesce(f.path, t.path) FROM ducklake_table t
    LEFT JOIN (SELECT table_id, path, path_is_relative FROM ducklake_data_file
     UNION ALL SELECT table_id, path, path_is_relative FROM ducklake_delete_file) f
        ON f.table_id = t.table_id
    {_OURS_IN.format("t")} AND (f.path IS NOT NULL AND ({_ELSEWHERE.format("f")})
        OR {_ELSEWHERE.format("t")} OR {_ELSEWHERE.format("s")}) LIMIT 1"""
_VIEWS = f"SELECT v.view_name FROM ducklake_view v {_OURS_IN.format('v')} LIMIT 1"
_MACROS = "SELECT macro_name FROM ducklake_macro LIMIT 1"
# Expressions that a write would compute: without a call they end.
_DEFAULTS = """SELECT column_name FROM ducklake_column
    WHERE lower(coalesce(default_value_type, '')) NOT IN ('', 'literal')
        AND default_value LIKE '%(%' LIMIT 1"""
_ORDERS = "SELECT expression FROM ducklake_sort_expression WHERE expression LIKE '%(%' LIMIT 1"
_QUERIES = {_FILES: "file", _VIEWS: "view", _MACROS: "macro", _DEFAULTS: "computed column",
            _ORDERS: "order by"}  # fmt: skip
# DuckLake makes these names a part of its statements, as they are.
_INLINED = "SELECT DISTINCT table_name FROM ducklake_inlined_data_tables"
_OF_INLINED = re.compile(r"ducklake_inlined_data_\d+_\d+", re.ASCII)
# In the database of the catalog itself DuckLake creates only plain tables.
_OF_SQLITE = """SELECT name FROM sqlite_master
    WHERE type IN ('view', 'trigger') OR sql LIKE '%VIRTUAL%'
        OR EXISTS (SELECT 1 FROM pragma_table_xinfo(sqlite_master.name) WHERE hidden > 1) LIMIT 1"""
_OF_DUCKDB = """SELECT view_name FROM duckdb_views() WHERE database_name = 'wh' AND NOT internal
    UNION ALL SELECT function_name FROM duckdb_functions() WHERE database_name = 'wh'
    UNION ALL SELECT table_name FROM duckdb_tables() WHERE database_name = 'wh'
        AND regexp_matches(sql, '\\bGENERATED\\b') LIMIT 1"""
# Of DuckDB 2: version 1.5 has no such function, and opens no file that has a trigger.
_TRIGGERS = "SELECT trigger_name FROM duckdb_triggers() WHERE database_name = 'wh' LIMIT 1"
_DATABASES = {"sqlite": [_OF_SQLITE], "duckdb": [_OF_DUCKDB, _TRIGGERS]}
RunQuery = Callable[[str], Sequence[tuple[Any, ...]]]


def require_tables(run_query: RunQuery, kind: str) -> None:
    """Raises Incompatible if the database of a catalog has views, triggers or computed columns."""
    for query in _DATABASES.get(kind, ()):
        found: Sequence[tuple[Any, ...]] = ()
        with suppress(duckdb.CatalogException):
            found = run_query(query)
        for (name,) in found:
            raise Incompatible("the catalog of the lake is not one of DuckLake",
                               why=f"{name} is no plain table")  # fmt: skip


def require_own(run_query: RunQuery) -> None:
    """Raises Incompatible if our tables are none, or have rows in files elsewhere."""
    wrong = [(what, name) for query, what in _QUERIES.items() for (name,) in run_query(query)]
    names = [name for (name,) in run_query(_INLINED)]
    wrong += [("table", name) for name in names if not _OF_INLINED.fullmatch(str(name))]
    for what, name in wrong:
        raise Incompatible("the lake is not one of bench", why=f"the {what} {name} in it")


def require_bucket(data: str) -> None:
    """Raises BenchError for an address of S3 that names more than a bucket and a folder: as
    `s3://x?s3_endpoint=HOST` or `s3://HOST#/`, it would have the user's keys used elsewhere."""
    if data.startswith(S3) and not _BUCKET.fullmatch(data):
        raise BenchError(
            "the lake's data path is not a plain S3 bucket address", why=data,
            hint="s3://BUCKET/FOLDER; AWS_ENDPOINT_URL_S3 sets another server",
        )  # fmt: skip


def mark(data: str, address: str) -> None:
    """Record the owner of a new folder of rows."""
    if not data.startswith(S3):
        with suppress(FileExistsError), (Path(data) / _MARK).open("x") as file:
            file.write(f"{address}\n")


def is_marked(data: str, catalog: Path | None, address: str) -> bool:
    """Whether all rows of a folder are of this catalog: it is in the same folder, or has our
    mark."""
    if data.startswith(S3) or catalog is None:
        return True
    if Path(data).resolve().is_relative_to(catalog.resolve()):
        return True
    with suppress(OSError, UnicodeDecodeError):
        return (Path(data) / _MARK).read_text().strip() == address
    return False


def remove(con: duckdb.DuckDBPyConnection, call: str, data: str) -> int:
    """Have DuckLake remove files; raises BenchError before, for a foreign one."""
    for name in _named(con, call):
        if not _is_own(name, data):
            raise BenchError("the lake would remove a file that is none of it", where=name,
                             hint="look at its catalog: others can have written to it")  # fmt: skip
    return len(con.execute(f"CALL {call}").fetchall())


def remove_orphans(con: duckdb.DuckDBPyConnection, call: str, data: str, notify: Notify) -> int:
    """Remove the orphans created by DuckLake; notify of the number of others, which stay.

    DuckLake would remove all of them.
    """
    names = _named(con, call)
    own = [name for name in names if _is_own(name, data)]
    if others := len(names) - len(own):
        notify(f"{data} has files that are not of the lake, which stay: {others:,}")
    if not data.startswith(S3):
        return sum(map(_removed, own))
    if own and others:
        notify(f"so do {len(own):,} of this lake that no snapshot names: move the others elsewhere")
        return 0
    return len(con.execute(f"CALL {call}").fetchall()) if own else 0


def notify_unmarked(data: str, address: str, notify: Notify) -> None:
    """Explain why the orphans of a folder are not removed, and what enables it."""
    note = Path(data) / _MARK
    notify(f"files in {data} that no snapshot names stay: the folder does not state their lake; "
         f"if no other lake keeps its rows there, write '{address}' into {note}")  # fmt: skip


def _named(con: duckdb.DuckDBPyConnection, call: str) -> list[str]:
    """The files that a call would remove."""
    function, _, options = call.partition("(")
    found = con.execute(f"CALL {function}({options[:-1]}, dry_run => true)").fetchall()
    return [name for (name,) in found]


def _removed(name: str) -> bool:
    try:
        os.unlink(name)
    except FileNotFoundError:  # by another process
        return False
    except OSError as error:
        raise BenchError("cannot remove a file", why=error.strerror or "", where=name) from error
    return True


def _is_own(name: str, data: str) -> bool:
    if not _OURS.fullmatch(name.rpartition("/")[2]):
        return False
    if data.startswith(S3):
        return name.startswith(data.rstrip("/") + "/") and ".." not in name
    return Path(name).parent.resolve().is_relative_to(Path(data).resolve())
