"""`bench diff`: compare two states of the results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import options as o


def diff(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="OLD NEW | PATH", help="Files, folders, records or warehouses."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="REV", help="Compare with what git has of them at REV."),
    ] = None,
    where: o.Where = None,
    check: Annotated[
        bool, typer.Option("--check", help="Exit 1 when a row is changed or removed.")
    ] = False,
    format: o.Format = None,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Tell which rows were added, removed or changed, and by how much."""
    from ...ci.diffing import diff as compare

    raise typer.Exit(compare(paths or [], base, where, check, format, output))
