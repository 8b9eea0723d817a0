"""`bench explain`: the derivation of a number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..decide.query import Query
from ..project.facts import facts_of
from ..project.settings import find_db
from ..schema.errors import BenchError
from ..schema.location import is_there
from ..schema.own_process import calculate_alone
from ..terminal import options as o
from ..terminal.messages import info
from ..terminal.size_options import SIZES, checked_sizes
from ..terminal.source import Source
from ..terminal.tables import emit
from ..vocabulary.format import counted
from ..vocabulary.output_recording import note_source

if TYPE_CHECKING:
    from ..schema.warehouse import Warehouse

_METRIC = re.compile(r"[a-z][a-z_]+")
_PLACE = re.compile(r".+:\d+")


class ExplainFormat(StrEnum):
    """The formats of `bench explain`."""

    TREE = "tree"
    JSON = "json"


_SIZES = {name: option for name, option in SIZES.items() if name != "nodes"}  # one of o.DAYS


@o.command(
    query=(*o.SELECTION, *o.DAYS, "tokens", "steps", "all_rows", "prices"),
    groups={"sizes": _SIZES},
    kept=True,
)
def explain(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="RUN[.METRIC], FILE:LINE[:COLUMN], A / B, a number (145.92), a formula (F7) or"
            " prediction (of the sizes below).",
        ),
    ],
    source: Source,
    query: Query,
    sizes: Mapping[str, Any],
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="COLUMN", help="--by of bench compare or bench best."),
    ] = None,
    base: Annotated[
        str | None, typer.Option("--base", metavar="VALUE", help="--base of bench compare.")
    ] = None,
    format: Annotated[
        ExplainFormat, typer.Option("--format", help="Output format.")
    ] = ExplainFormat.TREE,
    output: o.Output = None,
) -> None:
    """Trace a number to its formula, inputs and source lines."""
    calculate_alone()

    from ..explain.output import as_json, as_tree
    from ..explain.prediction import WORD, explain_prediction
    from ..explain.target import explain as answer
    from ..project.short_names import ShortNames
    from ..vocabulary.release import VERSION

    what, source = _in_order(what, source)
    every, query = query.all_rows, replace(query, by=by, base=base, all_rows=True)
    root = source.root
    if not source.paths:
        note_source(committed=False)  # lines are shown from the files
    with _open(source, what) as warehouse:
        if what == WORD:
            nodes = {"nodes": query.nodes} if query.nodes else {}
            found = explain_prediction(warehouse, root, query, {**checked_sizes(sizes), **nodes})
        elif sizes:
            raise BenchError(
                f"--{min(sizes).replace('_', '-')} applies only to predictions",
                why=f"{what} is explained as measured", hint="bench explain prediction ...",
            )  # fmt: skip
        else:
            found = answer(
                warehouse, root, what, query=query, every=every, facts=facts_of(warehouse, root)
            )
        names = ShortNames.of(warehouse)
    text = as_json(found, VERSION) if format is ExplainFormat.JSON else as_tree(found, names.short)
    emit(text, output, name="explain.txt")
    number = len(found.matches) + found.more
    info(counted(number, "answer"))


def _in_order(what: str, source: Source) -> tuple[str, Source]:
    """Turn METRIC RUN into RUN.METRIC, if the first path is the place of a run and not a file."""
    first, *paths = source.paths or [Path()]
    if not _METRIC.fullmatch(what) or not _PLACE.fullmatch(str(first)) or first.exists():
        return what, source
    return f"{first}.{what}", replace(source, paths=tuple(paths))


def _open(source: Source, what: str) -> Warehouse:
    """Open the warehouse; an empty one for a formula or rule, which needs no runs."""
    from ..explain.formula import formula_named, no_formula, rule_named
    from ..schema.opening import in_memory

    if source.db is None and not source.paths and not is_there(find_db(None)):
        if formula_named(what) or rule_named(what):
            return in_memory()
        if problem := no_formula(what):
            raise problem
    return source.opened(audited=False)
