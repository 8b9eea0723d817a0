"""The pages that list: findings, failures, trends, sources; and what is searched."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import date
from importlib.metadata import version
from typing import Any

from markupsafe import Markup

from ..decide.trend import trend
from ..reports.computed import report
from ..reports.computed.sentences import sentences
from ..reports.computed.trend import labels
from ..schema.catalogue import formulas, metrics
from ..schema.errors import BenchError
from ..vocabulary.format import number, significant
from .charts import Plot, scatter
from .load import ROWS_WITH_PAGES, Content
from .models import as_html, escape_md, failures_table, finding_words
from .overview import causes
from .svg import Mark
from .table import Cell, Column, Table

Page = tuple[dict[str, Any], list[Table]]
_TRENDS = 12  # configurations whose course is drawn


def findings_page(content: Content) -> Page:
    """Every finding once, errors first; those that a person closed last."""
    line = content.text.line
    found = sorted(content.findings, key=lambda one: bool(one["closed"]))
    words = [finding_words(content, one) for one in found]

    def place(one: dict[str, Any]) -> Cell:
        text, href = one["places"][0] if one["places"] else (content.names.short(one["uri"]), None)
        return Cell(
            line(text + (f" +{len(one['lines']) - 1}" if len(one["places"]) > 1 else ""), 120),
            href=href,
        )

    table = Table(
        "findings",
        "Findings",
        [
            Column("place", "Stands at", [place(one) for one in words]),
            Column("severity", "Severity", [Cell(one["severity"]) for one in words], "status"),
            Column("rule", "Rule", [Cell(one["rule"]) for one in words]),
            Column("title", "What", [Cell(line(one["title"])) for one in words], wide=True),
            Column(
                "evidence",
                "Evidence",
                [Cell(line(one["evidence"], 600)) for one in words],
                wide=True,
            ),
            Column(
                "suggestion",
                "Suggestion",
                [Cell(line(one["suggestion"] or "", 300)) for one in words],
                wide=True,
            ),
            Column(
                "run",
                "Run",
                [
                    Cell(one["of"][0][1], href=one["of"][0][0]) if one["of"] else Cell()
                    for one in words
                ],
            ),
            Column(
                "closed",
                "Closed by a person",
                [Cell(line(one["closed"] or "", 300)) for one in words],
            ),
        ],
        key="findings",
        looks=["left-out" if one["closed"] else "" for one in words],
    )
    table = replace(table, columns=[one for one in table.columns if not one.is_empty])
    counts = Counter(one["severity"] for one in found if not one["closed"])
    return {
        "title": "Findings",
        "table": table.html("") if found else "",
        "counts": counts,
        "closed": sum(bool(one["closed"]) for one in found),
    }, [table]


def failures_page(content: Content) -> Page:
    """Every failed run, and the causes that come back."""
    table = failures_table(content, content.failures.rows, "failed", "failures")
    above, below = sentences(content.names, content.failures, 0)
    text = "".join(f"- {escape_md(one)}\n" for one in (*above[:1], *below))
    return {
        "title": "Failures",
        "table": table.html(""),
        "said": as_html(content, text, content.rows, ""),
        "causes": causes(content)[:30],
    }, [table]


def trends_page(content: Content) -> Page:
    """Step times of configurations that ran on more than one day."""
    try:
        found = trend(
            content.warehouse, content.query, "step_time", chosen=content.candidates(content.rows)
        )
    except BenchError as error:
        return {
            "title": "Trends",
            "table": "",
            "none": error.why or error.what,
            "charts": [],
            "said": "",
        }, []
    line, of = content.text.line, report("trend")
    cells = [of.cells(content.names, row, found.facts) for row in found.rows]
    shown = [
        Column(
            "label", "Configuration", [Cell(line(one["label"], 160)) for one in cells], wide=True
        ),
        *(
            Column(key, title, [Cell(line(one[key] or "", 80)) for one in cells])
            for key, title in (("from", "From"), ("to", "To"))
        ),
        Column(
            "value",
            "Sec/it",
            [
                Cell(row["value"], one["value_text"], look="computed")
                for row, one in zip(found.rows, cells, strict=True)
            ],
            "number",
        ),
        Column(
            "change",
            "Change",
            [
                Cell(row["change"], one["change_text"], look="computed")
                if row["change"] is not None
                else Cell()
                for row, one in zip(found.rows, cells, strict=True)
            ],
            "number",
        ),
        Column("verdict", "Verdict", [Cell(line(one["verdict"] or "", 60)) for one in cells]),
        Column(
            "p",
            "p",
            [
                Cell(row["p_value"], one["p_text"]) if row["p_value"] is not None else Cell()
                for row, one in zip(found.rows, cells, strict=True)
            ],
            "number",
        ),
        Column(
            "jobs", "Jobs", [Cell(row["jobs"], number(row["jobs"])) for row in found.rows], "number"
        ),
        Column(
            "run",
            "First run",
            [Cell(content.place(row), href=content.href(row["run"])) for row in found.rows],
        ),
    ]
    table = Table("trends", "Levels of step time", shown, key="trends")
    above, below = sentences(content.names, found, 0)
    said = as_html(
        content, "".join(f"- {escape_md(one)}\n" for one in (*above, *below)), content.rows, ""
    )
    names = labels(content.names, found.facts)
    order = sorted(
        range(len(names)), key=lambda at: -len(found.facts["series"][at]["series"].places)
    )
    charts = [
        _course(content, at, names[at], found.facts["series"][at]["series"])
        for at in order[:_TRENDS]
    ]
    return {
        "title": "Trends",
        "table": table.html(""),
        "none": "",
        "said": said,
        "charts": [one for one in charts if one],
    }, [table]


def _course(content: Content, at: int, name: str, one: Any) -> Markup | str:
    """The runs of one configuration over the days."""
    marks = []
    for place, rows in zip(one.places, one.rows, strict=True):
        day = float(date.fromisoformat(place).toordinal())
        for row in rows:
            value = row["step_time_s"]
            if value:
                marks.append(
                    Mark(
                        day,
                        value,
                        f"{place}: {significant(value, 4)} s ({content.place(row)})",
                        content.href(row["run"]),
                        content.id(row["run"]),
                    )
                )
    if len({mark.x for mark in marks}) < 2:
        return ""
    table = Table(
        f"trend-{at}-table",
        name,
        [
            Column("day", "Day", [Cell(mark.note.partition(":")[0]) for mark in marks]),
            Column(
                "value",
                "Sec/it",
                [Cell(mark.y, significant(mark.y, 4)) for mark in marks],
                "number",
            ),
            Column(
                "run",
                "Run",
                [Cell(mark.note.rpartition("(")[2].rstrip(")"), href=mark.href) for mark in marks],
            ),
        ],
    )
    plot = Plot(
        id=f"trend-{at}",
        title=content.text.line(name, 160),
        marks=marks,
        series=[name],
        x_title="day",
        y_title="s/it",
        log_x=False,
        log_y=False,
        x_text=lambda v: f"{date.fromordinal(round(v)):%Y-%m-%d}",
    )
    made = scatter(plot, "", table)
    return made.html if made else ""


def sources_page(content: Content) -> Page:
    """Every source with what was read of it."""
    line = content.text.line
    count = Counter(row["uri"] for row in content.rows)
    found = [content.sources[uri] for uri in content.slugs]
    table = Table(
        "sources",
        "Sources",
        [
            Column(
                "source",
                "Source",
                [
                    Cell(
                        line(content.names.short(one["uri"]), 100),
                        href=content.source_href(one["uri"]),
                    )
                    for one in found
                ],
            ),
            Column(
                "path",
                "Path",
                [Cell(line(content.names.path(one["uri"]), 200)) for one in found],
                wide=True,
            ),
            Column("title", "Title", [Cell(line(one["title"] or "", 120)) for one in found]),
            Column("kind", "Kind", [Cell(line(one["format"] or one["kind"], 60)) for one in found]),
            Column(
                "runs",
                "Runs",
                [Cell(count[one["uri"]], number(count[one["uri"]])) for one in found],
                "number",
            ),
            Column(
                "lines",
                "Lines",
                [Cell(one["lines"], number(one["lines"])) for one in found],
                "number",
            ),
            Column(
                "unread",
                "Not read",
                [Cell(one["lines_unread"], number(one["lines_unread"])) for one in found],
                "number",
            ),
            Column(
                "version",
                "Version",
                [Cell(one["generation"], number(one["generation"])) for one in found],
                "number",
            ),
            Column("sha256", "SHA-256", [Cell(one["sha256"][:12]) for one in found]),
        ],
        key="sources",
    )
    return {"title": "Sources", "table": table.html(""), "count": len(found)}, [table]


def compare_page(content: Content) -> Page:
    """The page that the script fills; an example of the command for who has none."""
    rows = [row for row in content.rows if row["step_time_s"] and row["run"] in content.with_pages][
        :2
    ]
    places = [content.place(row) for row in rows]
    return {
        "title": "Compare runs",
        "places": places if len(places) == 2 else ["FILE:LINE", "FILE:LINE"],
    }, []


def about_page(content: Content) -> Page:
    """How numbers are made, and by which versions."""
    return {
        "title": "About",
        "formulas": formulas(),
        "metrics": metrics(),
        "version": version("bench-warehouse"),
        "scrub": sorted(content.text.scrubber.kinds),
        "most": ROWS_WITH_PAGES,
        "parsers": sorted({one["parser_version"] for one in content.sources.values()}),
    }, []


def search(content: Content) -> dict[str, Any]:
    """Everything that has a page, by what it may be looked for."""
    line = content.text.line
    entries: list[list[str | None]] = [
        [line(name, 60), "model", f"models/{slug}.html"]
        for name, slug in content.model_slugs.items()
    ]
    for row in content.rows:
        words = [
            content.place(row),
            row["size"] or row["model"],
            content.names.system(row["system"]),
            row["name"],
            *(row["job_ids"] or ()),
        ]
        entries.append(
            [
                line(" · ".join(str(one) for one in words if one), 160),
                "run",
                content.href(row["run"]),
            ]
        )
    entries += [
        [line(content.names.path(uri), 160), "source", content.source_href(uri)]
        for uri in content.slugs
    ]
    return {"entries": entries}
