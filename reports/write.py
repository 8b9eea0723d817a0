"""A page in a given format and place, or single sections of it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse
from ..vocabulary.atomic import atomic_write
from ..vocabulary.printable import json_text
from .page import Page
from .page_charts import draw


def page_text(page: Page, form: str) -> str:
    """A page as md text, or its data as a JSON object."""
    if form == "json":
        return json_text(page.context, indent=1) + "\n"
    return page.markdown()


def write_folder(warehouse: Warehouse, page: Page, folder: Path) -> list[Path]:
    """Write the page and its charts to a folder; returns the files, the page first."""
    try:
        return _written(warehouse, page, folder)
    except OSError as error:
        raise BenchError(
            "the page cannot be written",
            why=error.strerror or str(error),
            where=str(error.filename or folder),
            hint="check the folder's permissions, or another -o FOLDER",
        ) from error


def _written(warehouse: Warehouse, page: Page, folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    charts = draw(
        warehouse, page.context["name"], page.context.get("ranked", []), page.names, folder
    )
    file = folder / f"{charts_stem(page)}.md"
    atomic_write(file, page.markdown(charts).encode())
    pictures = [folder / chart["file"] for chart in charts]
    return [file, *(p.with_suffix(end) for p in pictures for end in (".svg", ".png"))]


def charts_stem(page: Page) -> str:
    """The file name of a page: its model, and the report unless it is the default."""
    import re

    name = re.sub(r"[^\w.-]+", "-", page.context["name"])
    return name if page.report == "model" else f"{name}-{page.report}"


# Former headings: markers in files of users may still use them.
_RENAMED = {"left out": "excluded", "told by users": "user annotations"}


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of a page, and the text up to the next of its rank or above."""

    title: str
    text: str


def section(page: str, name: str) -> str:
    """The sections of a markdown page whose headings begin with `name`, case-insensitive.

    Raises BenchError, with the list of sections, if none does.
    """
    known = sections(page)
    begin = _RENAMED.get(name.casefold(), name.casefold())
    found = [one.text for one in known if one.title.casefold().startswith(begin)]
    if not found:
        raise BenchError(
            f"the page has no section {name!r}",
            why=f"it has {', '.join(repr(one.title) for one in known) or 'none'}",
            hint="section=NAME, with what its heading begins with",
        )
    return "\n\n".join(found)


def sections(page: str) -> list[Section]:
    """Every section: a heading below the title, or a paragraph that begins with bold."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").parse(page)
    lines = page.split("\n")
    heads: list[tuple[int, int, str]] = []  # line, rank, title
    for opening, inline in pairwise(tokens):
        rank = int(opening.tag[1]) if opening.type == "heading_open" else 0
        children = inline.children or []
        if opening.type == "paragraph_open" and opening.level == 0:
            shown = [child for child in children if child.type != "text" or child.content]
            rank = 7 if shown and shown[0].type == "strong_open" else 0
            children = shown[:2] if rank else children
        if rank and opening.map:
            title = "".join(child.content for child in children)
            heads.append((opening.map[0], rank, title))
    found = []
    for at, (line, rank, title) in enumerate(heads):
        if rank == 1:
            continue
        end = next((below for below, other, _ in heads[at + 1 :] if other <= rank), len(lines))
        found.append(Section(title, "\n".join(lines[line:end]).strip("\n")))
    return found
