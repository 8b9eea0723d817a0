"""Computed reports: NAME.py has the numbers and columns, NAME.md.j2 the sentences.

A pair of such files is a report: `bench report NAME`, a region `report=NAME`, and the output of the
command of that name, if there is one. NAME.py has

- `answer(warehouse, query)`, which returns a Decision; its SQL reads the view `selected`, which
  `decide.selection.select(warehouse, query)` fills
- COLUMNS for programs; SHOWN for people, as column and heading, or `shown(facts)`
- `cells(names, row, facts)`, the cells for people
- PLACES, where the report can be requested by name: "page", "region"
- optional: KEEP, headings that a narrow terminal drops last, or `keep(facts)`; DERIVED, columns
  that it drops first; RANKED, if people
  see only the first rows by default
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol, cast

from ...project.short_names import ShortNames

if TYPE_CHECKING:  # pages need only the names of reports
    from ...decide.query import Query
    from ...decide.rows import Decision
    from ...schema.warehouse import Row, Warehouse
    from ..answer import Answer

PAGE, REGION = "page", "region"
_TEMPLATE = ".md.j2"


class Report(Protocol):
    """The interface of a computed report's module."""

    PLACES: tuple[str, ...]
    COLUMNS: tuple[str, ...]
    SHOWN: tuple[tuple[str, str], ...]

    def answer(self, warehouse: Warehouse, query: Query) -> Decision: ...

    def cells(self, names: ShortNames, row: Row, facts: Mapping[str, Any]) -> dict[str, Any]: ...


@cache
def reports(place: str | None = None) -> tuple[str, ...]:
    """The computed reports that can be requested by name in a place, or all; a folder listing."""
    folder = files(__package__ or "bench.reports.computed")
    found = sorted(file.name.removesuffix(_TEMPLATE) for file in folder.iterdir()
                   if file.name.endswith(_TEMPLATE) and not file.name.startswith("_"))  # fmt: skip
    return tuple(name for name in found if place is None or place in report(name).PLACES)


def offers(place: str, name: str) -> bool:
    """Whether a computed report can be requested by this name in a place; only reads its file."""
    return name in reports() and place in report(name).PLACES


def report(name: str) -> Report:
    """The report of this name, one of `reports()`."""
    return cast("Report", import_module(f".{name}", __package__))


def answered(warehouse: Warehouse, name: str, query: Query) -> Answer:
    """The answer of the report `name` to a query, in the form of commands and regions."""
    return presented(report(name).answer(warehouse, query), names_of(warehouse), query.most)


def presented(decision: Decision, names: ShortNames, most: int = 0) -> Answer:
    """A decision with its sentences and cells; `most` limits the rows for people."""
    from ..answer import Answer
    from .sentences import sentences

    of = report(decision.name)
    rows, facts = decision.rows, decision.facts
    shown = rows[:most] if most and getattr(of, "RANKED", False) else rows
    summary, notes = sentences(names, decision, len(rows) - len(shown))
    columns = getattr(of, "shown", lambda facts: of.SHOWN)(facts)
    keep = of.keep(facts) if hasattr(of, "keep") else getattr(of, "KEEP", ())
    return Answer(
        summary,
        of.COLUMNS,
        columns,
        rows,
        decision.left_out,
        notes,
        tuple(of.cells(names, row, facts) for row in shown),
        keep,
        tuple(head for name, head in columns if name in getattr(of, "DERIVED", ())),
    )


def names_of(warehouse: Warehouse) -> ShortNames:
    """The short names of the warehouse's sources."""
    return ShortNames.of(warehouse)
