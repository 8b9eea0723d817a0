"""The columns of `bench watch`: which there are, and how people read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

from ..reports.budget import SECONDS_A_DAY
from ..reports.format import days_words, significant
from ..reports.format import tokens as as_tokens
from ..watch.standing import Standing
from .live import clock
from .where import parse_columns


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, its head for people, and a cell as they read it."""

    name: str
    head: str
    cell: Callable[[Standing], str]


COLUMNS: Mapping[str, Column] = {
    column.name: column
    for column in (
        Column("uri", "log", lambda row: row.uri),
        Column("run_id", "run", lambda row: row.run_id),
        Column("model", "model", lambda row: row.model or ""),
        Column("status", "status", lambda row: row.status),
        Column("iteration", "iteration", lambda row: _iteration(row)),
        Column("planned", "planned", lambda row: _told(row.planned, str)),
        Column(
            "step_time_s", "s/it", lambda row: _told(row.step_time_s, lambda v: significant(v, 4))
        ),
        Column("tflops", "TFLOP/s/GPU", lambda row: _told(row.tflops, lambda v: significant(v, 3))),
        Column("loss", "loss", lambda row: _told(row.loss, lambda v: f"{v:.4g}")),
        Column("tokens", "tokens", lambda row: _told(row.tokens, as_tokens)),
        Column("eta_s", "ETA", lambda row: clock(row.eta_s)),
        Column("days", "days", lambda row: _told(row.days, _days)),
        Column("age_s", "last line", lambda row: f"{clock(row.age_s)} ago"),
        Column("warnings", "warnings", lambda row: "; ".join(row.warnings)),
    )
}
_Value = TypeVar("_Value")
_NOT_SHOWN = frozenset(("run_id", "model", "planned"))  # by default, to people


def columns_of(text: str | None, *, people: bool) -> list[Column]:
    """The columns named in `a,b,c`, by name or head, else the default ones. Raises BenchError."""
    if text is None:
        return [c for c in COLUMNS.values() if not (people and c.name in _NOT_SHOWN)]
    heads = {column.head.casefold(): column.name for column in COLUMNS.values()}
    words = [word.strip().strip('"') for word in text.split(",")]
    named = ",".join(heads.get(word.casefold(), word) for word in words)
    return [COLUMNS[name] for name in parse_columns(named, list(COLUMNS))]


def exact(row: Standing, columns: Sequence[Column]) -> list[object]:
    """A row as programs read it: every digit."""
    values = {field.name: getattr(row, field.name) for field in fields(row)}
    return [_joined(values[column.name]) for column in columns]


def _joined(value: object) -> object:
    return "; ".join(value) if isinstance(value, tuple) else value


def _told(value: _Value | None, words: Callable[[_Value], str]) -> str:
    return "" if value is None else words(value)


def _iteration(row: Standing) -> str:
    planned = f"/{row.planned}" if row.planned else ""
    return "" if row.iteration is None else f"{row.iteration}{planned}"


def _days(days: float) -> str:
    return days_words(days) if days >= 1 else clock(days * SECONDS_A_DAY)
