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
    told: o.Tell = None,
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
        FailOn, typer.Option("--fail-on", help="Exit 1 when something got worse.")
    ] = FailOn.NEVER,
    threshold: Annotated[
        list[str] | None,
        typer.Option("--threshold", metavar="METRIC:P%", help="By more than this: step_time:3%."),
    ] = None,
    columns: o.Columns = None,
    group: o.Group = None,
    format: o.Format = None,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Tell what a change does, configuration by configuration, and how sure that is."""
    from ...decide.asked import Asked
    from ..answers import Source
    from ..comparing import By, Gate
    from ..comparing import compare as tell
    from ..telling import asked as told_by_option

    asked = Asked(model, table, where, since, document, columns=columns, group=group)
    gate = Gate(fail_on is FailOn.REGRESSION, tuple(threshold or ()))
    source = Source(db, (), lock_timeout, told_by_option.take())
    raise typer.Exit(tell(arguments or [], source, asked, By(by, base), gate, format, output))
