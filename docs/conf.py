"""The documentation as a site, made by `make docs` from the pages that are read on GitHub."""

from __future__ import annotations

import tomllib
from pathlib import Path

from sphinx.application import Sphinx

_PACKAGE = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))

project = "bench"
release = version = _PACKAGE["project"]["version"]
extensions = ["myst_parser"]
# The source folder is the repository: links of a page lead to the same place here and on GitHub.
root_doc = "README"
include_patterns = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/**.md"]
exclude_patterns = ["**/.*"]
myst_heading_anchors = 4
nitpicky = True

html_theme = "furo"
html_title = "bench"
html_copy_source = False
html_show_copyright = False

CONTENTS = {
    "Guides": [
        "decide", "predict", "site", "sharing", "shared_warehouse", "python", "launch", "watch",
        "history", "audit", "explain",
    ],
    "Reference": ["cli", "pull_requests", "claims", "formats", "bundles", "facts", "warehouse",
                  "cost_model"],
    "Project": ["architecture", "decisions", "trainer"],
}  # fmt: skip
AT_ROOT = ["CONTRIBUTING", "SECURITY", "CHANGELOG"]


def add_contents(app: Sphinx, docname: str, source: list[str]) -> None:
    """Give the first page the table of contents, which GitHub would show as code."""
    if docname != root_doc:
        return
    for caption, names in CONTENTS.items():
        pages = [f"docs/{name}" for name in names]
        pages += AT_ROOT if caption == "Project" else []
        lines = "\n".join(pages)
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n"


def setup(app: Sphinx) -> None:
    """Connect what this file adds to Sphinx."""
    app.connect("source-read", add_contents)
