"""`bench days`: the duration of a training."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from ..decide.query import Query
from ..terminal import options as o
from ..terminal.source import Source


class By(StrEnum):
    """The metrics that trainings are sorted by."""

    DAYS = "days"
    COST = "cost"
    ENERGY = "energy"


@o.command(query=(*o.SELECTION, *o.DAYS, *o.LISTING, "prices"), kept=True)
def days(
    source: Source,
    query: Query,
    by: Annotated[By, typer.Option("--by", help="What is least comes first.")] = By.DAYS,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """Estimate training time in days, device-hours, money and energy, with ranges."""
    from ..terminal import computed_reports

    query = replace(query, by=by.value)
    computed_reports.report("days", source, query, format, output, next_command=None)
