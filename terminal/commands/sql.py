"""`bench sql`: ask a query."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import options as o


def sql(
    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", help="One query; reads only, no file or network access."),
    ],
    paths: o.Paths = None,
    told: o.Tell = None,
    db: o.Db = None,
    format: o.Format = None,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Run one SQL query over the public tables."""
    from ...reports.query import query as ask
    from ..opening import open_for_reading
    from ..tables import choose_format, emit, render

    with open_for_reading(db, paths or [], lock_timeout) as warehouse:
        names, rows = ask(warehouse, query)
        text = render(names, rows, choose_format(format, output), exact=True)
        emit(text, output, name="query.md")
