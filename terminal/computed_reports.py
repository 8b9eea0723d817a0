"""Computed reports: `bench days`, `bench failures`, `bench report NAME`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..vocabulary.format import counted
from .answers import write
from .messages import info
from .source import Source
from .tables import Format

if TYPE_CHECKING:
    from ..decide.query import Query
    from ..project.short_names import ShortNames
    from ..reports.answer import Answer


def report(
    name: str,
    source: Source,
    query: Query,
    form: Format | None,
    output: Path | None,
    next_command: str | None = "",
) -> None:
    """Write a computed report; `next_command` defaults to showing the first row."""
    from ..reports.computed import answered, names_of

    with source.opened(query.table) as warehouse:
        answer, names = answered(warehouse, name, query), names_of(warehouse)
    write(answer, query, form, output, f"{name}.md", lambda: drawn(names, answer))
    if next_command is None:
        next_command = show_first(answer, source)
    rows, left_out = counted(len(answer.rows), "row"), len(answer.left_out)
    info(f"{rows}, {left_out} excluded{next_words(next_command)}")


def next_words(command: str) -> str:
    """A suggested command as the end of a message; nothing without one."""
    return f"; next: {command}" if command else ""


def drawn(names: ShortNames, answer: Answer) -> Sequence[str]:
    """The figures of an answer's HTML page."""
    from ..site.report_page import answer_charts

    return answer_charts(names, answer)


def show_first(answer: Answer, source: Source) -> str:
    """The command line that shows the first run of an answer; '' if it has none."""
    shown = zip(answer.cells, answer.rows, strict=False)
    first = next(((str(cell["where"]), row) for cell, row in shown if row["run"]), None)
    if first is None:
        return ""
    where, row = first
    line = (row["uri"], row["line"])
    several = sum((one["uri"], one["line"]) == line for one in (*answer.rows, *answer.left_out)) > 1
    # A place may count further ones: check_tcmalloc:12 +2
    name = row["run"] if several else re.sub(r" \+\d+$", "", where)
    return shlex.join(("bench", "show", name, *map(str, source.paths)))
