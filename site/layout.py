"""Pages from Jinja templates: whatever a template prints is escaped text, unless made as markup."""

from __future__ import annotations

from typing import Any

import jinja2
from markupsafe import Markup

from ..vocabulary.format import FILTERS
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
    """The templates with what all pages of a site share."""

    def __init__(self, text: Text, site: dict[str, Any], live: bool) -> None:
        self._environment = jinja2.Environment(
            loader=jinja2.PackageLoader(__package__ or "bench.site", "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            finalize=lambda value: _shown(value, text),
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= FILTERS
        self._environment.filters |= {"long": lambda value: text.html(value, 4000)}
        self._shared = {"site": {"pages": PAGES, **site}, "live": live}

    def page(self, template: str, file: str, **content: Any) -> bytes:
        """The page at FILE of the site by a template."""
        root = Markup("../" * file.count("/"))
        made = self._environment.get_template(f"{template}.html.j2")
        return made.render(**self._shared, root=root, here=file, **content).encode(
            "utf-8", "backslashreplace"
        )


def _shown(value: object, text: Text) -> object:
    if isinstance(value, Markup) or not isinstance(value, str):
        return "" if value is None else value
    return text.line(value)
