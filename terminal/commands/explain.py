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
            help="RUN[.METRIC], FILE:LINE[:COLUMN], a number such as 145.92, or a formula: F7.",
        ),
    ],
    paths: o.Paths = None,
    told: o.Tell = None,
    db: o.Db = None,
    model: o.Model = None,
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
    from ..explaining import Question
    from ..explaining import explain as answer

    answer(db, paths or [], Question(what, model, tokens, steps, all_rows), format, output,
           lock_timeout)  # fmt: skip
