"""`bench trend`: a metric over time."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..decide.query import Query
from ..schema.errors import FINE, FOUND
from ..terminal import options as o
from ..terminal.answers import write
from ..terminal.messages import info
from ..terminal.source import Source
from ..terminal.tables import choose_format
from ..vocabulary.format import counted

if TYPE_CHECKING:
    from ..decide.rows import Decision
    from ..project.short_names import ShortNames


class FailOn(StrEnum):
    """The conditions under which `bench trend` fails."""

    REGRESSION = "regression"
    NEVER = "never"


@o.command(query=("model", "where", "document", "all_rows", "columns"))
def trend(
    metric: Annotated[
        str, typer.Argument(metavar="METRIC", help="step_time, tokens_per_s, tflops, memory, ...")
    ],
    source: Source,
    query: Query,
    by: Annotated[
        str,
        typer.Option(
            "--by", metavar="date|commit|version|revision|NAME", help="What orders the runs."
        ),
    ] = "date",
    since: o.RanSince = None,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Exit 1 where the newest level is worse.")
    ] = FailOn.NEVER,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            metavar="PERCENT",
            parser=o.parse_share,
            help="Smallest change that fails, e.g. 3%.",
        ),
    ] = None,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """Follow a metric over time: levels, change points, the newest runs; -o FILE.svg draws it."""
    from ..decide.trend import trend as found
    from ..reports.computed import names_of, presented

    query = replace(query, by=by, since=since)
    drawn = output is not None and output.suffix.lower() in (".svg", ".png")
    if not drawn:
        choose_format(format, output)  # raises for an unsupported suffix, before the work
    with source.opened() as warehouse:
        made = found(warehouse, query, metric, threshold or 0.0)
        names = names_of(warehouse)
    if drawn and output is not None:
        _draw(made, names, output)
    else:
        write(presented(made, names, query.most), query, format, output, "trend.md")
    worse = len(made.facts["worse"])
    count = len(made.facts["newest"])
    info(f"{counted(count, 'configuration')}, {worse} worse")
    raise typer.Exit(FOUND if worse and fail_on is FailOn.REGRESSION else FINE)


def _draw(decision: Decision, names: ShortNames, output: Path) -> None:
    from ..reports.chart import write as write_chart
    from ..reports.trend_chart import trend_picture

    write_chart(trend_picture(names, decision), output)
    info(f"wrote {output}")
