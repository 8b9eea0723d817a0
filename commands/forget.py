"""`bench forget`: hide what should not have been ingested."""

from __future__ import annotations

from typing import Annotated

import typer

from ..terminal import options as o
from ..terminal.messages import info
from ..terminal.source import Source


@o.command(source=("db",))
def forget(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE|RUN", help="Sources by path or name, runs by id or FILE:LINE."
        ),
    ],
    source: Source,
    undo: Annotated[bool, typer.Option("--undo", help="Restore hidden sources or runs.")] = False,
) -> None:
    """Hide sources or runs from all reports; --undo restores them.

    Nothing is deleted.
    """
    from ..project.settings import find_db
    from ..reports.forget import forget as hide

    found = hide(find_db(source.db), names, undo=undo, lock_timeout=source.lock_timeout)
    for scope, name in found:
        done = "restored" if undo else f"hidden; undo with bench forget --undo {name}"
        info(f"{scope} {name} {done}")
