"""`bench predict`: the expected results of a configuration without runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any

import typer

from ..decide.query import Query
from ..schema.own_process import calculate_alone
from ..terminal import options as o
from ..terminal.messages import WaitNotice, info
from ..terminal.size_options import SIZES, checked_sizes
from ..terminal.source import Source
from ..vocabulary.format import counted

_SHOWN = 20  # rows of a ranking shown to people
_PICTURES = (".svg", ".png")


class By(StrEnum):
    """The metrics that configurations are sorted by."""

    TOKENS_PER_S = "tokens_per_s"
    DAYS = "days"
    COST = "cost"
    ENERGY = "energy"


@o.command(
    query=(*o.SELECTION, "steps", "tokens", "columns", "prices"), groups={"sizes": SIZES}, kept=True
)
def predict(
    source: Source,
    query: Query,
    sizes: Mapping[str, Any],
    every: Annotated[
        bool,
        typer.Option("--all", help="All feasible splits of the devices, not only measured ones."),
    ] = False,
    by: Annotated[By, typer.Option("--by", help="What --all ranks by.")] = By.TOKENS_PER_S,
    days: Annotated[
        float | None,
        typer.Option("--days", metavar="N", help="The fewest nodes that train in N days."),
    ] = None,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """Predict speed, memory, days and costs of a configuration not run; -o FILE.svg draws it."""
    calculate_alone()  # matrices of some hundred runs: threads would only wait for each other
    from ..foresight.answers import predicted
    from ..foresight.deadline import within_days
    from ..reports.computed import names_of, presented
    from ..terminal.answers import write

    query = replace(query, by=by.value)
    with source.opened(query.table) as warehouse, WaitNotice("predicting"):
        if days is not None:
            found = within_days(warehouse, query, checked_sizes(sizes), days)
        else:
            found = predicted(warehouse, query, checked_sizes(sizes), every)
        names = names_of(warehouse)
    if output is not None and output.suffix.lower() in _PICTURES:
        from ..reports.chart import write as write_chart
        from ..reports.predict_chart import predict_picture

        write_chart(predict_picture(names, found), output, named=True)
        info(f"wrote {output}")
        return
    write(presented(found, names, _SHOWN), query, format, output, "predict.md")
    if days is not None:
        info("--nodes N --all ranks all splits of so many nodes")
        return
    many = f"{counted(len(found.rows), 'row')}, {len(found.left_out)} left out as out of memory"
    info(f"{many}; next: bench plan --next 5" if every else "--all ranks all splits")
