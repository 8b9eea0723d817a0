"""`bench best`: which configuration is best."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..decide.query import Query
from ..terminal import options as o
from ..terminal.messages import info
from ..terminal.source import Source
from ..terminal.tables import Format


class By(StrEnum):
    """The metrics that configurations are ranked by."""

    TOKENS_PER_S = "tokens_per_s"
    TOKENS_PER_S_PER_DEVICE = "tokens_per_s_per_device"
    SAMPLES_PER_S = "samples_per_s"
    MFU = "mfu"
    TFLOPS = "tflops"
    MEM = "mem"
    DEVICE_HOURS = "device_hours"
    COST = "cost"
    ENERGY = "energy"


@o.command(query=(*o.SELECTION, *o.LISTING, "prices"), kept=True)
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
    query = replace(query, by=by.value)
    if suggest:
        _suggest(source, query, format, output)
    else:
        _rank(source, query, format, output)


def _rank(source: Source, query: Query, form: Format | None, output: Path | None) -> None:
    from ..reports.computed import answered, names_of
    from ..terminal.answers import write
    from ..terminal.computed_reports import drawn, next_words, show_first

    with source.opened(query.table) as warehouse:
        answer, names = answered(warehouse, "best", query), names_of(warehouse)
    write(answer, query, form, output, "best.md", lambda: drawn(names, answer))
    command = next_words(show_first(answer, source))
    info(f"{len(answer.rows)} ranked, {len(answer.left_out)} excluded{command}")


def _suggest(source: Source, query: Query, form: Format | None, output: Path | None) -> None:
    """Write the neighbors of the best configuration; as TOML, a plan of runs."""
    from ..decide.answers import neighbours_of_best
    from ..decide.neighbours import as_plan
    from ..reports.computed import names_of, presented
    from ..terminal.answers import write
    from ..terminal.tables import emit

    with source.opened(query.table) as warehouse:
        made = neighbours_of_best(warehouse, query)
        names = names_of(warehouse)
    answer = presented(made, names)
    if output is not None and output.suffix == ".toml":
        # The plan's comments: its summary and the settings that its runs lack.
        comments = [answer.summary[0], *(answer.summary[-1:] if made.facts["unplanned"] else ())]
        emit(as_plan(answer.rows, comments), output)
    else:
        write(answer, query, form, output, "neighbours.md")
    info(
        f"{len(answer.rows)} to run, {len(answer.left_out)} impossible; -o plan.toml writes a plan"
    )
