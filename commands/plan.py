"""`bench plan`: propose the next runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import typer

from ..decide.query import Query
from ..schema.own_process import calculate_alone
from ..terminal import options as o
from ..terminal.messages import WaitNotice, info
from ..terminal.size_options import SIZES, checked_sizes
from ..terminal.source import Source
from .predict import By


@o.command(
    query=(*o.SELECTION, "steps", "tokens", "columns", "prices"), groups={"sizes": SIZES}, kept=True
)
def plan(
    source: Source,
    query: Query,
    sizes: Mapping[str, Any],
    count: Annotated[int, typer.Option("--next", metavar="N", min=1, help="Runs to propose.")] = 5,
    devices: Annotated[
        int | None, typer.Option("--devices", min=1, help="Maximum devices of a run.")
    ] = None,
    device_hours: Annotated[
        float | None,
        typer.Option("--device-hours", min=0, help="Maximum device-hours of all runs."),
    ] = None,
    money: Annotated[
        float | None, typer.Option("--money", min=0, help="Maximum cost of all runs, by --price.")
    ] = None,
    by: Annotated[By, typer.Option("--by", help="What the best is sought by.")] = By.TOKENS_PER_S,
    run_steps: Annotated[int, typer.Option("--run-steps", min=1, help="Steps of each run.")] = 20,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """Propose the runs worth most; -o plan.toml writes a plan for bench launch."""
    calculate_alone()
    from ..decide.neighbours import as_plan, shape_is_stated
    from ..foresight.planning import Limits, proposed
    from ..reports.computed import names_of, presented
    from ..terminal.answers import write
    from ..terminal.tables import emit

    query = replace(query, by=by.value)
    limits = Limits(devices, device_hours, run_steps, money)
    with source.opened(query.table) as warehouse, WaitNotice("weighing the runs to propose"):
        found = proposed(warehouse, query, checked_sizes(sizes), count, limits)
        names = names_of(warehouse)
    answer = presented(found, names)
    if output is not None and output.suffix == ".toml":
        rows = [{**row, "iterations": run_steps} for row in answer.rows]
        emit(as_plan(rows, answer.summary, "proposals"), output)
    else:
        write(answer, query, format, output, "plan.md")
    planned = shape_is_stated(found.rows)
    way = (
        "-o plan.toml writes a plan for bench launch"
        if planned
        else (
            "no plan can be written, as layers, hidden size and heads of the model are not stated"
        )
    )
    info(f"{len(answer.rows)} to run; {way}")
