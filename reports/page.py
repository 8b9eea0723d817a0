"""A report: a selection, the rows of its queries, a template of the same name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
from jinja2.sandbox import SandboxedEnvironment

from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse
from . import tables, words
from .budget import Budget, budget
from .escape import FILTERS as ESCAPES
from .escape import markdown_text, visible
from .format import FILTERS as FORMATS
from .layout import Markdown, italic, pipe_table
from .selection import Selection, select
from .short import Names
from .statements import run
from .sweep import sweeps

# What an expression in a template can raise beside Jinja's own.
_TEMPLATE_ERRORS = (
    jinja2.TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError,
    MemoryError, RecursionError,
)  # fmt: skip
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


@dataclass(frozen=True, slots=True)
class Page:
    """A page before it is laid out: one dict of plain values, any number of templates."""

    request: Request
    names: Names
    context: dict[str, Any]

    def markdown(self, charts: list[dict[str, str]] | None = None) -> str:
        """The page as markdown; `charts` are title, file and caption of pictures beside it."""
        return _lay_out(self.request, self.names, {**self.context, "charts": charts or []})


def page(warehouse: Warehouse, request: Request) -> Page:
    """Select the runs and run the queries; raises BenchError when there is nothing to tell."""
    selected = select(warehouse, request.selection)
    if not selected.runs:
        raise BenchError(
            "no runs to report on",
            why="no run of the warehouse fits the filters",
            hint="bench runs lists what there is",
        )
    plan = _budget(warehouse, request)
    most = 0 if request.all_rows else MOST
    rows = run(warehouse, request.report, {"tokens": float(plan.tokens), "most": most})
    names = Names(uri for (uri,) in warehouse.rows("SELECT uri FROM sources"))
    context = {
        **rows,
        "name": selected.name,
        "budget": plan,
        "most": most,
        "version": version("bench-warehouse"),
        "begin_marker": _begin_marker(request),
        "end_marker": Markdown("<!-- bench:end -->"),
    }
    return Page(request, names, context)


def _begin_marker(request: Request) -> Markdown:
    """What tells a reader, and bench itself, that the lines up to the end marker are generated."""
    model = request.selection.model or ""
    plain = f" model={model}" if re.fullmatch(r"[\w.]+", model) else ""
    return Markdown(f"<!-- bench:begin report={request.report}{plain} -->")


def _budget(warehouse: Warehouse, request: Request) -> Budget:
    plans = warehouse.dicts(
        """SELECT uri, line, value, unit, detail FROM statements
           WHERE kind = 'plan' AND uri IN (SELECT uri FROM selected) ORDER BY uri, line"""
    )
    sizes = {
        size
        for (size,) in warehouse.rows(
            "SELECT DISTINCT params_b FROM selected WHERE params_b IS NOT NULL"
        )
    }
    return budget(plans, sizes, request.tokens, request.steps)


def _lay_out(request: Request, names: Names, context: Mapping[str, Any]) -> str:
    environment = _environment(request.templates, names)
    try:
        text = environment.get_template(f"{request.report}.md.j2").render(context)
    except _TEMPLATE_ERRORS as error:
        if not request.templates and not isinstance(error, jinja2.TemplateError):
            raise  # a defect of ours, not of a user's template
        named = isinstance(error, jinja2.TemplateNotFound)
        raise BenchError(
            f"the template of {request.report!r} failed",
            why=f"there is no template {error}" if named else f"{error or type(error).__name__}",
            where=_place(error) or f"{request.report}.md.j2",
            hint="mend the template, or leave --templates out",
        ) from error
    return visible(text.rstrip("\n")) + "\n"


def _place(error: BaseException) -> str:
    """Template and line of an error: as it says itself, else the last line of a template run."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return f"{error.filename or error.name}:{error.lineno}"
    found = ""
    step = error.__traceback__
    while step:
        if step.tb_frame.f_code.co_filename.endswith(".j2"):
            found = f"{step.tb_frame.f_code.co_filename}:{step.tb_lineno}"
        step = step.tb_next
    return found


def _environment(folder: Path | None, names: Names) -> jinja2.Environment:
    if folder and not folder.is_dir():
        raise BenchError("no such folder of templates", where=str(folder), hint="check --templates")
    loaders: list[jinja2.BaseLoader] = [jinja2.FileSystemLoader(folder)] if folder else []
    environment = SandboxedEnvironment(
        loader=jinja2.ChoiceLoader(
            [*loaders, jinja2.PackageLoader(__package__ or "bench.reports")]
        ),
        undefined=jinja2.StrictUndefined,
        finalize=_escaped,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {name: _text_filter(function) for name, function in FORMATS.items()}
    environment.filters |= {name: _markdown_filter(function) for name, function in ESCAPES.items()}
    named = (
        tables.days_table,
        tables.shape_table,
        tables.log_table,
        tables.left_out_table,
        tables.source_table,
        words.budget_words,
        words.device_note,
    )
    environment.filters |= {function.__name__: partial(function, names) for function in named}
    environment.filters |= {
        "reference_table": tables.reference_table,
        "no_results": words.no_results,
        "speed_words": words.speed_words,
        "step_time": lambda row: Markdown(words.step_time(row)),
        "topology": words.topology_words,
        "recompute_words": words.recompute_words,
        "arranged": sweeps,
        "short": names.short,
        "system": names.system,
        "italic": italic,
        "pipe_table": pipe_table,
        "bare": lambda text: text.strip("-*+ "),
    }
    return environment


def _escaped(value: object) -> object:
    """Every text that a template prints is data, unless it was made as markdown."""
    return (
        markdown_text(value)
        if isinstance(value, str) and not isinstance(value, Markdown)
        else value
    )


def _text_filter(function: Any) -> Any:
    return lambda *args, **kwargs: Markdown(function(*args, **kwargs))


def _markdown_filter(function: Any) -> Any:
    return lambda text: Markdown(function(text))
