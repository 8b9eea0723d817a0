"""Incremental build: rewrites only pages whose inputs changed since the last build."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..decide.query import Query
from ..explain.run import Lines
from ..ingest.files.source_text import stored_texts
from ..schema.warehouse import Row, Warehouse
from ..vocabulary.release import VERSION
from . import bundle, list_pages, overview
from .code_digest import code_digest
from .facts import details, stated
from .folder import Folder, opened
from .layout import Layout
from .load import Content, read_content
from .models import model_page
from .neighbours import neighbours
from .runs import run_data, run_page
from .search import search
from .sources import source_key, source_pages
from .table import Table
from .text import Text, data_file, digest

TITLE = "LLM training benchmarks"
_AT_ONCE = 500  # runs read per batch


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a site: title, scrubbed names, reloading of pages."""

    title: str = TITLE
    scrub: tuple[str, ...] = ()
    live: bool = False


@dataclass(frozen=True, slots=True)
class BuildCounts:
    """Counts of a build: files of the site, written and removed ones, runs."""

    files: int
    written: int
    removed: int
    runs: int


def build(
    warehouse: Warehouse, root: Path, out: Path, query: Query, options: Options
) -> BuildCounts:
    """Write the site to the folder `out`; sources lie below `root`. Raises BenchError."""
    folder = opened(out)
    content = read_content(warehouse, query, Text(options.scrub), folder.clean_before)
    folder.clean = content.doubts.clean
    made = _Maker(content, folder, options, Lines(warehouse, root, stored_texts(warehouse)))
    made.assets()
    made.models()
    made.runs()
    made.sources()
    made.lists()
    removed = folder.close()
    return BuildCounts(len(folder.now), folder.written, removed, len(content.rows))


