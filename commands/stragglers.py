"""`bench stragglers`: slow or failing hosts."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from ..decide.query import Query
from ..terminal import options as o
from ..terminal.answers import write
from ..terminal.messages import info
from ..terminal.source import Source
from ..vocabulary.format import counted


class By(StrEnum):
    """The kind of jobs that hosts are tested for."""

    SLOW = "slow"
    FAILED = "failed"


@o.command(query=("model", "where", "document", "all_rows", "columns"))
def stragglers(
    source: Source,
    query: Query,
    by: Annotated[By, typer.Option("--by", help="Look for hosts in these jobs.")] = By.SLOW,
    slower: Annotated[
        float | None,
        typer.Option(
            "--slower",
            metavar="PERCENT",
            parser=o.parse_share,
            help="Slow: so much over the median of its configuration. Default: 5%.",
        ),
    ] = None,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """Find hosts that are in slow or failed jobs more often than chance."""
    from ..decide.stragglers import SLOWER
    from ..decide.stragglers import stragglers as found
    from ..reports.computed import names_of, presented

    query = replace(query, by=by.value)
    with source.opened() as warehouse:
        made = found(warehouse, query, SLOWER if slower is None else slower)
        names = names_of(warehouse)
    answer = presented(made, names, query.most)
    write(answer, query, format, output, "stragglers.md")
    info(f"{counted(made.facts['hosts'], 'host')} in {counted(made.facts['jobs'], 'job')}")
