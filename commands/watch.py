"""`bench watch`: follow active logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..terminal import options as o
from ..terminal.source import Source


@o.command(source=("db",))
def watch(
    source: Source,
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="LOG", help="Logs, or directories of logs; they may not exist yet."),
    ],
    once: Annotated[
        bool, typer.Option("--once", help="Ingest and show the current state, then exit.")
    ] = False,
    interval: Annotated[
        float, typer.Option("--interval", metavar="SECONDS", min=0.1, help="Polling interval.")
    ] = 5.0,
    hang_after: Annotated[
        float | None,
        typer.Option(
            "--hang-after", metavar="SECONDS", min=0,
            help="Silence that counts as a hang. Default: 10 step intervals, at least 300 s.",
        ),
    ] = None,
    steps: o.Steps = None,
    tokens: o.Tokens = None,
    columns: o.Columns = None,
    format: o.Format = None,
) -> None:  # fmt: skip
    """Follow growing logs: ingest new lines and show run status."""
    from ..terminal.watching import WatchOptions, follow, show
    from ..watch.status import Budget

    budget = Budget(tokens, steps)
    options = WatchOptions(tuple(paths), source, interval, hang_after, budget, columns)
    raise typer.Exit(show(options, format) if once else follow(options))
