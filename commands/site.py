"""`bench site`: write the results as a folder of pages."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Annotated

import typer

from ..decide.query import Query
from ..terminal import options as o
from ..terminal.source import Source


@o.command(query=("model", "where", "document", "steps", "tokens"))
def site(
    source: Source,
    query: Query,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FOLDER", parser=o.parse_output, help="Write the pages here."
        ),
    ],
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="The title of the pages.")
    ] = "LLM training benchmarks",
    scrub: Annotated[
        str | None,
        typer.Option(
            "--scrub", metavar="hosts,users,paths", help="Replace these names by pseudonyms."
        ),
    ] = None,
    serve: Annotated[
        int | None,
        typer.Option(
            "--serve",
            metavar="PORT",
            min=0,
            max=65535,
            help="Show the pages to this machine, and follow the warehouse.",
        ),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option("--every", metavar="60s", help="Build again so often; needs no port."),
    ] = None,
) -> None:
    """Write the results as a site: pages that open from disk, each number a link to its line."""
    from ..records.scrub import parse_kinds
    from ..site.build import Options
    from ..terminal.site import parse_every
    from ..terminal.site import site as write

    # Rows stay alive: garbage collection would take 20% of the time.
    gc.set_threshold(100_000, 50, 50)
    seconds = parse_every(every) if every else None
    live = serve is not None or seconds is not None
    write(source, query, output, Options(title, parse_kinds(scrub), live), serve, seconds)
