"""The build: what changed since the last one is made again, the rest stays as it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from ..decide.query import Query
from ..explain.run import Lines
from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse
from ..vocabulary.atomic import atomic_write
from . import bundle
from .layout import Layout
from .load import read_content
from .models import model_page
from .runs import details, run_data, run_page
from .sources import source_pages
from .text import Text, data_file, digest

MANIFEST = ".bench-site.json"
TITLE = "LLM training benchmarks"
_AT_ONCE = 500  # runs whose details are read together


@dataclass(frozen=True, slots=True)
class Built:
    """What a build did: files of the site, those written, those removed, runs."""

    files: int
    written: int
    removed: int
    runs: int


@dataclass
class Folder:
    """The folder of a site: files by name with the digest of what each was made from."""

    path: Path
    before: dict[str, str]
    now: dict[str, str] = field(default_factory=dict)
    written: int = 0

    def is_made(self, name: str, key: str) -> bool:
        """Whether a file is there already, made from the same."""
        if self.before.get(name) != key or not (self.path / name).is_file():
            return False
        self.now[name] = key
        return True

    def write(self, name: str, data: bytes, key: str) -> None:
        """Write a file, unless it has these bytes."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not (file.is_file() and file.read_bytes() == data):
            atomic_write(file, data)
            self.written += 1
        self.now[name] = key


def build(warehouse: Warehouse, root: Path, out: Path, query: Query, *, kinds: Sequence[str] = (),
          title: str = TITLE, live: bool = False) -> Built:  # fmt: skip
    """Write the site to `out`; sources lie below `root`. Raises BenchError."""
    folder = Folder(out, _manifest(out))
    text = Text(kinds)
    content = read_content(warehouse, query, text)
    layout = Layout(text, {"title": title, "made_from": ""}, live)
    made_by = digest(f"{_code()}\0{sorted(kinds)}\0{title}\0{live}")
    _assets(folder)
    for name, rows in content.models.items():
        file = f"models/{content.model_slugs[name]}.html"
        page, tables = model_page(content, name, rows, "../")
        folder.write(file, layout.page("model", file, **page), made_by)
        for table in tables:
            if table.has_data:
                folder.write(f"data/{table.key}.js", data_file(table.key, table.data()), made_by)
    pages = [row for row in content.rows if row["run"] in content.with_pages]
    for at in range(0, len(pages), _AT_ONCE):
        part = pages[at : at + _AT_ONCE]
        of = details(content, [row["run"] for row in part])
        for row in part:
            file = content.href(row["run"])
            folder.write(file, layout.page("run", file, **run_page(content, row, of, "../")), made_by)
            for key, value in run_data(content, row, of):
                folder.write(f"data/{key}.js", data_file(key, value), made_by)
    lines = Lines(warehouse, root)
    for uri in content.slugs:
        for file, page in source_pages(content, uri, lines):
            folder.write(file, layout.page("source", file, **page), made_by)
    models = [(f"models/{slug}.html", name) for name, slug in content.model_slugs.items()]
    folder.write("index.html", layout.page("index", "index.html", title=title, models=models), made_by)
    removed = _remove(folder)
    atomic_write(out / MANIFEST, json.dumps({"files": folder.now}, indent=0, sort_keys=True).encode())
    return Built(len(folder.now), folder.written, removed, len(content.rows))


def _manifest(out: Path) -> dict[str, str]:
    """The files of the last build. Raises BenchError for a folder that holds another's pages."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        if (out / MANIFEST).is_file():
            found = json.loads((out / MANIFEST).read_bytes())
            return {str(name): str(key) for name, key in found["files"].items()}
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise BenchError("the folder of the site cannot be used", why=str(error), where=str(out),
                         hint="give -o another folder") from error  # fmt: skip
    if (out / "index.html").exists():
        raise BenchError("the folder holds pages that are not from bench site", where=str(out),
                         why="its index.html would be overwritten", hint="give -o another folder")  # fmt: skip
    return {}


def _remove(folder: Folder) -> int:
    """Remove the files of the last build that this one does not have."""
    gone = [name for name in folder.before if name not in folder.now]
    for name in gone:
        file = (folder.path / name).resolve()
        if file.is_relative_to(folder.path.resolve()):
            file.unlink(missing_ok=True)
    return len(gone)


def _assets(folder: Folder) -> None:
    style = (files(__package__ or "bench.site") / "assets" / "site.css").read_text("utf-8")
    made = {"site.css": style + bundle.style(), **bundle.scripts()}
    for name, text in made.items():
        folder.write(f"assets/{name}", text.encode(), digest(text))


@cache
def _code() -> str:
    """A digest of the code that makes pages: another version makes all of them again."""
    top = files(__package__ or "bench.site")
    found = sorted((file for folder in (top, top / "templates") for file in folder.iterdir()
                    if file.is_file()), key=lambda file: file.name)  # fmt: skip
    return digest(b"".join(file.read_bytes() for file in found) + version("bench-warehouse").encode())
