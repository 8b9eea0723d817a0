"""The text of one region and the charts that it links to."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import typer

from ..decide.query import Query
from ..project.repository import inside
from ..project.settings import find_templates, read_settings
from ..reports.computed import REGION, answered, reports
from ..reports.page import Page, page, report_names
from ..reports.page_charts import draw
from ..reports.regions import Region
from ..reports.sweep import regenerate
from ..reports.write import section
from ..schema.errors import BenchError, did_you_mean
from ..schema.warehouse import Warehouse
from ..terminal.answers import as_text, fitted
from ..terminal.options import parse_count, parse_table
from ..terminal.tables import Format
from .sources import Sources, require_sources_inside

T = TypeVar("T")
NOT_RENDERED = "templates of a fork are not rendered"
DRAWING = 2  # increase when drawing changes: it makes every chart stale
_SHAPED = ("columns", "group")  # with one of these `days` is the answer of `bench days`
CLAIM = "claim"
_OF_CLAIM = frozenset(("report", "claim", "from"))
_MARKER = re.compile(r"^<!-- bench:(?:begin|end)\b.*-->$")
_DATA = re.compile(rb"<!-- bench:data ([0-9a-f]{12}) -->\s*\Z")


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart file as it should be; `data` is what it plots, `line` that of its region."""

    file: Path
    line: int
    data: str
    svg: bytes

    @property
    def is_current(self) -> bool:
        """Whether the file plots these data; its bytes depend on the matplotlib version."""
        if not self.file.is_file():
            return False
        match = _DATA.search(self.file.read_bytes()[-200:])
        return match is not None and match[1].decode() == self.data


@dataclass(frozen=True, slots=True)
class Rendered:
    """The text of a region and its charts."""

    body: str
    charts: tuple[Chart, ...] = ()


class NotRendered(BenchError):
    """A region whose template this job does not render."""


def make(region: Region, file: Path, sources: Sources) -> Rendered:
    """Render the region that a marker describes; raises BenchError for invalid options."""
    options = region.options
    if "table" in options:
        return _table(options["table"], file, region, sources)
    known = [*report_names(), *reports(REGION), CLAIM]
    if region.report not in known:
        raise BenchError(
            f"unknown report {region.report!r}", hint=did_you_mean(region.report, known)
        )
    _check_options(region)
    if region.report == CLAIM:
        return _claim(region, file)
    if region.report in reports(REGION) or any(name in options for name in _SHAPED):
        return _answer(region, file, sources)
    warehouse = _warehouse(region, file, sources)
    templates = find_templates(None)
    if not sources.own_templates and ("template" in options or templates):
        raise NotRendered(NOT_RENDERED, hint="see docs/pull_requests.md")
    made = page(warehouse, region.report, _query(options), templates=templates)
    if "template" in options:
        made = _with_template(made, inside(file.parent, options["template"]))
    charts, links = _charts(warehouse, made, file, region)
    body = _without_markers(made.markdown(links))
    if "section" in options:
        body = section(body, options["section"])
        charts = tuple(chart for chart in charts if quote(chart.file.name) in body)
    return Rendered(body, charts)


def _answer(region: Region, file: Path, sources: Sources) -> Rendered:
    """A report that is computed: `best`, `days`, `scaling`, or `compare` by a column."""
    options = region.options
    query = _query(options)
    warehouse = _warehouse(region, file, sources)
    answer = answered(warehouse, region.report, query)
    body = as_text(fitted(answer, query), Format.MD).strip("\n")
    return Rendered(section(body, options["section"]) if "section" in options else body)


def _claim(region: Region, file: Path) -> Rendered:
    """The claim's statement, and whether it holds by the sources in `from=`."""
    from ..claims.checked import as_markdown, checked

    options = region.options
    if "claim" not in options or "from" not in options:
        raise BenchError("a region report=claim needs claim= and from=",
                         hint="report=claim claim=claim.json from=tables")  # fmt: skip
    claim = inside(file.parent, options["claim"])
    paths = require_sources_inside(file.parent, paths_of(region, file), file.parent)
    return Rendered(as_markdown(checked(claim, paths, root=file.parent), options["claim"]))


