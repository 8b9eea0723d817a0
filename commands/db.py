"""`bench db`: look after the file of the warehouse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..schema.errors import FINE, FOUND
from ..terminal import options as o
from ..terminal.messages import info, warn
from ..terminal.program import group
from ..terminal.source import Source
from ..terminal.tables import choose_format, emit, render


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
    from ..schema.stored_secrets import stored_secrets
    from ..schema.warehouse import open_read

    with open_read(find_db(source.db), source.lock_timeout) as warehouse:
        found = look(warehouse, deep=deep)
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
        info("next: bench db restore BACKUP, or ingest again into a new --db PATH")
    if secrets:
        info(_secrets_told(sorted({one.uri for one in kept})))
    raise typer.Exit(FOUND if wrong or kept else FINE)


def _secrets_told(uris: list[str]) -> str:
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
    info(f"{size:,} bytes copied to {to}; bench db restore {to} puts them back")


@o.command(source=("db",))
def restore(
    copy: Annotated[Path, typer.Argument(metavar="FILE", help="A copy made by bench db backup.")],
    source: Source,
) -> None:
    """Put a copy in the place of the warehouse; the present file is kept beside it."""
    from ..project.settings import find_db
    from ..schema.copies import restore as put_back

    db = find_db(source.db)
    kept = put_back(copy, db, source.lock_timeout)
    info(f"{db} is {copy} again" + (f"; the file before is {kept}" if kept else ""))


@o.command(source=("db",))
def rebuild(source: Source) -> None:
    """Compute the stored views again."""
    from ..project.settings import find_db
    from ..schema.stored import rebuild as store_again
    from ..schema.warehouse import open_write, require_warehouse

    db = find_db(source.db)
    require_warehouse(db)
    with open_write(db, source.lock_timeout) as warehouse:
        store_again(warehouse)
    info("stored views computed again")


db = group("Check, copy and repair the warehouse file.", check, backup, restore, rebuild)
