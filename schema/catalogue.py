"""Metadata in SQL files: formulas, metrics, derivations of values, public columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from .sql import sql_files

if TYPE_CHECKING:  # a listing needs only the names of metrics
    from .derivation import Alternative

_MADE = re.compile(r"^-- (\w+) (from|prints|leads): (.+)$", re.M)  # of a column of a view
_SELECTED = re.compile(r"\w+ AS (\w+)|(\w+)")
_HEAD = re.compile(r"^-- (\w+): (.+)$", re.M)
_MACRO = re.compile(r"MACRO (\w+)\(([^)]*)\) AS\s+(.*?);\s*\Z", re.S)
_VIEW = re.compile(r"VIEW (\w+) AS")
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
    "is_marked": "whether the authors mark it as an estimate",
    "unit": "the unit that is printed",
    "from_where": "printed or computed",
    "peak_tflops": "dense peak of one device, in TFLOP/s",
    "peak_name": "device and number format of that peak",
    "peak_assumed": "whether the number format is not stated",
}
# Origins of columns of views without their own notes.
_TAKEN_FROM = {
    "beside": ("annotations",),
    "brought_statements": ("annotations",),
    "user_facts": ("annotations",),
    "judged_runs": ("runs",),
    "configurations": ("runs", "topology"),
    "counted_iterations": ("iterations",),
    "effective_steps": ("iterations",),
    "epochs": ("regimes",),
    "redone": ("superseded_steps",),
    "current_loads": ("loads",),
    "current_uris": ("loads",),
    "left_out": ("runs",),
    "measured": ("measurements",),
    "model_flops": ("runs",),
    "results": ("configurations", "runs", "topology"),
    "sources": ("loads",),
    "token_rates": ("runs",),
    "utilization": ("runs",),
}


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula: a SQL macro with its value, unit, source and what it counts."""

    name: str
    macro: str
    parameters: tuple[str, ...]
    title: str
    unit: str
    source: str
    counts: str
    expression: str


@dataclass(frozen=True, slots=True)
class Value:
    """A derived column of `selected`: its ways, and its format on pages."""

    name: str
    ways: tuple[Alternative, ...]
    prints: tuple[str, ...] = ("number",)
    leads: bool = False  # part of the explanation of a whole run
    unit: str = ""
    lacks: str = ""  # reason for a missing value


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: a view `metric_NAME` with run_id, value, low and high, in `unit`.

    `selected` are the columns that it adds to the table `selected`, as SQL over the view; the first
    is its value, by whose name it is filtered on and explained. `query` is the body of the view.
    """

    name: str
    view: str
    title: str
    unit: str
    source: str
    selected: str
    query: str
    head: tuple[tuple[str, str], ...]  # lines of the head: keyword and text

    @property
    def column(self) -> str:
        """The name of its value's column in `selected`."""
        return self.columns[0]

    @property
    def made(self) -> Value:
        """Its derivation. Raises ValueError for an invalid one."""
        return _value(self.column, self.head, self.unit)

    @property
    def columns(self) -> tuple[str, ...]:
        """Its own columns in `selected`, its value first."""
        return tuple(alias or name for alias, name in _SELECTED.findall(self.selected))


@cache
def formulas() -> tuple[Formula, ...]:
    """Every formula, by name. Raises ValueError for a file without its head lines."""
    return tuple(_formula(name, text) for name, text in sql_files("formulas"))


@cache
def metrics() -> tuple[Metric, ...]:
    """Every metric, by name. Raises ValueError for a file without its head lines."""
    return tuple(_metric(name, text) for name, text in sql_files("metrics"))


@cache
def values() -> dict[str, Value]:
    """Every derived column of `selected`: metrics first, then columns of configurations.

    Raises ValueError for an invalid derivation.
    """
    found = {metric.column: metric.made for metric in metrics()}
    for _, text in sql_files("views"):
        lines = _MADE.findall(text)
        for name in dict.fromkeys(name for name, *_ in lines):
            found[name] = _value(name, [line[1:] for line in lines if line[0] == name])
    return found


@cache
def view_notes() -> dict[str, str]:
    """A one-line description of each public view."""
    notes = dict(note for _, text in sql_files("views") for note in _VIEW_NOTE.findall(text))
    return notes | {metric.view: f"{metric.title}, in {metric.unit}" for metric in metrics()}


def column_note(view: str, column: str) -> str:
    """The description of a public view's column, with its unit; '' without one."""
    notes = _column_notes()
    if view.startswith("metric_"):
        return _OF_METRICS.get(column, "")
    origins = (view, *_TAKEN_FROM.get(view, ()))
    note = next((notes[origin, column] for origin in origins if (origin, column) in notes), "")
    return note or (_selected_notes().get(column, "") if view == "results" else "")


@cache
def _selected_notes() -> dict[str, str]:
    """Descriptions of the columns that metrics add to the view of results."""
    notes = {}
    for metric in metrics():
        for part in metric.selected.split(","):
            source, _, name = part.strip().partition(" AS ")
            what = metric.unit if source == "value" else _OF_METRICS.get(source, source)
            notes[name or source] = f"{metric.title}: {what}"
    return notes


@cache
def _column_notes() -> dict[tuple[str, str], str]:
    from ..vocabulary.fields import fields
    from .sql import tables

    notes = {
        (table, column.name): column.meaning
        for table, columns in tables().items()
        for column in columns.values()
    }
    # A later description of a field may be better than the one at its origin.
    notes |= {
        (field.table, field.name): field.meaning for field in fields().values() if field.table
    }
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
    title, unit, source, _ = _head(name, text, ("title", "unit", "source", "from"))
    view = _VIEW.search(text)
    if view is None or view[1] != f"metric_{name}":
        raise ValueError(f"metrics/{name}.sql creates no view metric_{name}")
    head = tuple(_HEAD.findall(text))
    selected = dict(head).get("selected", f"value AS {name}")
    query = text[view.end() :].strip().removesuffix(";")
    return Metric(name, view[1], title, unit, source, selected, query, head)


def _value(name: str, lines: Sequence[tuple[str, str]], unit: str = "") -> Value:
    from .derivation import parse_way

    settings = dict(lines)
    return Value(
        name,
        tuple(parse_way(text) for key, text in lines if key == "from"),
        tuple(settings.get("prints", "number").split(", ")),
        "leads" in settings,
        unit,
        settings.get("lacks", ""),
    )


def _head(name: str, text: str, keys: tuple[str, ...]) -> tuple[str, ...]:
    found = dict(_HEAD.findall(text))
    missing = [key for key in keys if key not in found]
    if missing:
        raise ValueError(f"{name}.sql has no line `-- {missing[0]}:`")
    return tuple(found[key] for key in keys)
