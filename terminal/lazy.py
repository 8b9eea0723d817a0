"""Commands that are imported when they are asked for: a start waits for one, not for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import typer
from typer.main import get_command

if TYPE_CHECKING:
    from typer._click import Command


class LazyCommands(MutableMapping[str, "Command"]):
    """Commands by name; NAME of `names` is the function NAME in `commands/NAME.py`."""

    def __init__(
        self, made: Mapping[str, Command], names: Sequence[str], settings: dict[str, object]
    ) -> None:
        self._settings = settings
        self._made: dict[str, Command | None] = {**dict.fromkeys(names), **made}

    def __getitem__(self, name: str) -> Command:
        made = self._made[name]
        if made is None:
            module = import_module(f".commands.{name}", __package__)
            one = typer.Typer(
                add_completion=False, rich_markup_mode=None, context_settings=self._settings
            )
            one.command(name)(getattr(module, name))
            made = self._made[name] = get_command(one)
        return made

    def __setitem__(self, name: str, command: Command) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)
