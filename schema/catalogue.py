"""What the SQL files say of themselves: formulas, metrics, and the columns of the public names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from .sql import sql_files

_HEAD = re.compile(r"^-- (\w+): (.+)$", re.M)
_MACRO = re.compile(r"MACRO (\w+)\(([^)]*)\) AS\s+(.*?);\s*\Z", re.S)
_VIEW = re.compile(r"VIEW (\w+) AS")
_TABLE = re.compile(r"^CREATE TABLE raw\.(\w+) \((.*?)^\);", re.M | re.S)
_COLUMN = re.compile(r"^ +(\w+) [^\n]*?-- (.+)$", re.M)
_ADDED = re.compile(r"^ALTER TABLE raw\.(\w+) ADD COLUMN (\w+) [^\n]*?-- (.+)$", re.M)
_VIEW_NOTE = re.compile(r"^-- (\w+): (.+)$", re.M)
_COLUMN_NOTE = re.compile(r"^-- (\w+)\.(\w+): (.+)$", re.M)
_OF_METRICS = {
    "run_id": "the run",
    "value": "the metric, in its unit",
    "low": "lower end of what the printed digits, or the intervals of the log, allow",
    "high": "upper end of the same",
    "n": "iterations behind the number; 1 for a cell",
    "basis": "cell or log",
    "formula": "the formula of the FLOPs, F7 or F5",
    "from_metric": "the printed value that it comes from",
}
# Where the columns of a view come from that its own notes do not explain.
_TAKEN_FROM = {
    "judged_runs": ("runs",),
    "configurations": ("runs", "topology"),
    "counted_iterations": ("iterations",),
    "current_loads": ("loads",),
    "current_uris": ("loads",),
    "left_out": ("runs",),
    "measured": ("measurements",),
    "model_flops": ("runs",),
    "sources": ("loads",),
    "token_rates": ("runs",),
}


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula: a SQL macro with what it gives, its unit, its source and what it counts."""

    name: str
    macro: str
    parameters: tuple[str, ...]
    title: str
    unit: str
    source: str
    counts: str
    expression: str


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: a view `metric_NAME` with run_id, value, low and high, in `unit`."""

    name: str
    view: str
    title: str
    unit: str
    source: str


@cache
def formulas() -> tuple[Formula, ...]:
    """Every formula, by name. Raises ValueError for a file without its head lines."""
    return tuple(_formula(name, text) for name, text in sql_files("formulas"))


@cache
def metrics() -> tuple[Metric, ...]:
    """Every metric, by name. Raises ValueError for a file without its head lines."""
    return tuple(_metric(name, text) for name, text in sql_files("metrics"))


@cache
def view_notes() -> dict[str, str]:
    """What each public view holds, in one line."""
    notes = dict(note for _, text in sql_files("views") for note in _VIEW_NOTE.findall(text))
    return notes | {metric.view: f"{metric.title}, in {metric.unit}" for metric in metrics()}


def column_note(view: str, column: str) -> str:
    """What a column of a public view holds, with its unit; '' when the SQL files do not say."""
    notes = _column_notes()
    if view.startswith("metric_"):
        return _OF_METRICS.get(column, "")
    origins = (view, *_TAKEN_FROM.get(view, ()))
    return next((notes[origin, column] for origin in origins if (origin, column) in notes), "")


@cache
def _column_notes() -> dict[tuple[str, str], str]:
    notes = {
        (table, column): note
        for _, text in sql_files("tables")
        for table, body in _TABLE.findall(text)
        for column, note in _COLUMN.findall(body)
    }
    for _, text in sql_files("tables"):
        notes |= {(table, column): note for table, column, note in _ADDED.findall(text)}
    for _, text in sql_files("views"):
        notes |= {(of, column): note for of, column, note in _COLUMN_NOTE.findall(text)}
    return notes


def _formula(name: str, text: str) -> Formula:
    title, unit, source, counts = _head(name, text, ("title", "unit", "source", "counts"))
    macro = _MACRO.search(text)
    if macro is None:
        raise ValueError(f"formulas/{name}.sql creates no macro")
    parameters = tuple(part.strip() for part in macro[2].split(","))
    expression = " ".join(macro[3].split())
    return Formula(name, macro[1], parameters, title, unit, source, counts, expression)


def _metric(name: str, text: str) -> Metric:
    title, unit, source = _head(name, text, ("title", "unit", "source"))
    view = _VIEW.search(text)
    if view is None or view[1] != f"metric_{name}":
        raise ValueError(f"metrics/{name}.sql creates no view metric_{name}")
    return Metric(name, view[1], title, unit, source)


def _head(name: str, text: str, keys: tuple[str, ...]) -> tuple[str, ...]:
    found = dict(_HEAD.findall(text))
    missing = [key for key in keys if key not in found]
    if missing:
        raise ValueError(f"{name}.sql has no line `-- {missing[0]}:`")
    return tuple(found[key] for key in keys)
