"""An answer of `decide` as text: sentences and a table for people, every row for programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .opening import open_for_reading
from .options import LOCK_TIMEOUT
from .tables import Format, choose_format, emit, render
from .telling import Told
from .where import parse_columns

if TYPE_CHECKING:
    from ..decide.answer import Answer
    from ..decide.asked import Asked
    from ..reports.table_ref import TableRef
    from ..schema.warehouse import Warehouse

_FIGURE = re.compile(r"[+-]?[\d,]*\.?\d+(e-?\d+)?[\^x%]?")


@dataclass(frozen=True, slots=True)
class Source:
    """Where runs are read from: paths, else the warehouse."""

    db: Path | None = None
    paths: tuple[Path, ...] = ()
    lock_timeout: float = LOCK_TIMEOUT
    told: Told | None = None  # by `--set`, where several are opened

    def opened(self, table: TableRef | None = None) -> Warehouse:
        """The warehouse of the paths; without any, a file that --table names is one."""
        paths = self.paths
        if table and not paths and Path(table.file).exists():
            paths = (Path(table.file),)
        return open_for_reading(self.db, paths, self.lock_timeout, told=self.told)


def fitted(answer: Answer, asked: Asked) -> Answer:
    """The answer with the columns and groups asked for, of pairs the mean of each; raises
    BenchError for unknown ones."""
    if asked.group is not None:
        from ..decide.grouping import grouped

        names = parse_columns(asked.group, answer.columns)
        answer = grouped(answer, names) if "speedup" in answer.columns else answer.first_of(names)
    if asked.columns is not None:
        answer = answer.only(parse_columns(asked.columns, answer.columns))
    return answer


def write(answer: Answer, form: Format | None, output: Path | None, name: str) -> None:
    """Write an answer: all rows and columns for programs, sentences and a table for people."""
    emit(as_text(answer, choose_format(form, output)), output, name=name)


def as_text(answer: Answer, form: Format) -> str:
    """An answer in one format."""
    if form in (Format.CSV, Format.TSV, Format.JSON):
        return render(answer.columns, answer.for_programs(), form)
    from ..reports.escape import html, markdown_text, terminal
    from ..reports.told import MARK

    heads, rows, common = answer.for_people()
    figures = [list(map(_figure, row)) for row in rows]
    table = render(heads, figures, form, keep=answer.keep) if rows else ""
    writers: dict[Format, Callable[[str], str]] = {
        Format.MD: lambda line: f"{markdown_text(line)}\n",
        Format.HTML: lambda line: f"<p>{html(line)}</p>",
        Format.TABLE: terminal,
    }
    one = writers[form]
    above = "".join(
        f"{one(line)}\n" for line in [*answer.said, *([f"All: {common}."] if common else [])]
    )
    told = "‡ = told by a user, not stated by the source: bench sql 'FROM user_facts' says by whom."
    marked = MARK in common or any(MARK in str(value) for row in rows for value in row)
    notes = [*answer.notes, *([told] if marked else [])]
    below = "".join(f"{one(line)}\n" for line in notes)
    gap = "\n" if form is Format.TABLE and table else ""
    middle = f"{table}\n" if form is Format.MD and table and below else table
    return f"{above}{gap}{middle}{gap}{below}".rstrip("\n") + "\n"


def _figure(value: object) -> object:
    """A number that is a text already, so that it stands to the right."""
    from .layouts import Exact

    return Exact(value) if isinstance(value, str) and _FIGURE.fullmatch(value) else value


__all__ = ["Source", "as_text", "fitted", "write"]
