"""`bench chart`: draw one chart by name."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from ..decide.query import Query
from ..schema.errors import BenchError
from ..terminal import options as o
from ..terminal.messages import info, warn
from ..terminal.source import Source

SUFFIXES = (".svg", ".png")
# The answer drawn by each chart.
_ANSWERS = {
    "effects": "compare", "efficiency": "scaling", "pareto": "best", "days": "days",
    "tflops": "best", "mfu": "best", "memory": "best",
}  # fmt: skip
_RANKED_BY = {"tflops": "tflops", "mfu": "mfu", "memory": "mem"}


@o.command(query=(*o.SELECTION, "steps", "tokens"))
def chart(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="effects, efficiency, pareto, days, tflops, mfu, memory, steps or loss.",
        ),
    ],
    source: Source,
    query: Query,
    by: Annotated[
        str | None, typer.Option("--by", metavar="COLUMN", help="Column to compare (effects only).")
    ] = None,
    size: Annotated[
        str | None, typer.Option("--size", metavar="W:H", help="Aspect ratio, e.g. 16:9.")
    ] = None,
    footer: Annotated[
        bool, typer.Option("--footer", help="Add a footer with the data sources.")
    ] = False,
    output: o.Output = None,
) -> None:
    """Draw a chart as SVG or PNG; its title says what it shows."""
    from ..decide.budget_choice import planned
    from ..project.short_names import ShortNames
    from ..reports import chart as charts
    from ..reports import drawing
    from ..reports.charts.style import Sheet, on_sheet
    from ..reports.computed import answered
    from ..reports.run_curves import curves

    if name not in drawing.NAMES:
        raise BenchError(f"unknown chart {name!r}", why=f"charts: {', '.join(drawing.NAMES)}",
                         hint="bench chart pareto -o pareto.svg")  # fmt: skip
    by = by if name == "effects" else _RANKED_BY.get(name)
    query = replace(query, by=by, all_rows=True)
    file = _file(name, output)
    ratio = parse_size(size) if size else None
    with source.opened(query.table) as warehouse:
        sources: dict[str, str] = dict(warehouse.rows("SELECT uri, sha256 FROM sources"))
        names, left_out = ShortNames.of(warehouse), 0
        if name in _ANSWERS:
            answer = answered(warehouse, _ANSWERS[name], query)
            picture, left_out = drawing.PICTURES[name](names, answer), len(answer.left_out)
        else:
            picture = curves(warehouse, names, name, query)
        plan = planned(warehouse, query)
    note = picture.note
    if footer:
        note = drawing.footer(sources, picture, left_out, version("bench-warehouse"))
    with on_sheet(Sheet(ratio, note)):
        figure = picture.draw(picture.message or title(name, query, plan.purpose))
    charts.write(figure, file)
    if picture.note:
        warn(f"{picture.note} Narrow it with --where or --model.")
    info(f"wrote {file}")


def title(name: str, query: Query, budget: str) -> str:
    """The title of a chart: the model, the metric, the training length of days."""
    words = {
        "effects": f"effect of {query.by}" if query.by else "effects of settings",
        "efficiency": "scaling efficiency",
        "pareto": f"devices vs. days {budget}",
        "days": f"days {budget}",
    }[name]
    return f"{query.model}: {words}" if query.model else words[0].upper() + words[1:]


def parse_size(text: str) -> float:
    """`16:9` as width over height; raises BenchError for anything else."""
    match = re.fullmatch(r"\s*(\d{1,5}(?:\.\d+)?)\s*[:x]\s*(\d{1,5}(?:\.\d+)?)\s*", text)
    ratio = float(match[1]) / float(match[2]) if match and float(match[2]) else 0.0
    if not 0.5 <= ratio <= 4:
        raise BenchError(f"invalid --size {text!r}", why="width:height, between 1:2 and 4:1",
                         hint="--size 16:9")  # fmt: skip
    return ratio


def _file(name: str, output: Path | None) -> Path:
    """The file to write; raises BenchError for a missing directory or an unknown suffix."""
    file = Path(f"{name}.svg") if output is None else output
    if file.is_dir():
        file = file / f"{name}.svg"
    if file.suffix.lower() not in SUFFIXES:
        raise BenchError(
            f"unsupported image format: {file}",
            why=f"suffixes: {', '.join(SUFFIXES)}",
            hint=f"-o {file.with_suffix('.svg')}",
        )
    if not file.parent.is_dir():
        raise BenchError("output directory does not exist", where=str(file.parent),
                         hint=f"mkdir -p {file.parent}")  # fmt: skip
    return file
