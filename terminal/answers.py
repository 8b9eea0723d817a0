"""Output of answers of `decide`: sentences and a table for people, all rows for programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .tables import Format, choose_format, emit, parse_columns, render

if TYPE_CHECKING:
    from ..decide.query import Query
    from ..reports.answer import Answer

_SHORT = 12  # longest source name repeated in every row
_FIGURE = re.compile(r"[+-]?[\d,]*\.?\d+(e-?\d+)?[\^x%]?")

# Titles of HTML pages by command.
_TITLES = {
    "best": "The fastest runs",
    "days": "Days to train",
    "compare": "Comparison of runs",
    "trend": "Course over time",
    "failures": "Failed runs",
    "stragglers": "Slow hosts",
}


def fitted(answer: Answer, query: Query) -> Answer:
    """The answer reduced to the query's columns and groups (means for pairs); raises BenchError
    for unknown ones."""
    if query.group is not None:
        from ..reports.grouped_pairs import grouped

        names = parse_columns(query.group, answer.columns)
        answer = grouped(answer, names) if "speedup" in answer.columns else answer.first_of(names)
    if query.columns is not None:
        answer = answer.only(parse_columns(query.columns, answer.columns))
    return answer


def write(
    answer: Answer,
    query: Query,
    form: Format | None,
    output: Path | None,
    name: str,
    draw: Callable[[], Sequence[str]] = tuple,
) -> None:
    """Write what the query shows of an answer, in the given format or that of the output file.

    `draw` returns the figures of an HTML page.
    """
    answer = fitted(answer, query)
    chosen = choose_format(form, output)
    figures = draw() if chosen is Format.HTML else ()
    command = Path(name).stem
    selected = ", ".join(filter(None, (query.model, query.document, query.where)))
    title = ": ".join(filter(None, (_TITLES.get(command, f"bench {command}"), selected)))
    emit(as_text(answer, chosen, figures, title), output, name=name)


def as_text(answer: Answer, form: Format, figures: Sequence[str] = (), title: str = "bench") -> str:
    """The answer as text in one format; only HTML pages have figures."""
    if form in (Format.CSV, Format.TSV, Format.JSON):
        return render(answer.columns, answer.records(), form)
    from ..reports.escape import markdown_text
    from ..reports.words import MARK
    from ..vocabulary.printable import terminal

    heads, rows, common = answer.display_rows()
    cells = [list(map(_figure, row)) for row in rows]
    annotated = (
        "‡ = annotated by a user, not stated by the source (see bench sql 'FROM user_facts')."
    )
    marked = MARK in common or any(MARK in str(value) for row in rows for value in row)
    summary = [*answer.summary, *([f"All: {common}."] if common else [])]
    notes = [*answer.notes, *([annotated] if marked else [])]
    if form is Format.HTML:
        from .output_formats import html

        return html(heads, cells, title, above=summary, below=notes, figures=figures)
    if form is Format.TABLE and not answer.chosen:
        summary, cells = one_source(summary, heads, cells)
    table = render(
        heads, cells, form, keep=answer.keep, derived=answer.derived, chosen=answer.chosen
    ) if rows else ""  # fmt: skip

    def one(line: str) -> str:
        return terminal(line) if form is Format.TABLE else f"{markdown_text(line)}\n"

    above, below = ("".join(f"{one(line)}\n" for line in lines) for lines in (summary, notes))
    gap = "\n" if form is Format.TABLE and table else ""
    middle = f"{table}\n" if form is Format.MD and table and below else table
    return f"{above}{gap}{middle}{gap}{below}".rstrip("\n") + "\n"


def one_source(
    summary: list[str],
    heads: Sequence[str],
    cells: Sequence[Sequence[object]],
    column: str = "Where",
) -> tuple[list[str], list[list[object]]]:
    """Move a long source name shared by all places above the table, leaving only the lines."""
    rows = [list(row) for row in cells]
    at = heads.index(column) if column in heads else -1
    names = {str(row[at]).rpartition(":")[0] for row in rows} if at >= 0 else set()
    name = names.pop() if len(names := names - {""}) == 1 else ""
    if len(name) <= _SHORT or len(rows) < 2:
        return summary, rows
    for row in rows:
        row[at] = row[at] and str(row[at]).removeprefix(name)
    return [*summary, f"{column}: lines of {name}."], rows


def _figure(value: object) -> object:
    """A formatted number, marked for alignment to the right."""
    from .output_formats import ExactNumber

    return ExactNumber(value) if isinstance(value, str) and _FIGURE.fullmatch(value) else value
