"""A report: a selection, the rows of its queries, a template of the same name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse
from .beside import Beside
from .budget import planned
from .layout import Markdown
from .selection import Selection, select
from .short import Names
from .statements import run

if TYPE_CHECKING:
    from .templating import Layout

MOST = 5  # rows of each system in a ranking, unless all are asked for


@dataclass(frozen=True, slots=True)
class Request:
    """What a page is asked for; `templates` is a folder whose templates come before ours."""

    report: str = "model"
    selection: Selection = field(default_factory=Selection)
    tokens: int | None = None
    steps: int | None = None
    all_rows: bool = False
    templates: Path | None = None
    suggestions: bool = False
    restated: Mapping[str, Mapping[str, Any]] | None = None  # by run: its TFLOP/s by one formula


@dataclass(frozen=True, slots=True)
class Page:
    """A page before it is laid out: one dict of plain values, any number of templates."""

    request: Request
    names: Names
    context: dict[str, Any]
    layout: Beside[Layout]

    def by_template(self, name: str, folder: Path) -> Page:
        """The same page laid out by NAME.md.j2 of a user's folder."""
        request = replace(self.request, report=name, templates=folder)
        return replace(self, request=request, layout=Beside(partial(_layout, request)))

    def markdown(self, charts: list[dict[str, str]] | None = None) -> str:
        """The page as markdown; `charts` are title, file and caption of pictures beside it."""
        return self.layout.result().render(self.names, {**self.context, "charts": charts or []})


def page(warehouse: Warehouse, request: Request) -> Page:
    """Select the runs and run the queries; raises BenchError when there is nothing to tell."""
    layout = Beside(partial(_layout, request))
    selected = select(warehouse, request.selection)
    if not selected.runs:
        raise BenchError(
            "no runs to report on",
            why="no run of the warehouse fits the filters",
            hint="bench runs lists what there is",
        )
    plan = planned(warehouse, request.tokens, request.steps)
    most = 0 if request.all_rows else MOST
    rows = run(warehouse, request.report, plan.parameters | {"most": most})
    names = Names(uri for (uri,) in warehouse.rows("SELECT uri FROM sources"))
    context = {
        **rows,
        "name": selected.name,
        "budget": plan,
        "most": most,
        "suggestions": request.suggestions,
        "restated": _restated(warehouse, request),
        "version": version("bench-warehouse"),
        "begin_marker": _begin_marker(request),
        "end_marker": Markdown("<!-- bench:end -->"),
    }
    return Page(request, names, context, layout)


def _restated(warehouse: Warehouse, request: Request) -> list[dict[str, Any]]:
    """The selected runs that were restated, by place."""
    if request.restated is None:
        return []
    query = """SELECT run_id, uri, line, size, system, nodes, world_size, dp, tp, pp, cp, mbs,
                   recompute, left_out, told
               FROM selected WHERE kind = 'measured' ORDER BY uri, line"""
    found = request.restated
    return [row | dict(found[row["run_id"]]) for row in warehouse.dicts(query)
            if row["run_id"] in found]  # fmt: skip


def _layout(request: Request) -> Layout:
    from .templating import layout

    return layout(request.report, request.templates)


def _begin_marker(request: Request) -> Markdown:
    """What tells a reader, and bench itself, that the lines up to the end marker are generated."""
    model = request.selection.model or ""
    plain = f" model={model}" if re.fullmatch(r"[\w.]+", model) else ""
    return Markdown(f"<!-- bench:begin report={request.report}{plain} -->")
