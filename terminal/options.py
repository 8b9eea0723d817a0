"""The options that commands share, accepted before and after the command word."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from ..reports.table_ref import TableRef
from . import tables
from .lazy import LazyCommands
from .light import lighten
from .messages import volume
from .telling import asked, parse

if TYPE_CHECKING:
    # mypy sees typer's own copy of click; nothing of it is named at run time.
    from typer._click import Command, Context, HelpFormatter


@dataclass(frozen=True)
class Shared:
    """One shared option: its names, its value's name (none: a flag), its help."""

    names: tuple[str, ...]
    metavar: str
    help: str


SHARED = {
    "db": Shared(
        ("--db",), "PATH", "Warehouse file. First of: --db, BENCH_DB, bench.toml, ./bench.duckdb."
    ),
    "model": Shared(("--model",), "LABEL", "Only runs of this model, such as 1.3B."),
    "table": Shared(("--table",), "FILE[:N]", "Only FILE's tables, its N-th, or that of line N."),
    "where": Shared(("--where",), "EXPR", "Only rows for which EXPR holds: 'tp = 4 and mbs > 1'."),
    "since": Shared(("--since",), "DATE", "Only sources read in at or after DATE."),
    "columns": Shared(("--columns",), "A,B,C", "Show these columns, in this order."),
    "group": Shared(("--group",), "A,B,C", "One row for each value of these columns."),
    "format": Shared(("--format",), "table|md|csv|tsv|json|html", "Default: table, md in a pipe."),
    "output": Shared(("-o", "--output"), "FILE|FOLDER", "Write here instead of to stdout."),
    "quiet": Shared(("-q", "--quiet"), "", "Say nothing but errors."),
    "verbose": Shared(("-v", "--verbose"), "", "Say more."),
    "lock-timeout": Shared(
        ("--lock-timeout",), "SECONDS", "How long to wait for a locked warehouse."
    ),
    "document": Shared(("--document",), "NAME", "Only what this source document holds."),
    "all": Shared(("--all",), "", "Every row, those left out of the short listing too."),
    "steps": Shared(("--steps",), "N", "Length of the training in steps of each run's own batch."),
    "tokens": Shared(("--tokens",), "N", "Length of the training in tokens: 380B, 1.3e12."),
    "templates": Shared(("--templates",), "FOLDER", "Templates that go before the built-in ones."),
    "set": Shared(("--set",), "NAME=VALUE,...", "What PATH does not state: device=A64FX,nodes=64."),
}
BY_NAME = {name: shared for shared in SHARED.values() for name in shared.names}
LOCK_TIMEOUT = 5.0
UNITS = {"": 0, "K": 3, "M": 6, "G": 9, "B": 9, "T": 12}


class Commands(TyperGroup):
    """A group of commands that takes shared options in front of the command word too."""

    files: tuple[str, ...] = ()  # the commands that have a file

    def __init__(self, **given: Any) -> None:  # Any: typer's own options of a group
        super().__init__(**given)
        self.commands = LazyCommands(self.commands, self.files, given["context_settings"])

    def list_commands(self, ctx: Context) -> list[str]:
        """The names of the commands, without importing them."""
        return list(self.commands)

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Move leading shared options behind the command word, where the command reads them."""
        lighten(self, ctx)
        own, moved, rest = hoist(args)
        if rest and _size(rest[0]):
            if not ctx.resilient_parsing:
                ctx.fail(f"Option {rest[0]!r} requires an argument.")
            rest = []
        return super().parse_args(ctx, [*own, *rest[:1], *moved, *rest[1:]] if rest else own)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """A command, whose plain values need no check."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            lighten(command, ctx)
        return command

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """List the commands, then what many of them share."""
        super().format_options(ctx, formatter)
        with formatter.section("Shared options, before or after the command"):
            formatter.write_dl([(_term(shared), shared.help) for shared in SHARED.values()])


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
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def parse_count(text: str) -> int:
    """A whole number as people write it: 380B, 1.3e12, 379,584,512,000, 362_000."""
    bare = re.sub(r"(?<=\d)[,_](?=\d{3}(?!\d))", "", text.strip())
    found = re.fullmatch(r"(\d{1,30}(?:\.\d{1,30})?(?:e\+?\d{1,2})?)\s*([KMGBT]?)", bare, re.I)
    value = Decimal(found[1]).scaleb(UNITS[found[2].upper()]) if found else Decimal(0)
    if value <= 0 or value != int(value):
        what = f"{text!r} is no whole number above zero"
        raise typer.BadParameter(f"{what}; write 380B, 1.3e12 or 362,000.")
    return int(value)


