"""`bench sql`: run a query."""

from __future__ import annotations

from typing import Annotated

import typer

from ..terminal import options as o
from ..terminal.source import Source


@o.command()
def sql(
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="One read-only query; no file or network access.")
    ],
    source: Source,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """Run one SQL query on the public tables."""
    from ..reports.listing import query as ask
    from ..terminal.tables import choose_format, emit, render

    with source.opened() as warehouse:
        names, rows = ask(warehouse, query)
    text = render(names, rows, choose_format(format, output), exact=True, chosen=True)
    emit(text, output, name="query.md")