def _check_options(region: Region) -> None:
    """Raises BenchError for an option that does not apply to this report."""
    if region.report == CLAIM and (wrong := sorted({*region.options} - _OF_CLAIM)):
        raise BenchError(f"marker option {wrong[0]!r} does not apply to report={CLAIM}",
                         why="a claim asks one question")  # fmt: skip
    useful_for = {"by": ["compare"], "charts": ["model", "days", "sweep"],
                  "template": report_names(), "claim": [CLAIM],
                  **{key: [*reports(REGION), "days"] for key in _SHAPED}}  # fmt: skip
    for name in sorted(region.options):
        useful = useful_for.get(name)
        if useful is not None and region.report not in useful:
            raise BenchError(
                f"marker option {name!r} does not apply to report={region.report}",
                hint=f"{name}= applies to {', '.join(useful)}",
            )


def _warehouse(region: Region, file: Path, sources: Sources) -> Warehouse:
    if "from" not in region.options:
        return sources.default_paths()
    return sources.of(paths_of(region, file), file.parent)


def paths_of(region: Region, file: Path) -> list[Path]:
    """The paths in `from=`, relative to the page's folder."""
    named = [part.strip() for part in region.options.get("from", "").split(",") if part.strip()]
    return [inside(file.parent, name) for name in named]


def _table(named: str, file: Path, region: Region, sources: Sources) -> Rendered:
    table = _parsed(named, parse_table)
    path = file.parent / table.file
    if path.is_file() and "from" not in region.options:
        path = inside(file.parent, table.file)
        warehouse = sources.of([path], file.parent)
        [(name,)] = warehouse.rows("SELECT min(uri) FROM sources")
    else:
        warehouse, name = _warehouse(region, file, sources), table.file
    return Rendered(regenerate(warehouse, name, table.number).markdown.rstrip("\n"))


def _query(options: Mapping[str, str]) -> Query:
    """The query that a marker's options describe."""
    return Query(
        model=options.get("model"),
        where=options.get("where"),
        document=options.get("document"),
        tokens=_count(options, "tokens"),
        steps=_count(options, "steps"),
        lengths=read_settings().lengths,
        prices=read_settings().prices,
        by=options.get("by"),
        all_rows="all" in options,
        columns=options.get("columns"),
        group=options.get("group"),
    )


def _count(options: Mapping[str, str], name: str) -> int | None:
    return _parsed(options[name], parse_count) if name in options else None


def _parsed(text: str, parse: Callable[[str], T]) -> T:
    try:
        return parse(text)
    except typer.BadParameter as error:
        raise BenchError(error.message, hint="see bench report --help") from error


def _with_template(made: Page, template: Path) -> Page:
    """The page laid out by a user's own template."""
    name = template.name.removesuffix(".md.j2")
    if not template.is_file() or name == template.name:
        raise BenchError(
            f"template {str(template.name)!r} not found",
            why="" if template.is_file() else f"no such file: {template}",
            hint="template=DIR/NAME.md.j2, relative to this file",
        )
    return made.by_template(name, template.parent)


def _without_markers(text: str) -> str:
    lines = text.strip("\n").split("\n")
    if lines and _MARKER.match(lines[0]):
        lines = lines[1:]
    if lines and _MARKER.match(lines[-1]):
        lines = lines[:-1]
    return "\n".join(lines).strip("\n")


def _charts(
    warehouse: Warehouse, made: Page, file: Path, region: Region
) -> tuple[tuple[Chart, ...], list[dict[str, str]]]:
    named, line = region.options.get("charts"), region.begin
    if named is None:
        return (), []
    if (folder := inside(file.parent, named)).exists() and not folder.is_dir():
        raise BenchError(f"charts={named} is a file", hint="charts=FOLDER")
    ranked = made.context.get("ranked", [])
    shown = warehouse.dicts((files("bench.reports") / "pictures.sql").read_text("utf-8"))
    shown_data = json.dumps([DRAWING, made.context["name"], shown, ranked], default=str)
    data = hashlib.sha256(shown_data.encode("utf-8", "replace")).hexdigest()[:12]
    with tempfile.TemporaryDirectory() as scratch:
        drawn = draw(warehouse, made.context["name"], ranked, made.names, Path(scratch))
        charts = tuple(
            Chart(inside(file.parent, f"{named}/{one['file']}"), line, data,
                  _marked(Path(scratch, one["file"]), data))
            for one in drawn
        )  # fmt: skip
    prefix = Path(named).as_posix().rstrip("/")
    links = [{**one, "file": quote(f"{prefix}/{one['file']}".removeprefix("./"))} for one in drawn]
    return charts, links


def _marked(svg: Path, data: str) -> bytes:
    return svg.read_bytes().rstrip(b"\n") + f"\n<!-- bench:data {data} -->\n".encode()
