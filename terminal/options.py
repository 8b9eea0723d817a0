"""Options shared by commands."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, get_type_hints

import typer

from ..decide.query import Query, TableRef
from ..project.settings import read_settings
from ..schema.errors import BenchError
from ..vocabulary.prices import Price, Prices, parse_price
from ..vocabulary.sizes import parse_whole
from . import tables
from .messages import volume
from .source import LOCK_TIMEOUT as LOCK_TIMEOUT
from .source import Source, parse_overrides
from .time_options import parse_known_at, parse_since


@dataclass(frozen=True)
class Shared:
    """One shared option: its names, its metavar ('' for a flag), its help."""

    names: tuple[str, ...]
    metavar: str
    help: str


_MOST = 1e18  # of any option; a training has 1e14 tokens
SHARED = {
    "db": Shared(
        ("--db",),
        "PATH",
        "Warehouse: a file, folder:DIR or ducklake:CATALOG. "
        "Default: BENCH_DB, bench.toml, ./bench.duckdb.",
    ),
    "model": Shared(("--model",), "LABEL", "Only runs of this model, e.g. 1.3B."),
    "table": Shared(("--table",), "FILE[:N]", "Only tables of FILE (N: number or line)."),
    "where": Shared(("--where",), "EXPR", "Row filter, e.g. 'tp = 4 and mbs > 1'."),
    "since": Shared(
        ("--since",), "DATE|AGO", "Only sources ingested on or after DATE, or '7 days' ago."
    ),
    "columns": Shared(("--columns",), "A,B,C", "Columns to show, in this order."),
    "group": Shared(("--group",), "A,B,C", "Group by these columns."),
    "format": Shared(
        ("--format",), "table|md|csv|tsv|json|html", "Format (default: table, or md if piped)."
    ),
    "output": Shared(("-o", "--output"), "FILE|DIR", "Write here instead of to stdout."),
    "quiet": Shared(("-q", "--quiet"), "", "Print errors only."),
    "verbose": Shared(("-v", "--verbose"), "", "Print more detail."),
    "lock-timeout": Shared(("--lock-timeout",), "SECONDS", "Maximum wait for a locked warehouse."),
    "document": Shared(("--document",), "NAME", "Only rows from this source document."),
    "all": Shared(("--all",), "", "Include rows hidden by default."),
    "steps": Shared(("--steps",), "N", "Training length in steps (of each run's batch)."),
    "tokens": Shared(("--tokens",), "N", "Training length in tokens, e.g. 380B."),
    "templates": Shared(("--templates",), "DIR", "Directory of custom templates."),
    "set": Shared(("--set",), "NAME=VALUE,...", "Missing values, e.g. device=A64FX,nodes=64."),
}


def parse_count(text: str) -> int:
    """Parse a whole number: 380B, 1.3e12, 379,584,512,000, 362_000."""
    value = parse_whole(text)
    if value is None:
        raise typer.BadParameter(
            f"{text!r} is not a positive integer; use e.g. 380B, 1.3e12 or 362,000."
        )
    return value


def parse_share(text: str) -> float:
    """Parse a fraction: 0.9, 90%."""
    match = re.fullmatch(r"\s*(\d{0,3}(?:\.\d{1,9})?)\s*(%?)\s*", text)
    share = float(match[1]) / (100 if match[2] else 1) if match and match[1] else 0.0
    if not 0.01 <= share <= 1:
        raise typer.BadParameter(f"{text!r} is not a fraction in 0.01-1; use e.g. 0.9 or 90%.")
    return share


def parse_price_of(text: str) -> Price:
    """Parse the price of a device-hour: 2.10, USD 2.10, 2.10 EUR."""
    price = parse_price(text)
    if price is None:
        raise typer.BadParameter(f"{text!r} is not a price; use e.g. 2.10 or 'USD 2.10'.")
    return price


def parse_output(text: str) -> Path:
    """A file or a folder. Raises BenchError for an empty text, which Path takes for this folder."""
    if not text:
        raise BenchError("-o names no file", hint="give a file or a folder; . is this folder")
    return Path(text)


def parse_table(text: str) -> TableRef:
    """Parse `FILE` or `FILE:N`, with N from 1."""
    file, colon, number = text.rpartition(":")
    if not colon or not number.isascii() or not number.isdigit():
        return TableRef(text)
    if not file or int(number[:9]) < 1:
        raise typer.BadParameter(f"{text!r} is not FILE or FILE:N with N >= 1.")
    return TableRef(file, int(number[:9]))


def _set_quiet(value: bool) -> bool:
    volume.quiet = value
    return value


def _set_verbose(value: bool) -> bool:
    volume.verbose = value
    return value


def _option(name: str, **more: Any) -> Any:  # Any: typer's own type for an option's description
    shared = SHARED[name]
    given = {"metavar": shared.metavar, **more} if shared.metavar else more
    return typer.Option(*shared.names, help=shared.help, **given)


def _parsed(name: str, parser: Callable[[str], object]) -> Any:  # Any: as above
    return _option(name, parser=parser, show_default=False)


Paths = Annotated[
    list[Path] | None,
    typer.Argument(metavar="PATH", help="Logs, tables or directories. Default: the warehouse."),
]
Db = Annotated[Path | None, _option("db", show_default=False)]
Model = Annotated[str | None, _option("model")]
Table = Annotated[TableRef | None, _parsed("table", parse_table)]
Where = Annotated[str | None, _option("where")]
Since = Annotated[datetime | None, _parsed("since", parse_since)]
RanSince = Annotated[
    datetime | None,
    typer.Option(
        "--since",
        metavar="DATE|'7 days'",
        parser=parse_since,
        show_default=False,
        help="Only runs that ran on or after DATE, or so long ago.",
    ),
]
Columns = Annotated[str | None, _option("columns")]
Group = Annotated[str | None, _option("group")]
Format = Annotated[tables.Format | None, _option("format", case_sensitive=False)]
Output = Annotated[Path | None, _parsed("output", parse_output)]
Quiet = Annotated[bool, _option("quiet", callback=_set_quiet)]
Verbose = Annotated[bool, _option("verbose", callback=_set_verbose)]
LockTimeout = Annotated[float, _option("lock-timeout", min=0)]
Document = Annotated[str | None, _option("document")]
All = Annotated[bool, _option("all")]
Steps = Annotated[int | None, _parsed("steps", parse_count)]
Tokens = Annotated[int | None, _parsed("tokens", parse_count)]
Overrides = Annotated[list[str] | None, _option("set", show_default=False)]
Templates = Annotated[Path | None, _option("templates")]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="DATE|COMMIT",
        help="Documents as they were then, by the histories read in.",
    ),
]
KnownAt = Annotated[
    Any,  # datetime | int | None, of which typer takes no union
    typer.Option(
        "--known-at",
        metavar="TIME|NUMBER",
        parser=parse_known_at,
        show_default=False,
        help="The content of the warehouse at that time, UTC, or at that commit of a shared one.",
    ),
]

# Options of `bench days`, and of `bench explain` for its numbers.
Nodes = Annotated[
    int | None, typer.Option("--nodes", metavar="N", min=1, help="Only runs on N nodes.")
]
PriceOf = Annotated[
    Price | None,
    typer.Option(
        "--price",
        metavar="PRICE",
        parser=parse_price_of,
        show_default=False,
        help="Price of a device-hour: 2.10 or 'USD 2.10'. Default: [prices] of bench.toml.",
    ),
]
Goodput = Annotated[
    float | None,
    typer.Option(
        "--goodput",
        metavar="FRACTION",
        parser=parse_share,
        help="Fraction of time spent training, e.g. 90%.",
    ),
]
RampUp = Annotated[
    str | None,
    typer.Option(
        "--ramp-up", metavar="START,INC,SAMPLES", help="Batch-size ramp-up, e.g. 32,32,1953125."
    ),
]
Extrapolate = Annotated[
    bool, typer.Option("--extrapolate", help="Extrapolate to unmeasured --nodes.")
]

Options = Mapping[str, tuple[Any, object]]  # parameter -> typer's annotation, default

# All options that are fields of a Source or a Query.
_SOURCE: Options = {
    "paths": (Paths, None), "overrides": (Overrides, None), "db": (Db, None),
    "as_of": (AsOf, None), "known_at": (KnownAt, None),
}  # fmt: skip
PAST = ("as_of", "known_at")  # fields of a Source for an earlier time
_QUERY: Options = {
    "model": (Model, None), "table": (Table, None), "where": (Where, None),
    "since": (Since, None), "document": (Document, None), "nodes": (Nodes, None),
    "goodput": (Goodput, None), "ramp_up": (RampUp, None), "extrapolate": (Extrapolate, False),
    "all_rows": (All, False), "steps": (Steps, None), "tokens": (Tokens, None),
    "columns": (Columns, None), "group": (Group, None), "prices": (PriceOf, None),
}  # fmt: skip
# Fields of a Query shared by several commands.
SELECTION = ("model", "table", "where", "since", "document")
DAYS = ("nodes", "goodput", "ramp_up", "extrapolate")
LISTING = ("all_rows", "steps", "tokens", "columns", "group")

_VOLUME: Options = {"quiet": (Quiet, False), "verbose": (Verbose, False)}
_TIMEOUT: Options = {"lock_timeout": (LockTimeout, LOCK_TIMEOUT)}


def command(
    *,
    source: Sequence[str] = ("paths", "overrides", "db"),
    query: Sequence[str] = (),
    groups: Mapping[str, Options] = MappingProxyType({}),
    kept: bool = False,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a command: its parameters of type Source and Query become options.

    `source` and `query` are the fields with an option; `groups` has the options of parameters
    that are mappings, which get the given values by name. Every command has --quiet and --verbose,
    those with a Source also --lock-timeout. Its answers are `kept` if they follow from the
    warehouse and the options (`answer_cache.py`).
    """

    def expand(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        kinds = {hint: name for name, hint in hints.items() if hint in (Source, Query)}
        last = {**_VOLUME, **(_TIMEOUT if Source in kinds else {})}
        parameters: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(function).parameters.items():
            if hints[name] is Source:
                parameters += _parameters({one: _SOURCE[one] for one in source})
            elif hints[name] is Query:
                parameters += _parameters({one: _QUERY[one] for one in query})
            else:
                parameters += _parameters(
                    groups.get(name, {name: (hints[name], parameter.default)})
                )

        def call(**given: Any) -> None:  # Any: values of all options
            _require_quantities(given)
            if Query in kinds:
                lengths = read_settings().lengths if "tokens" in query else {}
                fields = {name: given.pop(name) for name in query}
                if "prices" in query:
                    price = fields["prices"]
                    fields["prices"] = Prices(price) if price else read_settings().prices
                given[kinds[Query]] = Query(**fields, lengths=lengths)
            if Source in kinds:
                fields = {name: given.pop(name) for name in (*source, "lock_timeout")}
                given[kinds[Source]] = _source(**fields)
            for group, options in groups.items():
                values = {name: given.pop(name) for name in options}
                given[group] = {name: one for name, one in values.items() if one is not None}
            for name in _VOLUME:
                del given[name]
            if kept:
                from .answer_cache import answer

                answer(function, given)
            else:
                function(**given)

        call.__doc__, call.__name__ = function.__doc__, function.__name__
        parameters += _parameters(last)
        # typer reads the options from the signature.
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # no attribute of a function's type
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return call

    return expand


def _require_quantities(given: Mapping[str, object]) -> None:
    """Raises BenchError for a number that no formula takes: infinite, or of 40 digits."""
    for name, value in given.items():
        if isinstance(value, (int, float)) and not abs(value) < _MOST:
            raise BenchError("a number is out of range", why=f"{name} = {str(value)[:40]}",
                             hint="give a finite number of at most 1e18")  # fmt: skip


def _source(
    paths: Sequence[Path] | None = None, overrides: Sequence[str] | None = None, **more: Any
) -> Source:
    given = parse_overrides(overrides) if overrides else {}
    return Source(paths=tuple(paths or ()), overrides=given, **more)


def _parameters(named: Options) -> list[inspect.Parameter]:
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, (kind, default) in named.items()
    ]
