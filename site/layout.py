"""Pages from Jinja templates, with autoescaping of everything but Markup."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from ..reports.template_cache import Compiled
from ..vocabulary.format import FILTERS, counted
from .line_rows import LONGEST, fact_rows, source_rows
from .text import Text

PAGES = (
    ("index.html", "Overview"),
    ("compare.html", "Compare"),
    ("findings.html", "Findings"),
    ("failures.html", "Failures"),
    ("trends.html", "Trends"),
    ("sources.html", "Sources"),
    ("about.html", "About"),
)


class Layout:
    """The templates with the context shared by all pages of a site."""

    def __init__(self, text: Text, site: dict[str, Any], live: bool) -> None:
        self._environment = _environment(text)
        self._environment.filters |= FILTERS | {"counted": counted}
        self._environment.filters |= {
            "long": lambda value: text.html(value, LONGEST),
            "source_rows": partial(source_rows, text),
            "fact_rows": fact_rows,
        }
        self._shared = {"site": {"pages": PAGES, **site}, "live": live}

    def page(self, template: str, file: str, **content: Any) -> bytes:
        """Render the page at `file` of the site from a template."""
        root = Markup("../" * file.count("/"))
        made = self._environment.get_template(f"{template}.html.j2")
        return made.render(**self._shared, root=root, here=file, **content).encode(
            "utf-8", "backslashreplace"
        )


def _environment(text: Text) -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader(__package__ or "bench.site", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: _shown(value, text),
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=Compiled(Path(__file__).parent),
    )


@cache
def _single() -> jinja2.Template:
    return _environment(Text()).get_template("single.html.j2")


def single_file(**content: Any) -> str:
    """Render a page in one file."""
    return _single().render(**content) + "\n"


def _shown(value: object, text: Text) -> object:
    if isinstance(value, Markup) or not isinstance(value, str):
        return "" if value is None else value
    return text.line(value)
