"""`bench compare`: what a change does."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from .. import options as o


class FailOn(StrEnum):
    """What makes `bench compare` fail."""

    REGRESSION = "regression"
    NEVER = "never"


def compare(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="A B | PATH",
            help="Two sides: files, conditions, runs or git revisions; with --by: paths.",
        ),
    ] = None,
    db: o.Db = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="COLUMN", help="Compare the values of this.")
    ] = None,
    base: Annotated[
        str | None, typer.Option("--base", metavar="VALUE", help="The value to compare against.")
    ] = None,
    model: o.Model = None,
    table: o.Table = None,
    where: o.Where = None,
    since: o.Since = None,
    document: o.Document = None,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Exit 1 when something got slower.")
    ] = FailOn.NEVER,
    threshold: Annotated[
        str | None,
        typer.Option("--threshold", metavar="METRIC:P%", help="By more than this: step_time:3%."),
    ] = None,
    columns: o.Columns = None,
    format: o.Format = None,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Tell what a change does, configuration by configuration, and how sure that is."""
    from .. import comparing
    from ..deciding import Asked

    asked = Asked(
        db, (), model, table, where, since, document, lock_timeout=lock_timeout, columns=columns
    )
    gate = comparing.Gate(fail_on is FailOn.REGRESSION, threshold)
    raise typer.Exit(comparing.compare(arguments or [], asked, by, base, gate, format, output))
