"""Tables applied in numbered order; views, formulas and metrics rebuilt after changes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import duckdb

from .connect import all_or_nothing
from .errors import Incompatible
from .generated import METRICS, declarations, expand
from .sql import digest, sql_files

_RECORD = """CREATE TABLE raw.applied (
    number INTEGER NOT NULL, name VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL, applied_at TIMESTAMP NOT NULL)"""
_NOTE = "INSERT INTO raw.applied VALUES (?, ?, ?, ?)"
_MADE = re.compile(r"^CREATE OR REPLACE (VIEW|MACRO) (\w+)", re.M)
_DROPPED = re.compile(r"(?:^|(?<=,))(VIEW|MACRO) (\w+)(?=,|\Z)")
VIEWS = 0  # the row that records all views: their names, and the release with their digest
STORED_VIEWS = "materialized"  # a schema of tables with the rows of views; see stored.py
LAST_STORED = "continuations"  # the last of them: without it the others may be out of date
SOURCES_STORED = "sources_stored"  # an empty table: those that an audit reads are up to date


def bring_up_to_date(
    con: duckdb.DuckDBPyConnection, path: Path | None = None, *, anew: bool = False
) -> None:
    """Apply the missing tables in order and rebuild the views, in one transaction.

    With `anew` also those that are marked as up to date. Raises Incompatible for a foreign file, or
    one newer than this program.
    """
    if is_up_to_date(con, path) and not anew:
        return
    with all_or_nothing(con):
        _apply_tables(con)
        _rebuild_views(con)


def is_up_to_date(con: duckdb.DuckDBPyConnection, path: Path | None = None) -> bool:
    """Whether every table and the present views are in place; raises Incompatible as above."""
    try:
        applied = _applied(con)
    except duckdb.CatalogException:  # a query for the table would take longer
        if _has_objects(con):
            raise Incompatible(
                f"{path} is a DuckDB file, but no warehouse of bench",
                why="it has other tables or views",
                hint="choose another --db PATH",
            ) from None
        return False
    known = {number: digest(text) for number, _, text in _tables()}
    unknown = [n for n, (_, sha256) in applied.items() if n != VIEWS and known.get(n) != sha256]
    if unknown:
        raise Incompatible(
            f"the warehouse {path} was made by another version of bench",
            why=f"its tables {min(unknown):03d} and later are not those of this version",
            hint="upgrade bench, or ingest again into a new --db PATH",
        )
    if set(applied) != {VIEWS, *known}:
        return False
    _, _, text = applied[VIEWS][1].partition(" ")
    # The release is compared last: reading the metadata of an installed package takes 20 ms.
    return text == views_digest() or _is_newer(applied)


def is_newer(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether the views are marked as of a newer release; for a file of ours."""
    return _is_newer(_applied(con))


def _is_newer(applied: Mapping[int, tuple[str, str]]) -> bool:
    # Records of early versions are a bare word: older than any release.
    release = applied[VIEWS][1].partition(" ")[0] if VIEWS in applied else ""
    return re.fullmatch(r"\d{1,18}", release, re.A) is not None and int(release) > _release()


def last_table() -> int:
    """The number of the newest table file that this version knows."""
    return max(number for number, _, _ in _tables())


def lacks_tables(con: duckdb.DuckDBPyConnection, path: Path) -> bool:
    """Whether tables of this version are missing, apart from views; raises Incompatible as
    above."""
    is_up_to_date(con, path)
    return not _is_ours(con) or not {number for number, _, _ in _tables()} <= set(_applied(con))


def apply_tables(con: duckdb.DuckDBPyConnection) -> None:
    """Apply the missing tables alone, in one transaction: a shared place has no views."""
    with all_or_nothing(con):
        _apply_tables(con)


def doubt_stored_views(con: duckdb.DuckDBPyConnection) -> None:
    """Drop the marks of the stored views: what they are made from changes in this transaction."""
    for mark in (LAST_STORED, SOURCES_STORED):
        con.execute(f"DROP TABLE IF EXISTS {STORED_VIEWS}.{mark}")


