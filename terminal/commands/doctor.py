"""`bench doctor`: what no format reads of logs, and a format drafted for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import options as o


def doctor(
    paths: Annotated[list[Path], typer.Argument(metavar="LOG", help="Logs, or folders of them.")],
    draft: Annotated[
        int | None,
        typer.Option(
            "--draft", metavar="N", min=1, help="Write a format for the N-th shape of the listing."
        ),
    ] = None,
    all_rows: o.All = False,
    format: o.Format = None,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Show what no format reads of a log, grouped by shape; --draft proposes a format."""
    from ..doctoring import diagnose, propose

    if draft is None:
        diagnose(paths, all_rows, format, output)
    else:
        propose(paths, draft, output)
