"""`bench site`: the results as a folder of pages."""

from __future__ import annotations

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
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Write the pages here.")
    ] = Path("site"),
    scrub: Annotated[
        str | None, typer.Option("--scrub", metavar="hosts,users,paths", help="Replace such names.")
    ] = None,
) -> None:
    """Write the results as a site: pages that open from disk, link every number to its line."""
    from ..records.scrub import parse_kinds
    from ..site.build import Options, build
    from ..terminal.messages import info

    with source.opened() as warehouse:
        built = build(warehouse, source.root, output, query, Options(scrub=parse_kinds(scrub)))
    info(f"{built.runs} runs, {built.files} files, {built.written} written; open {output}/index.html")