def parse_share(text: str) -> float:
    """A share of the time as people write it: 0.9, 90%."""
    found = re.fullmatch(r"\s*(\d{0,3}(?:\.\d{1,9})?)\s*(%?)\s*", text)
    share = float(found[1]) / (100 if found[2] else 1) if found and found[1] else 0.0
    if not 0.01 <= share <= 1:
        raise typer.BadParameter(f"{text!r} is no share of the time; write 0.9 or 90%.")
    return share


def parse_table(text: str) -> TableRef:
    """`FILE` or `FILE:N`, N counted from 1."""
    file, colon, number = text.rpartition(":")
    if not colon or not number.isascii() or not number.isdigit():
        return TableRef(text)
    if not file or int(number[:9]) < 1:
        raise typer.BadParameter(f"{text!r} is not FILE or FILE:N with N from 1.")
    return TableRef(file, int(number[:9]))


def _set_quiet(value: bool) -> bool:
    volume.quiet = value
    return value


def _set_verbose(value: bool) -> bool:
    volume.verbose = value
    return value


def _set_told(value: list[str] | None) -> list[str] | None:
    asked.told = parse(value) if value else {}
    return value


def _term(shared: Shared) -> str:
    return f"{', '.join(shared.names)} {shared.metavar}".rstrip()


def _option(name: str, **more: Any) -> Any:  # Any: typer's own type for an option's description
    shared = SHARED[name]
    given = {"metavar": shared.metavar, **more} if shared.metavar else more
    return typer.Option(*shared.names, help=shared.help, **given)


def _parsed(name: str, parser: Callable[[str], object]) -> Any:  # Any: as above
    return _option(name, parser=parser, show_default=False)


DATES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"]

Paths = Annotated[
    list[Path] | None,
    typer.Argument(metavar="PATH", help="Logs, tables or folders; none: the warehouse."),
]
Db = Annotated[Path | None, _option("db", show_default=False)]
Model = Annotated[str | None, _option("model")]
Table = Annotated[TableRef | None, _parsed("table", parse_table)]
Where = Annotated[str | None, _option("where")]
Since = Annotated[datetime | None, _option("since", formats=DATES)]
Columns = Annotated[str | None, _option("columns")]
Group = Annotated[str | None, _option("group")]
Format = Annotated[tables.Format | None, _option("format", case_sensitive=False)]
Output = Annotated[Path | None, _option("output")]
Quiet = Annotated[bool, _option("quiet", callback=_set_quiet)]
Verbose = Annotated[bool, _option("verbose", callback=_set_verbose)]
LockTimeout = Annotated[float, _option("lock-timeout", min=0)]
Document = Annotated[str | None, _option("document")]
All = Annotated[bool, _option("all")]
Steps = Annotated[int | None, _parsed("steps", parse_count)]
Tokens = Annotated[int | None, _parsed("tokens", parse_count)]
Tell = Annotated[list[str] | None, _option("set", callback=_set_told, show_default=False)]
Templates = Annotated[Path | None, _option("templates")]

# What `bench days` asks, and whoever explains its numbers.
Nodes = Annotated[
    int | None, typer.Option("--nodes", metavar="N", min=1, help="Only runs on N nodes.")
]
Goodput = Annotated[
    float | None,
    typer.Option(
        "--goodput",
        metavar="SHARE",
        parser=parse_share,
        help="Share of the time that trains: 0.9, 90%.",
    ),
]
RampUp = Annotated[
    str | None,
    typer.Option("--ramp-up", metavar="START,INC,SAMPLES", help="The batch grows: 32,32,1953125."),
]
Extrapolate = Annotated[
    bool, typer.Option("--extrapolate", help="Let fits tell of --nodes that nobody measured.")
]
