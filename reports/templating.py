"""Page templates: Jinja in a sandbox, where a text is data unless it was made as markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment

from ..schema.errors import BenchError
from ..vocabulary.format import FILTERS as FORMATS
from . import pairs, tables, words
from .escape import FILTERS as ESCAPES
from .escape import Markdown, italic, markdown_text, pipe_table, visible
from .short import Names
from .sweep import sweeps
from .words import annotation_table, with_mark

# Errors of template expressions, in addition to Jinja's own.
_TEMPLATE_ERRORS = (
    jinja2.TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError,
    MemoryError, RecursionError,
)  # fmt: skip
SUFFIX, LARGEST = ".j2", 1 << 20  # of a file that is a template; bytes
_NAMES = "names"  # in the context: the short names of the sources


@dataclass(frozen=True, slots=True)
class Layout:
    """The template of a report, compiled; `own` where a user's folder may have changed it."""

    template: jinja2.Template
    report: str
    own: bool

    def render(self, names: Names, context: Mapping[str, Any]) -> str:
        """The page as markdown; raises BenchError for a user's template that fails."""
        try:
            text = self.template.render({**context, _NAMES: names})
        except _TEMPLATE_ERRORS as error:
            if not self.own and not isinstance(error, jinja2.TemplateError):
                raise  # a defect of ours, not of a user's template
            raise _failed(self.report, error) from error
        return visible(text.rstrip("\n")) + "\n"


def layout(report: str, folder: Path | None) -> Layout:
    """The template REPORT.md.j2 of a user's folder, else ours; raises BenchError."""
    environment = _environment(folder)
    try:
        return Layout(environment.get_template(f"{report}.md.j2"), report, folder is not None)
    except _TEMPLATE_ERRORS as error:
        raise _failed(report, error) from error


def _failed(report: str, error: Exception) -> BenchError:
    named = isinstance(error, jinja2.TemplateNotFound)
    return BenchError(
        f"the template of {report!r} failed",
        why=f"there is no template {error}" if named else f"{error or type(error).__name__}",
        where=_place(error) or f"{report}.md.j2",
        hint="mend the template, or leave --templates out",
    )


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


class _OwnTemplates(jinja2.FileSystemLoader):
    """A user's folder of templates, which may be a stranger's: no link leads out of it.

    Only `NAME.j2` is one, also where a link leads: an `include` of another file, or of .git/config,
    would print it.
    """

    def get_source(
        self, environment: jinja2.Environment, template: str
    ) -> tuple[str, str, Callable[[], bool]]:
        """Text, file and whether it is unchanged; raises TemplateNotFound for anything else."""
        folder = Path(self.searchpath[0]).resolve()
        file = folder.joinpath(*jinja2.loaders.split_template_path(template)).resolve()
        is_one = file.is_relative_to(folder) and file.suffix == SUFFIX and file.is_file()
        if not is_one or file.stat().st_size > LARGEST:
            raise jinja2.TemplateNotFound(template)
        return super().get_source(environment, template)


def _environment(folder: Path | None) -> jinja2.Environment:
    if folder and not folder.is_dir():
        raise BenchError("no such folder of templates", where=str(folder), hint="check --templates")
    loaders: list[jinja2.BaseLoader] = [_OwnTemplates(folder)] if folder else []
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
        tables.restated_table,
        tables.source_table,
        pairs.pairs_table,
        annotation_table,
        words.budget_words,
        words.device_note,
        words.boundary_note,
    )
    environment.filters |= {function.__name__: _with_names(function) for function in named}
    environment.filters |= {
        "reference_table": tables.reference_table,
        "no_results": words.no_results,
        "speed_words": words.speed_words,
        "step_time": lambda row: Markdown(words.step_time(row)),
        "topology": words.topology_words,
        "recompute_words": words.recompute_words,
        "arranged": sweeps,
        "short": _with_names(Names.short),
        "within": _with_names(Names.within),
        "system": _with_names(Names.system),
        "italic": italic,
        "with_mark": with_mark,
        # Its name until the headings changed; templates of users may still call it.
        "told_table": _with_names(annotation_table),
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


def _with_names(function: Callable[..., Any]) -> Callable[..., Any]:
    @jinja2.pass_context
    def named(context: Context, *args: Any) -> Any:
        return function(context[_NAMES], *args)

    return named


def _text_filter(function: Any) -> Any:
    return lambda *args, **kwargs: Markdown(function(*args, **kwargs))


def _markdown_filter(function: Any) -> Any:
    return lambda text: Markdown(function(text))
