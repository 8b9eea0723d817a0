"""`bench show`: all data of one run."""

from __future__ import annotations

from typing import Annotated

import typer

from ..terminal import options as o
from ..terminal.source import Source


@o.command(kept=True)
def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run id, or FILE:LINE.")],
    source: Source,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """Show everything known about a run, with source lines."""
    from ..reports.listing import show as parts
    from ..terminal.tables import choose_format, emit, render

    with source.opened() as warehouse:
        names, rows = parts(warehouse, run)
    text = render(names, rows, choose_format(format, output), keep=("stated_at",))
    emit(text, output, name=f"{run}.md")
