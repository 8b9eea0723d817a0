"""A page in the format and place that a user wants."""

from __future__ import annotations

from pathlib import Path

from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse
from .page import Page
from .pictures import draw
from .plain import plain
from .whole import write_whole


def page_text(page: Page, form: str) -> str:
    """A page as md or html text, or its data as a JSON object."""
    if form == "html":
        return _html(page.markdown())
    if form == "json":
        import json

        return json.dumps(plain(page.context), ensure_ascii=False, indent=1) + "\n"
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
    write_whole(file, page.markdown(charts).encode())
    pictures = [folder / chart["file"] for chart in charts]
    return [file, *(p.with_suffix(end) for p in pictures for end in (".svg", ".png"))]


def charts_stem(page: Page) -> str:
    """The file name of a page: its model, and the report unless it is the usual one."""
    import re

    name = re.sub(r"[^\w.-]+", "-", page.context["name"])
    return name if page.request.report == "model" else f"{name}-{page.request.report}"


def _html(markdown: str) -> str:
    from markdown_it import MarkdownIt

    shown = "\n".join(line for line in markdown.split("\n") if not line.startswith("<!-- bench:"))
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(shown)
    return f'<!doctype html>\n<meta charset="utf-8">\n{body}'
