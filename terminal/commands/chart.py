"""`bench chart`: draw one chart by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import options as o


def chart(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="effects, efficiency, pareto or days.")
    ],
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Logs, tables or folders; none: the warehouse."),
    ] = None,
    told: o.Tell = None,
    db: o.Db = None,
    model: o.Model = None,
    table: o.Table = None,
    where: o.Where = None,
    since: o.Since = None,
    document: o.Document = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="COLUMN", help="Of effects: what is compared.")
    ] = None,
    steps: o.Steps = None,
    tokens: o.Tokens = None,
    size: Annotated[
        str | None, typer.Option("--size", metavar="W:H", help="The shape of a slide: 16:9.")
    ] = None,
    footer: Annotated[
        bool, typer.Option("--footer", help="Say below where the numbers come from.")
    ] = False,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Draw one chart as SVG or PNG: paired effects, efficiency, devices against days, days."""
    from ...decide.asked import Asked
    from ..answers import Source
    from ..charting import chart as draw

    asked = Asked(model, table, where, since, document, True, tokens, steps)
    source = Source(db, tuple(paths or ()), lock_timeout)
    draw(name, source, asked, by, size, footer, output)
