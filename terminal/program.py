"""A program of commands: imported when called for, shared options before and after their word."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from .options import SHARED, Shared
from .skip_validation import skip_validation

if TYPE_CHECKING:
    # mypy sees typer's own copy of click; nothing of it is named at run time.
    from typer._click import Command, Context, HelpFormatter

BY_NAME = {name: shared for shared in SHARED.values() for name in shared.names}
_SETTINGS = {"help_option_names": ["-h", "--help"]}


class Commands(TyperGroup):
    """A group of commands that takes shared options in front of the command word too.

    Commands that have a file are imported when they are called for: a start waits for one.
    """

    package = ""  # where these files lie
    names: Callable[[], list[str]] = list
    aliases: Mapping[str, str] = MappingProxyType({})  # other names, which help does not list

    def __init__(self, **given: Any) -> None:  # Any: typer's own options of a group
        super().__init__(**given)
        # Suggestions for a misspelt word need every name; None stands for what is not imported.
        unimported: dict[str, Any] = dict.fromkeys(type(self).names())
        self.commands = {**unimported, **self.commands}

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Move leading shared options behind the command word, where the command reads them."""
        skip_validation(self, ctx)
        own, moved, rest = hoist(args)
        if rest and _size(rest[0]):
            if not ctx.resilient_parsing:
                ctx.fail(f"Option {rest[0]!r} requires an argument.")
            rest = []
        return super().parse_args(ctx, [*own, *rest[:1], *moved, *rest[1:]] if rest else own)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """A command by its name or alias, whose plain values need no check."""
        name = self.aliases.get(cmd_name, cmd_name)
        if name in self.commands and self.commands[name] is None:
            function = getattr(import_module(f"{self.package}.{name}"), name)
            if not isinstance(function, typer.Typer):
                alone = _plain()
                alone.command(name)(function)
                function = alone
            self.commands[name] = get_command(function)
        command = super().get_command(ctx, name)
        if command is not None:
            skip_validation(command, ctx)
        return command

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """List each command with the first line of its docstring: to import all takes longer."""
        limit = formatter.width - 6 - max(map(len, self.commands))
        rows = [(name, self._summary(ctx, name, limit)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _summary(self, ctx: Context, name: str, limit: int) -> str:
        text = _docstring(self.package, name) if self.commands[name] is None else None
        command = TyperCommand(name, help=text) if text else self.get_command(ctx, name)
        assert command is not None, "a name that is listed has its command"
        return command.get_short_help_str(limit)

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """List the commands, then what many of them share."""
        super().format_options(ctx, formatter)
        with formatter.section("Shared options (before or after the command)"):
            formatter.write_dl([(_term(shared), shared.help) for shared in SHARED.values()])


def _docstring(package: str, name: str) -> str | None:
    """What the function of a command says of itself in its file, if it is one, not a group."""
    folder = Path(import_module(package).__path__[0])
    tree = ast.parse((folder / f"{name}.py").read_text("utf-8"))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return next((ast.get_docstring(one) for one in functions if one.name == name), None)


def hoist(args: list[str]) -> tuple[list[str], list[str], list[str]]:
    """The group's own options, the shared ones, and the rest from the command word on.

    The rest begins with a shared option only where that one lacks its value.
    """
    own: list[str] = []
    moved: list[str] = []
    at = 0
    while at < len(args) and args[at].startswith("-") and args[at] not in ("-", "--"):
        size = _size(args[at])
        if size == 2 and at + 1 == len(args):
            break
        (moved if size else own).extend(args[at : at + max(size, 1)])
        at += max(size, 1)
    return own, moved, args[at:]


def _size(word: str) -> int:
    """How many words a shared option takes (0: it is none of ours): `-o X` 2, `-oX` and `-qv` 1."""
    if not word.startswith("-"):
        return 0
    name, equals, _ = word.partition("=")
    if name in BY_NAME:
        return 2 if BY_NAME[name].metavar and not equals else 1
    if word.startswith("--"):
        return 0
    for position, letter in enumerate(word[1:], 2):
        if f"-{letter}" not in BY_NAME:
            return 0
        if BY_NAME[f"-{letter}"].metavar:
            return 2 if position == len(word) else 1
    return 1


def application(help: str, group: type[Commands] = Commands) -> typer.Typer:
    """A program with the shared options understood; plain help, quick to start."""
    return typer.Typer(
        cls=group,
        help=help,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=True,
        no_args_is_help=True,
        context_settings=_SETTINGS,
    )


class _Group(Commands):
    """Commands below a word of the program: `bench db check`."""

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """List the commands; what they share stands in their own help."""
        TyperGroup.format_options(self, ctx, formatter)


def group(help: str, *functions: Callable[..., None]) -> typer.Typer:
    """Commands below one word, each by the name of its function."""
    made = typer.Typer(
        cls=_Group,
        help=help,
        rich_markup_mode=None,
        add_completion=False,
        no_args_is_help=True,
        context_settings=_SETTINGS,
    )
    for function in functions:
        made.command(function.__name__)(function)
    return made


def _plain() -> typer.Typer:
    return typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=_SETTINGS)


def _term(shared: Shared) -> str:
    return f"{', '.join(shared.names)} {shared.metavar}".rstrip()
