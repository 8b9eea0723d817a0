"""`bench explain`: where a number comes from."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from .. import options as o


class ExplainFormat(StrEnum):
    """The formats of `bench explain`."""

    TREE = "tree"
    JSON = "json"


def explain(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="RUN[.METRIC], FILE:LINE[:COLUMN], A / B, a number such as 145.92, a formula: F7.",
        ),
    ],
    paths: o.Paths = None,
    told: o.Tell = None,
    db: o.Db = None,
    model: o.Model = None,
    table: o.Table = None,
    where: o.Where = None,
    since: o.Since = None,
    document: o.Document = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="COLUMN", help="What bench compare compared, or bench best ranked by."
        ),
    ] = None,
    base: Annotated[
        str | None, typer.Option("--base", metavar="VALUE", help="The base of bench compare.")
    ] = None,
    nodes: o.Nodes = None,
    goodput: o.Goodput = None,
    ramp_up: o.RampUp = None,
    extrapolate: o.Extrapolate = False,
    tokens: o.Tokens = None,
    steps: o.Steps = None,
    all_rows: o.All = False,
    format: Annotated[
        ExplainFormat, typer.Option("--format", help="A tree of text, or JSON.")
    ] = ExplainFormat.TREE,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Show where a number comes from: formula, inputs and units, down to file, line and text."""
    from ...decide.asked import Asked, Length
    from ...explain.decision import Question
    from ..explaining import explain as answer

    asked = Asked(model, table, where, since, document, True, tokens, steps)
    question = Question(asked, Length(nodes, goodput, ramp_up, extrapolate), by, base)
    answer(db, paths or [], what, question, all_rows, format, output, lock_timeout)
