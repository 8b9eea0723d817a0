"""`bench best`: which configuration is best."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from ..decide.query import Query
from ..terminal import options as o
from ..terminal.source import Source


class By(StrEnum):
    """The metrics that configurations are ranked by."""

    TOKENS_PER_S = "tokens_per_s"
    TOKENS_PER_S_PER_DEVICE = "tokens_per_s_per_device"
    MFU = "mfu"
    TFLOPS = "tflops"
    MEM = "mem"
    DEVICE_HOURS = "device_hours"
    COST = "cost"
    ENERGY = "energy"


@o.command(query=(*o.SELECTION, *o.LISTING, "prices"))
def best(
    source: Source,
    query: Query,
    by: Annotated[By, typer.Option("--by", help="Ranking metric.")] = By.TOKENS_PER_S,
    suggest: Annotated[
        bool,
        typer.Option(
            "--suggest", "--neighbours", help="Suggest untested configurations near the best."
        ),
    ] = False,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """Rank configurations by throughput, with ties and cost trade-offs."""
    from ..terminal import deciding

    deciding.best(source, replace(query, by=by.value), suggest, format, output)
