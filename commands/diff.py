"""`bench diff`: compare two states of the results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..terminal import options as o


@o.command()
def diff(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="OLD NEW | PATH", help="Files, directories, records or warehouses."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="REV", help="Compare with the paths at this git revision."),
    ] = None,
    where: o.Where = None,
    check: Annotated[
        bool, typer.Option("--check", help="Exit 1 if rows were changed or removed.")
    ] = False,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """List added, removed and changed rows, with their changes."""
    from ..ci.diffing import diff as compare

    raise typer.Exit(compare(paths or [], base, where, check, format, output))
