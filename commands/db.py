"""`bench db`: create, maintain and share the warehouse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..schema.errors import FINE, FOUND, BenchError
from ..terminal import options as o
from ..terminal.command_group import group
from ..terminal.messages import info as note
from ..terminal.messages import warn
from ..terminal.source import Source
from ..terminal.tables import choose_format, emit, render

_Data = Annotated[
    str | None,
    typer.Option("--data", metavar="DIR|s3://", help="Where a lake keeps its Parquet files."),
]


@o.command(source=("db",))
def check(
    source: Source,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also read every block, and compare stored views.")
    ] = False,
    secrets: Annotated[
        bool, typer.Option("--secrets", help="Look for secrets that an older version stored.")
    ] = False,
    format: o.Format = None,
) -> None:
    """Check that the warehouse is whole; exits with 1 when something is wrong."""
    from ..project.settings import find_db
    from ..schema.check import check as look
    from ..schema.check import check_place, stored_secrets
    from ..schema.location import is_shared
    from ..schema.opening import open_read

    db = find_db(source.db)
    with open_read(db, source.lock_timeout) as warehouse:
        found = [*look(warehouse, deep=deep), *check_place(warehouse)]
        kept = stored_secrets(warehouse) if secrets else []
    if not secrets:
        rows = [(one.name, one.rows, len(one.problems)) for one in found]
        emit(render(("check", "rows", "problems"), rows, choose_format(format)))
    elif kept:
        rows_of = [(one.uri, one.line, f"{one.table}.{one.column}", one.count) for one in kept]
        emit(render(("source", "line", "column", "secrets"), rows_of, choose_format(format)))
    for one in found:
        for problem in one.problems:
            warn(f"{one.name}: {problem}")
    wrong = any(one.problems for one in found)
    if wrong:
        again = "db copy BACKUP to a new place" if is_shared(db) else "db restore BACKUP"
        note(f"next: bench {again}, or ingest again into a new --db PATH")
    if secrets:
        note(_secrets_note(sorted({one.uri for one in kept})))
    raise typer.Exit(FOUND if wrong or kept else FINE)


def _secrets_note(uris: list[str]) -> str:
    if not uris:
        return "no secrets are stored"
    return f"next: bench forget --purge {uris[0]}, then ingest again; and revoke the secret"


@o.command(source=("db",))
def backup(
    to: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="Where the copy goes.")],
    source: Source,
) -> None:
    """Copy the warehouse to another file, checked; readers need not wait."""
    from ..project.settings import find_db
    from ..schema.copies import backup as copy

    size = copy(find_db(source.db), to, source.lock_timeout)
    note(f"{size:,} bytes copied to {to}; bench db restore {to} puts them back")


@o.command(source=("db",))
def restore(
    copy: Annotated[Path, typer.Argument(metavar="FILE", help="A copy made by bench db backup.")],
    source: Source,
) -> None:
    """Replace the warehouse by a copy; the current file is kept next to it."""
    from ..project.settings import find_db
    from ..schema.copies import restore as put_back

    db = find_db(source.db)
    kept = put_back(copy, db, source.lock_timeout)
    note(f"{db} is {copy} again" + (f"; the file before is {kept}" if kept else ""))


@o.command(source=("db",))
def rebuild(source: Source) -> None:
    """Compute the stored views again."""
    from ..project.after_ingest import after_ingest_into
    from ..project.settings import find_db
    from ..schema.opening import open_write, require_warehouse
    from ..schema.stored_views import rebuild as store_again

    db = find_db(source.db)
    require_warehouse(db)
    with open_write(db, source.lock_timeout) as warehouse:
        store_again(warehouse)
    after_ingest_into(db, source.lock_timeout)  # which a killed ingest may have left out
    note("stored views computed again")


@o.command(source=("db",))
def init(
    source: Source,
    data: _Data = None,
) -> None:
    """Make an empty warehouse: a file, or a place that many share."""
    from ..project.settings import find_db
    from ..schema.location import is_shared, is_there, place_of
    from ..schema.opening import open_write

    db = find_db(source.db)
    if is_there(db):
        raise BenchError(f"{db} already exists", hint="bench ingest PATH... fills it")
    if is_shared(db):
        place_of(db).create(data)
    elif data:
        raise BenchError("a file keeps its rows in itself", hint="leave --data out")
    else:
        open_write(db, source.lock_timeout).close()
    note(f"{db} is empty; bench ingest PATH... --db '{db}' fills it")


@o.command(source=("db",))
def info(source: Source, format: o.Format = None) -> None:
    """Show where the warehouse is and how much is in it."""
    from ..project.settings import find_db
    from ..schema.opening import open_read

    db = find_db(source.db)
    with open_read(db, source.lock_timeout) as warehouse:
        [(sources, runs, steps)] = warehouse.rows(
            """SELECT (SELECT count(*) FROM sources), (SELECT count(*) FROM runs),
                      (SELECT count(*) FROM raw.iterations)"""
        )
        rows = [("warehouse", str(db)), ("sources", sources), ("runs", runs), ("steps", steps)]
        if warehouse.replica:
            rows += [("newest commit", warehouse.replica.number),
                     ("replica", str(warehouse.replica.file))]  # fmt: skip
    emit(render(("what", "is"), rows, choose_format(format)))


@o.command(source=("db",))
def copy(
    to: Annotated[Path, typer.Argument(metavar="PLACE", help="A file or a shared place.")],
    source: Source,
    data: _Data = None,
) -> None:
    """Copy the warehouse to a shared place, or from there to a file; rows are compared."""
    from ..project.settings import find_db
    from ..schema.copies import backup as keep
    from ..schema.copies import share
    from ..schema.location import is_shared, located

    db, to = find_db(source.db), located(to, Path.cwd())
    if is_shared(to):
        note(f"{share(db, to, data, source.lock_timeout):,} rows copied to {to}, and compared")
    else:
        note(f"{keep(db, to, source.lock_timeout):,} bytes copied to {to}")


@o.command(source=("db",))
def compact(source: Source) -> None:
    """Write the warehouse anew, without what was deleted, in few files."""
    from ..project.settings import find_db
    from ..schema.copies import compact_at

    compact_at(find_db(source.db), source.lock_timeout)
    note("compacted; bench db gc removes what a shared warehouse no longer needs")


@o.command(source=("db",))
def gc(
    source: Source,
    days: Annotated[
        int, typer.Option("--days", metavar="N", min=1, help="Keep commits of the last N days.")
    ] = 1,
) -> None:
    """Remove files of a shared warehouse that no commit needs any more."""
    from datetime import timedelta

    from ..project.settings import find_db
    from ..schema.location import is_shared, place_of, require_place

    db = find_db(source.db)
    if not is_shared(db):
        raise BenchError(f"{db} is a file", hint="bench db compact writes it anew")
    require_place(db)
    note(f"{place_of(db).collect(timedelta(days=days), warn):,} files removed")


@o.command(source=("db",))
def snapshots(source: Source, format: o.Format = None) -> None:
    """List the commits of a shared warehouse that are kept."""
    from ..project.settings import find_db
    from ..schema.location import is_shared, place_of, require_place

    db = find_db(source.db)
    if not is_shared(db):
        raise BenchError(f"{db} is a file", why="only a shared warehouse keeps its commits")
    require_place(db)
    rows = [
        (one.number, one.at.isoformat(" ", "seconds"), ", ".join(one.tables))
        for one in place_of(db).history()
    ]
    emit(render(("commit", "time (UTC)", "tables"), rows, choose_format(format)))


db = group(
    "Make, check, copy, share and repair the warehouse.",
    init, info, check, backup, restore, rebuild, copy, compact, gc, snapshots,
)  # fmt: skip
