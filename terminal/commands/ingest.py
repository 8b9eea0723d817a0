"""`bench ingest`: read logs and tables into the warehouse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import options as o


def ingest(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help="Files, folders, patterns, tar archives, URLs, or -."),
    ],
    db: o.Db = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What standard input is called.")
    ] = None,
    told: o.Tell = None,
    format: o.Format = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Read logs and tables into the warehouse; known, unchanged files add nothing."""
    from ...ingest.options import cores
    from ...ingest.pipeline import ingest as read_in
    from ...schema import own_process
    from ..checking import check_file, warn_of
    from ..messages import Progress, say
    from ..settings import find_db, read_settings
    from ..summary import COLUMNS, rows_of, tell
    from ..tables import choose_format, emit, render
    from ..telling import asked

    own_process.calculate_alone()
    facts = asked.take()
    with Progress("reading") as progress:
        summary = read_in(
            paths,
            find_db(db),
            lock_timeout=lock_timeout,
            formats=read_settings().formats,
            stdin_name=name,
            progress=lambda uri: progress.advance(label=uri),
            processes=cores(),
        )
    checked = check_file(find_db(db), lock_timeout, summary.uris, facts)
    if summary.formats and not quiet:
        emit(render(COLUMNS, rows_of(summary), choose_format(format)))
    if errors := checked.errors:
        number = f"{errors} {'error' if errors == 1 else 'errors'}"
        say(f"the audit found {number} in tables, whose rows are left out: bench audit")
    code = tell(summary)
    warn_of(checked.contradictions)
    raise typer.Exit(code)
