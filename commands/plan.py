"""`bench plan`: propose the next runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import typer

from ..decide.query import Query
from ..terminal import options as o
from ..terminal.source import Source
from .predict import SIZES, By


@o.command(query=(*o.SELECTION, "steps", "tokens", "columns", "prices"), groups={"sizes": SIZES})
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
    from ..terminal import foreseeing

    query = replace(query, by=by.value)
    limits = (devices, device_hours, run_steps, money)
    foreseeing.plan(source, query, sizes, count, limits, format, output)
