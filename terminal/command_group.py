"""The command group: commands imported on demand, shared options before or after the command."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
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
    # For mypy, typer's own copy of click; not used at run time.
    from typer._click import Command, Context, HelpFormatter

BY_NAME = {name: shared for shared in SHARED.values() for name in shared.names}
_LISTING = {"compare": ("--by",)}  # options that list their choices if no value is given
_SETTINGS = {"help_option_names": ["-h", "--help"]}


class Commands(TyperGroup):
    """A group of commands that accepts shared options before the command, too.

    Commands with a file are imported on demand, so that starting imports only one.
    """

    package = ""  # the package of the files
    names: Callable[[], list[str]] = list
    aliases: Mapping[str, str] = MappingProxyType({})  # alternative names, not listed in help

    def __init__(self, **given: Any) -> None:  # Any: typer's options of a group
        super().__init__(**given)
        # Suggestions for a misspelt command need all names; None until imported.
        unimported: dict[str, Any] = dict.fromkeys(type(self).names())
        self.commands = {**unimported, **self.commands}

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Move leading shared options after the command, which parses them."""
        skip_validation(self, ctx)
        own, moved, rest = hoist(args)
        if rest and _size(rest[0]):
            if not ctx.resilient_parsing:
                ctx.fail(f"Option {rest[0]!r} requires an argument.")
            rest = []
        words = list(_completed(rest))
        return super().parse_args(ctx, [*own, *words[:1], *moved, *words[1:]] if rest else own)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """A command by name or alias; plain option values skip validation."""
        name = self.aliases.get(cmd_name, cmd_name)
        if name in self.commands and self.commands[name] is None:
            function = getattr(import_module(f"{self.package}.{name}"), name)
            if not isinstance(function, typer.Typer):
                single = _plain()
                single.command(name)(function)
                function = single
            self.commands[name] = get_command(function)
        command = super().get_command(ctx, name)
        if command is not None:
            skip_validation(command, ctx)
        return command

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """List each command with the first line of its docstring, without importing it."""
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
        """List the commands, then the shared options."""
        super().format_options(ctx, formatter)
        with formatter.section("Shared options (before or after the command)"):
            formatter.write_dl([(_term(shared), shared.help) for shared in SHARED.values()])


def _completed(words: list[str]) -> Iterator[str]:
    """The words, with an empty value for an option that lists its choices where it has none."""
    listing = _LISTING.get(words[0], ()) if words else ()
    for at, word in enumerate(words):
        yield word
        if word in listing and (words[at + 1 : at + 2] or ["-"])[0].startswith("-"):
            yield ""


def _docstring(package: str, name: str) -> str | None:
    """The docstring of a command's function in its file; None for a group."""
    folder = Path(import_module(package).__path__[0])
    tree = ast.parse((folder / f"{name}.py").read_text("utf-8"))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return next(
        (ast.get_docstring(function) for function in functions if function.name == name), None
    )


def hoist(args: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Split arguments: the group's options, shared options, the rest from the command on.

    The rest begins with a shared option only if that lacks its value.
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
    """The number of arguments of a shared option, 0 for another: `-o X` 2, `-oX` and `-qv` 1."""
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
    """A program that accepts the shared options; plain help, fast start."""
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
    """A group of subcommands: `bench db check`."""

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """List the commands; shared options are in their own help."""
        TyperGroup.format_options(self, ctx, formatter)


def group(help: str, *functions: Callable[..., None]) -> typer.Typer:
    """A group of subcommands named after their functions."""
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
