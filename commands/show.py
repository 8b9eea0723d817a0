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
    from ..terminal.answers import one_source
    from ..terminal.tables import Format, choose_format, emit, render
    from ..vocabulary.printable import terminal

    with source.opened() as warehouse:
        names, rows = parts(warehouse, run)
    form = choose_format(format, output)
    above, cells = one_source([], names, rows, "stated_at") if form is Format.TABLE else ([], rows)
    text = render(names, cells, form, keep=("stated_at",))
    emit("".join(f"{terminal(line)}\n\n" for line in above) + text, output, name=f"{run}.md")
