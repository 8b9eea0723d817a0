"""`bench chart`: an answer as a picture, for a page or a slide."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from ..schema.errors import BenchError
from .answers import Source
from .messages import say, warn

if TYPE_CHECKING:
    from ..decide.asked import Asked

SUFFIXES = (".svg", ".png")


def chart(
    name: str,
    source: Source,
    asked: Asked,
    by: str | None,
    size: str | None,
    footer: bool,
    output: Path | None,
) -> None:
    """Draw one chart into a file: NAME.svg unless told otherwise."""
    from ..decide import drawing
    from ..decide.answers import answered, lasting
    from ..decide.asked import Length
    from ..reports import chart as charts
    from ..reports.budget import planned
    from ..reports.charts.style import Sheet, on_sheet
    from ..reports.short import Names

    if name not in drawing.NAMES:
        raise BenchError(f"no chart {name!r}", why=f"charts: {', '.join(drawing.NAMES)}",
                         hint="bench chart pareto -o pareto.svg")  # fmt: skip
    file = _file(name, output)
    ratio = parse_size(size) if size else None
    with source.opened(asked.table) as warehouse:
        if name == "effects":
            answer = answered(warehouse, "compare", asked, by)
        elif name == "days":
            answer = lasting(warehouse, asked, Length())
        else:
            answer = answered(warehouse, "scaling" if name == "efficiency" else "best", asked)
        listed = warehouse.rows("SELECT uri, sha256 FROM sources")
        plan = planned(warehouse, asked.tokens, asked.steps)
    sources: dict[str, str] = dict(listed)
    names = Names(sources)
    picture = drawing.PICTURES[name](names, answer)
    told = ""
    if footer:
        told = drawing.footer(sources, picture, answer, version("bench-warehouse"))
    note = "" if footer else picture.note
    with on_sheet(Sheet(ratio, told or note)):
        figure = picture.draw(title(name, asked, by, plan.amount))
    charts.write(figure, file)
    if picture.note:
        warn(f"{picture.note} --where and --model choose.")
    say(f"wrote {file}")


def title(name: str, asked: Asked, by: str | None, budget: str) -> str:
    """What a chart is headed with: the model asked for, what it shows, what is trained."""
    words = {
        "effects": f"what {by} does" if by else "what the settings do",
        "efficiency": "scaling efficiency",
        "pareto": f"devices against days for {budget}",
        "days": f"days for {budget}",
    }[name]
    return f"{asked.model}: {words}" if asked.model else words[0].upper() + words[1:]


def parse_size(text: str) -> float:
    """`16:9` as width over height; raises BenchError for anything else."""
    found = re.fullmatch(r"\s*(\d{1,5}(?:\.\d+)?)\s*[:x]\s*(\d{1,5}(?:\.\d+)?)\s*", text)
    ratio = float(found[1]) / float(found[2]) if found and float(found[2]) else 0.0
    if not 0.5 <= ratio <= 4:
        raise BenchError(f"{text!r} is no size", why="width:height, between 1:2 and 4:1",
                         hint="--size 16:9")  # fmt: skip
    return ratio


def _file(name: str, output: Path | None) -> Path:
    """The file to write; raises BenchError for a folder that is not there or an unknown suffix."""
    file = Path(f"{name}.svg") if output is None else output
    if file.is_dir():
        file = file / f"{name}.svg"
    if file.suffix.lower() not in SUFFIXES:
        raise BenchError(f"{file} is no picture", why=f"suffixes: {', '.join(SUFFIXES)}",
                         hint=f"-o {file.with_suffix('.svg')}")  # fmt: skip
    if not file.parent.is_dir():
        raise BenchError("the output's folder does not exist", where=str(file.parent),
                         hint=f"mkdir -p {file.parent}")  # fmt: skip
    return file


__all__ = ["chart"]
