"""`bench forget`: hide sources or runs ingested by mistake."""

from __future__ import annotations

from typing import Annotated

import typer

from ..schema.errors import BenchError
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
    purge: Annotated[
        bool, typer.Option("--purge", help="Delete sources for good, every byte of them.")
    ] = False,
) -> None:
    """Hide sources or runs from all reports; --undo restores them.

    Nothing is deleted, but by --purge.
    """
    from ..project.settings import find_db
    from ..reports.forget import forget as hide
    from ..reports.forget import purge_sources

    if purge and undo:
        raise BenchError("--purge cannot be undone", hint="give one of --purge and --undo")
    if purge:
        for uri in purge_sources(find_db(source.db), names, lock_timeout=source.lock_timeout):
            info(f"{uri} deleted, and the warehouse written anew; backups still have it")
        return
    found = hide(find_db(source.db), names, undo=undo, lock_timeout=source.lock_timeout)
    for scope, name in found:
        done = "restored" if undo else f"hidden; undo with bench forget --undo {name}"
        info(f"{scope} {name} {done}")
