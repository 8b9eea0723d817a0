"""`bench best`: which configuration is best."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from .. import options as o


class By(StrEnum):
    """What configurations are ranked by."""

    TOKENS_PER_S = "tokens_per_s"
    TFLOPS = "tflops"
    MEM = "mem"
    DEVICE_HOURS = "device_hours"


def best(
    paths: o.Paths = None,
    told: o.Tell = None,
    db: o.Db = None,
    model: o.Model = None,
    table: o.Table = None,
    where: o.Where = None,
    since: o.Since = None,
    document: o.Document = None,
    by: Annotated[By, typer.Option("--by", help="What counts as best.")] = By.TOKENS_PER_S,
    neighbours: Annotated[
        bool,
        typer.Option("--neighbours", help="Plan what was never run next to the best."),
    ] = False,
    all_rows: o.All = False,
    steps: o.Steps = None,
    tokens: o.Tokens = None,
    columns: o.Columns = None,
    group: o.Group = None,
    format: o.Format = None,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Rank configurations by tokens/s: ties, models of other shapes, devices against days."""
    from ...decide.asked import Asked
    from .. import deciding
    from ..answers import Source

    asked = Asked(model, table, where, since, document, all_rows, tokens, steps, columns, group)
    source = Source(db, tuple(paths or ()), lock_timeout)
    deciding.best(source, asked, by.value, neighbours, format, output)
