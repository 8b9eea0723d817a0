"""A report: a selection, the rows of its queries, a template of the same name.

The queries are the named statements of `queries/NAME.sql`, run in order; a line `-- from OTHER:
NAMES` reuses statements of another report, so that both agree, and `-- computed: NAMES` requests
parts that no query computes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ..decide.budget_choice import planned
from ..decide.query import Query
from ..decide.ranking import SLOWEST
from ..decide.selection import select
from ..project.short_names import ShortNames
from ..schema.errors import BenchError
from ..schema.generated import expand
from ..schema.sql import named_statements
from ..schema.warehouse import Warehouse
from ..vocabulary.release import VERSION
from .escape import Markdown
from .page_answers import COMPUTED, PageRuns

MOST = 5  # rows of each system in a ranking, unless all are requested
SWEEP_ROWS = 20  # of published tables, above which these are only named, and
LIST_ROWS = 40  # of any other list


@dataclass(frozen=True, slots=True)
class Page:
    """A page before layout: one dict of plain values, for any template."""

    report: str
    names: ShortNames
    context: dict[str, Any]
    templates: Path | None

    def by_template(self, name: str, folder: Path) -> Page:
        """The same page laid out by NAME.md.j2 of a user's folder."""
        return replace(self, report=name, templates=folder)

    def markdown(self, charts: list[dict[str, str]] | None = None) -> str:
        """The page as markdown; `charts` are title, file and caption of its pictures."""
        from .templating import own_templates, rendered

        context = {**self.context, "charts": charts or []}
        if own := own_templates(self.templates) if self.templates else {}:
            from .sandbox import render

            return render(self.report, self.names, context, own)
        return rendered(self.report, self.names, context, {})


def page(
    warehouse: Warehouse,
    report: str,
    query: Query,
    *,
    templates: Path | None = None,
    suggestions: bool = False,
    restated: Mapping[str, Mapping[str, Any]] | None = None,
) -> Page:
    """Select the runs and run the queries of a report.

    `templates` is a folder whose templates take precedence over ours; `restated` has TFLOP/s by one
    formula, by run id. Raises BenchError for an empty page.
    """
    selected = select(warehouse, query)
    if not selected.runs:
        raise BenchError(
            "no runs to report on",
            why="no run of the warehouse fits the filters",
            hint="bench runs lists what there is",
        )
    plan = planned(warehouse, query)
    most = 0 if query.all_rows else MOST
    limits: dict[str, int | None] = {
        "most": most,
        "slowest": SLOWEST,
        "sweep_rows_shown": SWEEP_ROWS if most and report == "model" else 0,
        "listed": LIST_ROWS if most else None,
    }
    rows = _run_all(warehouse, report, {**plan.parameters, **limits})
    names = ShortNames.of(warehouse)
    runs = PageRuns(warehouse, query, plan, names, most)
    context = {
        **rows,
        **{name: COMPUTED[name](runs) for name in _computed(report)},
        "name": selected.name,
        "budget": plan,
        **limits,
        "told": rows.get("annotations", []),  # its former name; user templates may still use it
        "suggestions": suggestions,
        "restated": _restated(warehouse, restated) if restated is not None else [],
        "version": VERSION,
        "begin_marker": _begin_marker(report, query.model or ""),
        "end_marker": Markdown("<!-- bench:end -->"),
    }
    return Page(report, names, context, templates)


def _restated(
    warehouse: Warehouse, restated: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The restated runs of the selection, by place."""
    query = """SELECT run_id, uri, line, size, system, nodes, world_size, dp, tp, pp, cp, mbs,
                   recompute, left_out, annotated
               FROM selected WHERE kind = 'measured' ORDER BY uri, line"""
    return [
        row | dict(restated[row["run_id"]])
        for row in warehouse.dicts(query)
        if row["run_id"] in restated
    ]


def _begin_marker(report: str, model: str) -> Markdown:
    """The marker, for readers and bench itself, that the lines up to the end marker are
    generated."""
    # A model's name comes from a source: it must not end the comment or add an option.
    plain = f" model={model}" if re.fullmatch(r"[\w.]+", model) else ""
    return Markdown(f"<!-- bench:begin report={report}{plain} -->")


_FROM = re.compile(r"^-- from (\w+): (.+)$", re.M)
_COMPUTED = re.compile(r"^-- computed: (.+)$", re.M)
_PARAMETER = re.compile(r"\$(\w+)")


def report_names() -> list[str]:
    """Every report, by the files of the queries folder."""
    return sorted(
        file.name.removesuffix(".sql") for file in _folder().iterdir() if file.name.endswith(".sql")
    )


def statements(report: str) -> dict[str, str]:
    """The statements of a report by name; raises BenchError for an unknown report."""
    if report not in report_names():
        raise BenchError(
            f"no report {report!r}",
            why=f"known reports: {', '.join(report_names())}",
            hint=f"for a file of that name write ./{report}",
        )
    text = expand((_folder() / f"{report}.sql").read_text("utf-8"))
    taken: dict[str, str] = {}
    for other, names in _FROM.findall(text):
        theirs = statements(other)
        taken |= {name: theirs[name] for name in names.split()}
    return taken | named_statements(text)


def _computed(report: str) -> list[str]:
    """The computed parts that the head of a report's queries requests."""
    head = (_folder() / f"{report}.sql").read_text("utf-8")
    return [name for names in _COMPUTED.findall(head) for name in names.split()]


def _run_all(
    warehouse: Warehouse, report: str, parameters: Mapping[str, object]
) -> dict[str, list[dict[str, Any]]]:
    """The rows of every statement, each as column name -> value."""
    return {name: _run(warehouse, text, parameters) for name, text in statements(report).items()}


def _run(warehouse: Warehouse, text: str, parameters: Mapping[str, object]) -> list[dict[str, Any]]:
    named = set(_PARAMETER.findall(text))
    return warehouse.dicts(
        text, {key: value for key, value in parameters.items() if key in named} or None
    )


def _folder() -> Traversable:
    return files(__package__ or "bench.reports") / "queries"
