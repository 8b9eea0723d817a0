"""`bench audit`: check every number against physics."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from .. import options as o


class AuditFormat(StrEnum):
    """The formats of `bench audit`."""

    TABLE = "table"
    MD = "md"
    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    HTML = "html"
    SARIF = "sarif"
    GITHUB = "github"


class Grade(StrEnum):
    """What makes `bench audit` fail."""

    ERROR = "error"
    WARNING = "warning"
    NEVER = "never"


def audit(
    paths: o.Paths = None,
    told: o.Tell = None,
    db: o.Db = None,
    model: o.Model = None,
    fail_on: Annotated[
        Grade,
        typer.Option("--fail-on", help="Exit 1 when a finding of this grade or worse stands."),
    ] = Grade.ERROR,
    if_any: Annotated[
        bool, typer.Option("--if-any", help="Fine when there is no table and no log: for hooks.")
    ] = False,
    format: Annotated[
        AuditFormat | None,
        typer.Option("--format", help="Default: table, md in a pipe.", show_default=False),
    ] = None,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Check every printed number against physics: what contradicts itself, by which equation."""
    from ..auditing import audit as find

    given = (db, paths or [], model, fail_on, format, output, lock_timeout)
    raise typer.Exit(find(*given, if_any=if_any))
