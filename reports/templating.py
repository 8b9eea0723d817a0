"""Page templates: Jinja in a sandbox, where text is data unless it was made as markdown."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment

from ..project.short_names import ShortNames
from ..schema.errors import BenchError
from ..vocabulary.format import FILTERS as FORMATS
from ..vocabulary.format import counted
from ..vocabulary.printable import visible
from ..vocabulary.regular_files import read_text
from . import pairs, tables, words
from .escape import FILTERS as ESCAPES
from .escape import Markdown, italic, markdown_text, pipe_table
from .ranked_tables import answers_table, days_table
from .shape_table import shape_table
from .sweep import merged, sweeps
from .template_cache import Compiled
from .words import annotation_table, with_mark

# Errors of template expressions, in addition to Jinja's own.
_TEMPLATE_ERRORS = (
    jinja2.TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError,
    MemoryError, RecursionError,
)  # fmt: skip
SUFFIX, LARGEST = ".j2", 1 << 20  # of template files; bytes
MOST_TEXT = 8 << 20  # bytes of all of them
MOST_FILES = 2000  # below a folder of templates
_NAMES = "names"  # in the context: the short names of the sources


@dataclass(frozen=True, slots=True)
class OwnTemplate:
    """A template of a user's folder: its text, and its file for errors."""

    text: str
    file: str


def rendered(
    report: str, names: ShortNames, context: Mapping[str, Any], own: Mapping[str, OwnTemplate]
) -> str:
    """The page as markdown by REPORT.md.j2, of a user's templates or ours; raises BenchError."""
    try:
        environment = _environment(own) if own else _our_environment()
        template = environment.get_template(f"{report}.md.j2")
        text = template.render({**context, _NAMES: names})
    except _TEMPLATE_ERRORS as error:
        if not own and not isinstance(error, jinja2.TemplateError):
            raise  # a defect of ours, not of a user's template
        raise _failed(report, error) from error
    return visible(text.rstrip("\n")) + "\n"


def rendered_part(part: str, names: ShortNames, context: Mapping[str, Any]) -> str:
    """A part `_PART.j2` of our pages as markdown."""
    template = _our_environment().get_template(f"_{part}.j2")
    return visible(template.render({**context, _NAMES: names}))


def own_templates(folder: Path) -> dict[str, OwnTemplate]:
    """The templates of a user's folder, which may be untrusted, by name.

    Only `NAME.j2` is one, also as a link, and no link leads out of the folder: an `include` of
    another file, or of .git/config, would print it. Raises BenchError.
    """
    if not folder.is_dir():
        raise BenchError("no such folder of templates", where=str(folder), hint="check --templates")
    real = folder.resolve()
    found: dict[str, OwnTemplate] = {}
    size = 0
    for seen, file in enumerate(_files(folder)):
        if seen == MOST_FILES:
            raise BenchError("too many files besides the templates", why=f"more than {MOST_FILES}",
                             where=str(folder), hint="give them a folder of their own")  # fmt: skip
        if file.suffix != SUFFIX:
            continue
        target = file.resolve()
        is_one = target.is_relative_to(real) and target.suffix == SUFFIX and target.is_file()
        if is_one and target.stat().st_size <= LARGEST:
            name = file.relative_to(folder).as_posix()
            size += target.stat().st_size
            if size > MOST_TEXT:
                raise BenchError("the templates are too large", where=str(folder),
                                 why=f"more than {MOST_TEXT:,} bytes")  # fmt: skip
            try:
                found[name] = OwnTemplate(read_text(target, LARGEST), str(file))
            except UnicodeDecodeError as error:
                raise _failed(name.removesuffix(".md.j2"), error) from error
    return found


def _files(folder: Path) -> Iterator[Path]:
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(at, name) for name in sorted(names))


def _failed(report: str, error: Exception) -> BenchError:
    named = isinstance(error, jinja2.TemplateNotFound)
    return BenchError(
        f"the template of {report!r} failed",
        why=f"there is no template {error}" if named else f"{error or type(error).__name__}",
        where=_place(error) or f"{report}.md.j2",
        hint="mend the template, or leave --templates out",
    )


def _place(error: BaseException) -> str:
    """Template and line of an error: its own, else the last line of a template in the traceback."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return f"{error.filename or error.name}:{error.lineno}"
    found = ""
    step = error.__traceback__
    while step:
        if step.tb_frame.f_code.co_filename.endswith(".j2"):
            found = f"{step.tb_frame.f_code.co_filename}:{step.tb_lineno}"
        step = step.tb_next
    return found


@functools.cache
def package_templates() -> dict[str, OwnTemplate]:
    """The templates of the package."""
    folder = files(__package__ or "bench.reports") / "templates"
    return {file.name: OwnTemplate(file.read_text("utf-8"), file.name) for file in folder.iterdir()}


@functools.cache
def _our_environment() -> jinja2.Environment:
    environment = _environment({})
    environment.bytecode_cache = Compiled(Path(__file__).parent)
    return environment


def _environment(own: Mapping[str, OwnTemplate]) -> jinja2.Environment:
    def load(name: str) -> tuple[str, str, Callable[[], bool]] | None:
        found = own.get(name) or package_templates().get(name)
        return (found.text, found.file, lambda: True) if found else None

    environment = SandboxedEnvironment(
        loader=jinja2.FunctionLoader(load),
        undefined=jinja2.StrictUndefined,
        finalize=_escaped,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    del environment.globals["lipsum"]  # filler text, of any length
    environment.filters |= {name: _text_filter(function) for name, function in FORMATS.items()}
    environment.filters |= {name: _markdown_filter(function) for name, function in ESCAPES.items()}
    named = (
        days_table,
        answers_table,
        shape_table,
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
        "reference_days": tables.reference_days,
        "counted": counted,
        "merged": merged,
        "no_results": words.no_results,
        "speed_words": words.speed_words,
        "step_time": lambda row: Markdown(words.step_time(row)),
        "topology": words.topology_words,
        "recompute_words": words.recompute_words,
        "arranged": sweeps,
        "short": _with_names(ShortNames.short),
        "within": _with_names(ShortNames.within),
        "system": _with_names(ShortNames.system),
        "italic": italic,
        "with_mark": with_mark,
        # Its former name; user templates may still use it.
        "told_table": _with_names(annotation_table),
        "pipe_table": pipe_table,
        "bare": lambda text: text.strip("-*+ "),
    }
    return environment


def _escaped(value: object) -> object:
    """Any text printed by a template is data, unless it was made as markdown."""
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
