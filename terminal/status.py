"""The columns of `bench watch` and their formatting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

from ..decide.budget import SECONDS_A_DAY
from ..vocabulary.format import days_words, significant
from ..vocabulary.format import tokens as as_tokens
from ..vocabulary.printable import terminal
from ..watch.status import RunStatus
from .live import clock
from .tables import parse_columns

if TYPE_CHECKING:
    from rich.text import Text


@dataclass(frozen=True, slots=True)
class StatusColumn:
    """A column: its name, its heading, and the formatter of its cells."""

    name: str
    head: str
    cell: Callable[[RunStatus], str]


COLUMNS: Mapping[str, StatusColumn] = {
    column.name: column
    for column in (
        StatusColumn("uri", "log", lambda row: row.uri),
        StatusColumn("run_id", "run", lambda row: row.run_id),
        StatusColumn("model", "model", lambda row: row.model or ""),
        StatusColumn("status", "status", lambda row: row.status),
        StatusColumn("iteration", "iteration", lambda row: _iteration(row)),
        StatusColumn("planned", "planned", lambda row: _optional(row.planned, str)),
        StatusColumn(
            "step_time_s",
            "s/it",
            lambda row: _optional(row.step_time_s, lambda v: significant(v, 4)),
        ),
        StatusColumn(
            "tflops", "TFLOP/s/GPU", lambda row: _optional(row.tflops, lambda v: significant(v, 3))
        ),
        StatusColumn("loss", "loss", lambda row: _optional(row.loss, lambda v: f"{v:.4g}")),
        StatusColumn("tokens", "tokens", lambda row: _optional(row.tokens, as_tokens)),
        StatusColumn("eta_s", "ETA", lambda row: clock(row.eta_s)),
        StatusColumn("days", "days", lambda row: _optional(row.days, _days)),
        StatusColumn("age_s", "last line", lambda row: f"{clock(row.age_s)} ago"),
        StatusColumn("warnings", "warnings", lambda row: "; ".join(row.warnings)),
    )
}
_FRAME = 4  # screen lines other than runs: title, headings, note on hidden runs, cursor
_Value = TypeVar("_Value")
_NOT_SHOWN = frozenset(("run_id", "model", "planned"))  # the default for people


def columns_of(text: str | None, *, people: bool) -> list[StatusColumn]:
    """Parse columns `a,b,c` by name or heading; '' for the default. Raises BenchError."""
    if text is None:
        return [c for c in COLUMNS.values() if not (people and c.name in _NOT_SHOWN)]
    heads = {column.head.casefold(): column.name for column in COLUMNS.values()}
    words = [word.strip().strip('"') for word in text.split(",")]
    named = ",".join(heads.get(word.casefold(), word) for word in words)
    return [COLUMNS[name] for name in parse_columns(named, list(COLUMNS))]


def exact(row: RunStatus, columns: Sequence[StatusColumn]) -> list[object]:
    """A row for programs, with all digits."""
    values = {field.name: getattr(row, field.name) for field in fields(row)}
    return [_joined(values[column.name]) for column in columns]


def drawn(
    rows: Sequence[RunStatus], columns: Sequence[StatusColumn], width: int, height: int
) -> Text:
    """The runs that fit on a terminal, last written first, with warnings below each run."""
    from rich.text import Text

    from . import output_formats, text_table

    shown = _fitting(sorted(rows, key=lambda row: row.age_s), height - _FRAME)
    more = f", {len(rows) - len(shown)} more" if len(rows) > len(shown) else ""
    title = f"{len(shown)} watched{more}; Ctrl-C to stop" if rows else "no runs yet"
    lines = [Text(title, style="italic")]
    if shown:
        columns = [column for column in columns if column.name != "warnings"]
        heads = [column.head for column in columns]
        cells = [[column.cell(row) for column in columns] for row in shown]
        head, *below = text_table.one_line_rows(output_formats.as_columns(heads, cells), width)
        lines.append(Text(head, style="bold"))
        for row, line in zip(shown, below, strict=True):
            lines.append(Text(line, style="red" if row.warnings else ""))
            lines += (Text(f"  {terminal(text)}", style="bold red") for text in row.warnings)
    for each in lines:
        each.truncate(width, overflow="ellipsis")
    return Text("\n", no_wrap=True, overflow="crop").join(lines)


def _fitting(rows: Sequence[RunStatus], height: int) -> list[RunStatus]:
    """The runs that fit with their warnings; at least one."""
    ends = accumulate(1 + len(row.warnings) for row in rows)
    count = sum(end <= height for end in ends)
    return list(rows[: max(count, 1)])


def _joined(value: object) -> object:
    return "; ".join(value) if isinstance(value, tuple) else value


def _optional(value: _Value | None, words: Callable[[_Value], str]) -> str:
    return "" if value is None else words(value)


def _iteration(row: RunStatus) -> str:
    planned = f"/{row.planned}" if row.planned else ""
    return "" if row.iteration is None else f"{row.iteration}{planned}"


def _days(days: float) -> str:
    return days_words(days) if days >= 1 else clock(days * SECONDS_A_DAY)
