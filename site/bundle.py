"""The scripts and the style of the page, joined from the pieces in `browser/`.

A folder of pieces is one asset: `browser/site/` becomes `site.js`, `browser/curves/` becomes
`curves.js`, which the first loads where a page has curves. Both share the scope of the page, and
TypeScript checks them so (`tests/services/tsconfig.json`). What is shipped has neither their
comments nor their indentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable

# Comments that fill whole lines; no template literal of the pieces runs over lines.
_COMMENTS = re.compile(r"^[ \t]*(?:/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*)[ \t]*\n", re.MULTILINE)
# A page of somebody else may be light or dark: shades of the ink that it writes with.
_AROUND = """--ink: currentColor; --muted: color-mix(in srgb, currentColor 70%, transparent);
--line: color-mix(in srgb, currentColor 25%, transparent); --accent: LinkText;
--rule: color-mix(in srgb, currentColor 12%, transparent); --paper: transparent;
--panel: color-mix(in srgb, currentColor 6%, transparent); --round: 8px; --small: 13px;"""
# Nothing may stick over what shines through it.
_FLAT = "thead th, .grid td:first-child { position: static; }\n.table-frame { max-height: none; }\n"
_BLANKS = re.compile(r"\n\s*")


def scripts() -> dict[str, str]:
    """Each script by its name in `assets/`."""
    folders = [one for one in _listed(resources.files(__package__) / "browser") if one.is_dir()]
    return {f"{one.name}.js": f'"use strict";\n{_joined(one, ".js")}' for one in folders}


def sheet() -> str:
    """The style of all pages, with the rules for what the scripts add to them."""
    top = resources.files(__package__)
    return _joined(top / "assets", ".css") + _joined(top / "browser", ".css")


def scoped(within: str) -> str:
    """The rules for tables alone, for what matches `within`, in the colours of the page around."""
    rules = _joined(resources.files(__package__) / "assets", "table.css")
    return f"{within} {{\n{_AROUND}\n{rules}{_FLAT}}}"


def _joined(folder: Traversable, suffix: str) -> str:
    text = "\n".join(one.read_text("utf-8") for one in _listed(folder) if one.name.endswith(suffix))
    return _BLANKS.sub("\n", _COMMENTS.sub("", text)).strip() + "\n"


def _listed(folder: Traversable) -> Iterator[Traversable]:
    yield from sorted(folder.iterdir(), key=lambda one: one.name)
