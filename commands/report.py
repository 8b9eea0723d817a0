"""`bench report`: write a page, or update the regions of markdown files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ..decide.query import Query
from ..schema.errors import BenchError
from ..terminal import options as o
from ..terminal.source import Source


@o.command(source=("db", "overrides", *o.PAST), query=(*o.SELECTION, *o.LISTING), kept=True)
def report(
    source: Source,
    query: Query,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME|PATH",
            help="Report name (default: model) and paths. Default: the warehouse.",
        ),
    ] = None,
    templates: o.Templates = None,
    flops: Annotated[
        str | None,
        typer.Option(
            "--flops", metavar="F8|model|hardware", help="Also show TFLOP/s by this formula."
        ),
    ] = None,
    suggestions: Annotated[
        bool, typer.Option("--suggestions", help="Show audit suggestions next to suspect rows.")
    ] = False,
    without_corrections: Annotated[
        bool,
        typer.Option(
            "--without-corrections", help="Only what sources state: no facts.toml, no --set."
        ),
    ] = False,
    update: Annotated[
        bool, typer.Option("--update", help="Update the regions in markdown files.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Exit 1 if a region is stale; change nothing.")
    ] = False,
    sources: Annotated[
        list[Path] | None,
        typer.Option(
            "--from", metavar="PATH", help="Generate regions from these paths, not the warehouse."
        ),
    ] = None,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """Write a report page: training time, sweep tables, excluded rows.

    With --update or --check: update or verify the generated regions of markdown files.
    """
    if update or check or sources:
        from ..ci.update import update_or_check

        more = (
            query != Query(lengths=query.lengths, prices=query.prices),
            source.overrides,
            source.is_past,
            templates,
            flops,
            suggestions,
            without_corrections,
            format,
            output,
        )
        raise typer.Exit(update_or_check(arguments, sources, source, update, check, any(more)))
    from ..terminal import reporting

    if without_corrections and source.overrides:
        raise BenchError("--set is a correction too", hint="leave out one of the two options")
    name, paths = reporting.split(arguments or [])
    source = replace(source, paths=paths, corrected=not without_corrections)
    reporting.report(
        name, source, query, templates=templates, suggestions=suggestions,
        flops=flops, form=format, output=output,
    )  # fmt: skip
