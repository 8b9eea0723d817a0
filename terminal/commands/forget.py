"""`bench forget`: hide what should not have been ingested."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import options as o
from ..messages import say


def forget(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE|RUN", help="Sources by path or name, runs by id or FILE:LINE."
        ),
    ],
    undo: Annotated[bool, typer.Option("--undo", help="Show again what was forgotten.")] = False,
    db: o.Db = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Hide sources or runs from every report; nothing is deleted, --undo shows them again."""
    from ...reports.forget import forget as hide
    from ..settings import find_db

    for scope, name in hide(find_db(db), names, undo=undo, lock_timeout=lock_timeout):
        done = "shown again" if undo else f"hidden; bench forget --undo {name} shows it again"
        say(f"{scope} {name} {done}")