class _Maker:
    """One build: each page is rewritten if the key of its inputs has changed."""

    def __init__(self, content: Content, folder: Folder, options: Options, lines: Lines) -> None:
        self.content, self.folder, self.lines = content, folder, lines
        site = {"title": options.title, "version": VERSION}
        self.layout = Layout(content.text, site, options.live)
        shown_as = (options.title, options.scrub, options.live, content.query)
        self.made_by = digest(f"{code_digest()}\0{shown_as}\0{content.text.scrubbed_digest}")
        self.digests = _row_digests(content)
        self.rows_of: dict[str, list[Row]] = defaultdict(list)
        for row in content.rows:
            self.rows_of[row["uri"]].append(row)
        self.source_keys = {
            uri: self.key(
                source_key(content, uri, lines),
                [content.href(row["run"]) for row in self.rows_of[uri]],
            )
            for uri in content.slugs
        }

    def key(self, *parts: object) -> str:
        """The digest of a page's inputs."""
        return digest(f"{self.made_by}\0{parts!r}")[:20]

    def names(self, uris: Collection[str]) -> list[tuple[str, str, str]]:
        """Names and links of sources, which depend on all sources and on aliases."""
        content = self.content
        return [(uri, content.slugs[uri], content.names.short(uri)) for uri in sorted(uris)]

    def page(self, template: str, file: str, key: str, make: Callable[[], dict[str, Any]]) -> None:
        """Write a page, unless it exists with the same key."""
        if not self.folder.is_made(file, key):
            self.folder.write(file, self.layout.page(template, file, **make()), key)

    def data(self, name: str, value: Any, key: str) -> None:
        self.folder.write(f"data/{name}.js", data_file(name, value), key)

    def assets(self) -> None:
        for name, text in (("site.css", bundle.sheet()), *bundle.scripts().items()):
            self.folder.write(f"assets/{name}", text.encode(), digest(text)[:20])

    def models(self) -> None:
        """Write a page for each model, and the data of its long tables."""
        content = self.content
        for name, rows in content.models.items():
            file = f"models/{content.model_slugs[name]}.html"
            findings = [one for row in rows for one in content.findings_of.get(row["run"], ())]
            key = self.key(
                name,
                [self.digests[row["run"]] for row in rows],
                findings,
                content.spreads_of(rows),
                content.plans_of_models[name],
                self.names({row["uri"] for row in rows}),
                content.model_slugs[name],
            )
            if self.folder.is_made(file, key):
                self.folder.keep(f"data/models/{content.model_slugs[name]}/", key)
                continue
            page, tables = model_page(content, name, rows, "../")
            self.tables(tables, key)
            self.data(f"models/{content.model_slugs[name]}/effects", page["effects"], key)
            self.folder.write(file, self.layout.page("model", file, **page), key)

    def tables(self, tables: Sequence[Table], key: str) -> None:
        for table in tables:
            if table.has_data:
                self.data(table.key, table.data(), key)

    def runs(self) -> None:
        """Write page and data of each changed run, read in batches."""
        content = self.content
        near = neighbours(content)
        extras = _extras_digests(content)
        keys: dict[str, str] = {}
        for row in content.rows:
            if (run := row["run"]) in content.with_pages:
                # Depends on the source's key, whose page has the lines that the run links to.
                keys[run] = self.key(
                    self.digests[run],
                    self.source_keys[row["uri"]],
                    extras.get(run),
                    [
                        (one.setting, self.digests[one.row["run"]], content.place(one.row))
                        for one in near.get(run, ())
                    ],
                    content.findings_of.get(run),
                    content.plan_of(row),
                    content.place(row),
                )
        changed = [
            run for run, key in keys.items() if not self.folder.is_made(content.href(run), key)
        ]
        for run in keys.keys() - set(changed):
            self.folder.keep(f"data/runs/{content.id(run)}.js", keys[run])
            self.folder.keep(f"data/runs/{content.id(run)}/", keys[run])
        for at in range(0, len(changed), _AT_ONCE):
            part = changed[at : at + _AT_ONCE]
            parts = details(content, part, self.lines)
            for run in part:
                row = content.by_id[run]
                facts = stated(content, row, parts)
                file = content.href(run)
                page = run_page(content, row, parts, facts, near.get(run, ()))
                for name, value in run_data(content, row, parts, facts):
                    self.data(name, value, keys[run])
                self.folder.write(file, self.layout.page("run", file, **page), keys[run])

    def sources(self) -> None:
        """Write the pages of each changed source."""
        content, lines = self.content, self.lines
        for uri, slug in content.slugs.items():
            key = self.source_keys[uri]
            if self.folder.is_made(f"sources/{slug}.html", key):
                self.folder.keep(f"sources/{slug}.", key)
                continue
            for file, page in source_pages(content, uri, lines, self.rows_of[uri]):
                self.folder.write(file, self.layout.page("source", file, **page), key)

    def lists(self) -> None:
        """Write the pages about all runs, if any of them has changed."""
        content = self.content
        changes = self.folder.changes(content, self.digests, overview.leading)
        key = self.key(
            [*self.digests.items()], content.sources, content.findings, content.failures.rows,
            content.failures.facts, content.plans, sorted(content.spreads.items()), changes,
            sorted(content.ran.items()), self.names(content.slugs), content.model_slugs,
        )  # fmt: skip
        pages: Mapping[str, Callable[[], tuple[dict[str, Any], list[Table]]]] = {
            "index": lambda: overview.overview(content, changes),
            "findings": lambda: list_pages.findings_page(content),
            "failures": lambda: list_pages.failures_page(content),
            "trends": lambda: list_pages.trends_page(content),
            "sources": lambda: list_pages.sources_page(content),
            "compare": lambda: list_pages.compare_page(content),
            "about": lambda: list_pages.about_page(content),
        }
        for name, make in pages.items():
            file = f"{name}.html"
            if self.folder.is_made(file, key):
                continue
            page, tables = make()
            self.tables(tables, key)
            self.folder.write(file, self.layout.page(name, file, **page), key)
        if not self.folder.is_made("data/search.js", key):
            self.data("search", search(content), key)
        # Keep the data files of unchanged lists.
        self.folder.keep("data/", key)
        self.data("live", digest(repr(sorted(self.folder.now.items())))[:16], self.key("live"))


def _row_digests(content: Content) -> dict[str, str]:
    """A digest by run of its row, time and doubts."""
    doubted = content.doubted
    return {
        run: digest(f"{row}\0{content.at(content.by_id[run])}\0{doubted.get(run)!r}")[:16]
        for run, row in content.doubts.rows.items()
    }


def _extras_digests(content: Content) -> dict[str, object]:
    """Digests by run of annotations, companion files and continuations."""
    query = """
        SELECT run_id, count(*), bit_xor(hash(field, value, file, line, reason, outcome))
        FROM annotations GROUP BY run_id
        UNION ALL SELECT run_id, count(*), bit_xor(hash(uri, rule))
        FROM companions WHERE run_id IS NOT NULL GROUP BY run_id
        UNION ALL SELECT run_id, count(*), bit_xor(hash(continues, iteration, repeated))
        FROM continuations GROUP BY run_id
        ORDER BY ALL"""
    found: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for run, *values in content.warehouse.rows(query):
        found[run].append(tuple(values))
    return dict(found)
