"""The command line: parse, one library call, print."""

from __future__ import annotations

from typing import Annotated

import typer

from . import commands
from .schema import own_process
from .terminal.command_group import Commands, application
from .terminal.messages import run


class Program(Commands):
    """The commands of bench, each in its file."""

    package = commands.__name__
    names = staticmethod(commands.names)
    aliases = commands.ALIASES


app = application("A warehouse and reporter for LLM-training benchmark results.", Program)


def _version(requested: bool) -> None:
    if requested:
        from .vocabulary.release import VERSION

        typer.echo(f"bench {VERSION}")
        raise typer.Exit


@app.callback()
def bench(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A warehouse and reporter for LLM-training benchmark results.

    Commands that read also take paths, with no setup: bench report README.md
    """


def main() -> None:
    """Run the command line and exit with its code."""
    own_process.begin()
    run(app)


__all__ = ["app", "main"]
