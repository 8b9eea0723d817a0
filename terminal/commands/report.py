"""`bench report`: write a page, or bring the regions of markdown files up to date."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import options as o


def report(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME|PATH",
            help="A report (model) and paths to read; none: the warehouse.",
        ),
    ] = None,
    db: o.Db = None,
    model: o.Model = None,
    table: o.Table = None,
    where: o.Where = None,
    since: o.Since = None,
    document: o.Document = None,
    all_rows: o.All = False,
    steps: o.Steps = None,
    tokens: o.Tokens = None,
    templates: o.Templates = None,
    told: o.Tell = None,
    flops: Annotated[
        str | None,
        typer.Option("--flops", metavar="F8|model|hardware", help="TFLOP/s by one formula, too."),
    ] = None,
    suggestions: Annotated[
        bool,
        typer.Option("--suggestions", help="Show what the audit suggests beside doubted rows."),
    ] = False,
    update: Annotated[
        bool, typer.Option("--update", help="Rewrite the regions of the markdown files named.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 1 when a region is stale.")
    ] = False,
    sources: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="PATH", help="Make regions from these, not the warehouse."),
    ] = None,
    columns: o.Columns = None,
    group: o.Group = None,
    format: o.Format = None,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Write a page on what was measured: days to train, sweep tables, what was left out and why.

    With --update or --check: the regions of markdown files, as their own markers ask.
    """
    if update or check or sources:
        from ...ci.update import update_or_check

        given = (model, table, where, since, document, all_rows, steps, tokens, templates, format,
                 suggestions, flops, columns, group, told)  # fmt: skip
        raise typer.Exit(
            update_or_check(
                arguments, sources, db, lock_timeout, update, check, any((*given, output))
            )
        )
    from .. import reporting

    words = reporting.split(arguments or [])
    asked = reporting.Asked(
        db,
        words,
        model,
        table,
        where,
        since,
        document,
        all_rows,
        steps,
        tokens,
        templates,
        lock_timeout,
        suggestions,
        flops,
        columns,
        group,
    )
    reporting.report(asked, format, output)