def definitions() -> tuple[str, ...]:
    """Everything that determines an empty warehouse."""
    return (_RECORD, views_digest(), *(text for _, _, text in _tables()), *_views())


def now_utc() -> datetime:
    """The present time, UTC, as the naive TIMESTAMP that is stored."""
    return datetime.now(UTC).replace(tzinfo=None)


def _apply_tables(con: duckdb.DuckDBPyConnection) -> None:
    if not _is_ours(con):
        con.execute("CREATE SCHEMA raw")
        con.execute(_RECORD)
    done = _applied(con)
    for number, name, text in _tables():
        if number not in done:
            con.execute(text)
            con.execute(_NOTE, [number, name, digest(text), now_utc()])


def _rebuild_views(con: duckdb.DuckDBPyConnection) -> None:
    views = [expand(text) for text in _views()]
    made = [name for text in views for name in _MADE.findall(text)]
    before, _ = _applied(con).get(VIEWS, ("", ""))
    # The file's creator wrote these names: anything else would be a statement of theirs.
    for kind, name in _DROPPED.findall(before):
        if (kind, name) not in made:
            con.execute(f"DROP {kind} IF EXISTS {name}")
    for text in views:
        con.execute(text)
    con.execute(f"DROP SCHEMA IF EXISTS {STORED_VIEWS} CASCADE")
    con.execute("DELETE FROM raw.applied WHERE number = ?", [VIEWS])
    names = ",".join(f"{kind} {name}" for kind, name in made)
    con.execute(_NOTE, [VIEWS, names, f"{_release()} {views_digest()}", now_utc()])


@cache
def _tables() -> tuple[tuple[int, str, str], ...]:
    return tuple((int(name.split("_")[0]), name, text) for name, text in sql_files("tables"))


@cache
def _views() -> tuple[str, ...]:
    """The rebuilt SQL: formulas, the views that use them, metrics, and the views that join
    these."""
    folders = ("formulas", "views", "metrics")
    texts = [text for folder in folders for _, text in sql_files(folder)]
    return tuple(sorted(texts, key=lambda text: METRICS in text))


@cache
def views_digest() -> str:
    """The digest of the rebuilt SQL, so that a changed file needs no number raised by hand.

    Of the text with comments: removing them would take 40 times as long, on every start.
    """
    return hashlib.sha256("\0".join((*_views(), declarations())).encode()).hexdigest()[:16]


@cache
def _release() -> int:
    """The version of this program as one number: 1.2.3 is 1,002,003.

    An older release leaves views of a newer one alone; otherwise both would take turns rebuilding a
    shared warehouse. Within a release the digest alone decides.
    """
    from ..vocabulary.release import VERSION

    major, minor, patch = re.findall(r"\d+", f"{VERSION}.0.0")[:3]
    return int(major) * 1_000_000 + int(minor) * 1_000 + int(patch)


def _is_ours(con: duckdb.DuckDBPyConnection) -> bool:
    query = """SELECT 1 FROM duckdb_tables()
               WHERE database_name = 'wh' AND schema_name = 'raw' AND table_name = 'applied'"""
    return con.execute(query).fetchone() is not None


def _has_objects(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether the file has any table, view, macro or schema."""
    query = """
        SELECT 1 FROM duckdb_tables() WHERE database_name = 'wh'
        UNION ALL SELECT 1 FROM duckdb_views() WHERE database_name = 'wh' AND NOT internal
        UNION ALL SELECT 1 FROM duckdb_schemas() WHERE database_name = 'wh' AND NOT internal
            AND schema_name <> 'main'  -- a lake's own
        UNION ALL SELECT 1 FROM duckdb_functions() WHERE database_name = 'wh' AND NOT internal"""
    return con.execute(query).fetchone() is not None


def _applied(con: duckdb.DuckDBPyConnection) -> dict[int, tuple[str, str]]:
    query = "SELECT number, name, sha256 FROM raw.applied ORDER BY number"
    return {number: (name, sha256) for number, name, sha256 in con.execute(query).fetchall()}
