"""`bench watch`: follow logs that are being written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import options as o


def watch(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="LOG", help="Logs, or folders of logs; they may come later."),
    ],
    once: Annotated[
        bool, typer.Option("--once", help="Store and show what there is now, and end.")
    ] = False,
    interval: Annotated[
        float, typer.Option("--interval", metavar="SECONDS", min=0.1, help="Between two looks.")
    ] = 5.0,
    hang_after: Annotated[
        float | None,
        typer.Option(
            "--hang-after", metavar="SECONDS", min=0,
            help="Warn of a hang then; default: ten intervals of the run, at least 300 s.",
        ),
    ] = None,
    db: o.Db = None,
    steps: o.Steps = None,
    tokens: o.Tokens = None,
    columns: o.Columns = None,
    format: o.Format = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:  # fmt: skip
    """Follow logs that are being written: store what is new, show how the runs stand."""
    from ...watch.standing import Budget
    from ..watching import Asked, follow, show

    budget = Budget(tokens, steps)
    asked = Asked(tuple(paths), db, interval, hang_after, budget, lock_timeout, columns)
    raise typer.Exit(show(asked, format) if once else follow(asked))
