"""The scripts and the stylesheet of pages, bundled from the files in `browser/`.

A folder is one asset: `browser/site/` becomes `site.js`, `browser/curves/` becomes `curves.js`,
which the first loads on pages with curves. Both share the global scope, and TypeScript checks them
together (`tests/services/tsconfig.json`). Comments and indentation are stripped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable

# Whole-line comments; template literals of the files never span lines.
_COMMENTS = re.compile(r"^[ \t]*(?:/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*)[ \t]*\n", re.MULTILINE)
# The embedding page may be light or dark, so colours are shades of its text colour.
_AROUND = """--ink: currentColor; --muted: color-mix(in srgb, currentColor 70%, transparent);
--line: color-mix(in srgb, currentColor 25%, transparent); --accent: LinkText;
--rule: color-mix(in srgb, currentColor 12%, transparent); --paper: transparent;
--panel: color-mix(in srgb, currentColor 6%, transparent); --round: 8px; --small: 13px;"""
# Sticky elements need an opaque background.
_FLAT = "thead th, .grid td:first-child { position: static; }\n.table-frame { max-height: none; }\n"
_BLANKS = re.compile(r"\n\s*")


def scripts() -> dict[str, str]:
    """The scripts by their names in `assets/`."""
    folders = [
        traversable
        for traversable in _listed(resources.files(__package__) / "browser")
        if traversable.is_dir()
    ]
    return {f"{folder.name}.js": f'"use strict";\n{_joined(folder, ".js")}' for folder in folders}


def sheet() -> str:
    """The stylesheet of all pages, including elements added by the scripts."""
    top = resources.files(__package__)
    return _joined(top / "assets", ".css") + _joined(top / "browser", ".css")


def scoped(within: str) -> str:
    """The rules of tables, scoped to `within`, in the colours of the embedding page."""
    rules = _joined(resources.files(__package__) / "assets", "table.css")
    return f"{within} {{\n{_AROUND}\n{rules}{_FLAT}}}"


def _joined(folder: Traversable, suffix: str) -> str:
    text = "\n".join(
        traversable.read_text("utf-8")
        for traversable in _listed(folder)
        if traversable.name.endswith(suffix)
    )
    return _BLANKS.sub("\n", _COMMENTS.sub("", text)).strip() + "\n"


def _listed(folder: Traversable) -> Iterator[Traversable]:
    yield from sorted(folder.iterdir(), key=lambda one: one.name)
