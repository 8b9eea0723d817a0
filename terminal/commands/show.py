"""`bench show`: all that is known of one run."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import options as o


def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, or FILE:LINE.")],
    paths: o.Paths = None,
    told: o.Tell = None,
    db: o.Db = None,
    format: o.Format = None,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Show all that is known of one run, and the line that states each part."""
    from ...reports.show import show as parts
    from ..opening import open_for_reading
    from ..tables import choose_format, emit, render

    with open_for_reading(db, paths or [], lock_timeout) as warehouse:
        emit(
            render(*parts(warehouse, run), choose_format(format, output)), output, name=f"{run}.md"
        )
