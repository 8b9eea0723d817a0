"""Pages that list findings, failures, trends and sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from markupsafe import Markup

from ..decide.rows import Decision
from ..decide.trend import trend
from ..reports.computed import report
from ..reports.computed.sentences import sentences
from ..reports.computed.trend import labels
from ..schema.catalogue import formulas, metrics
from ..schema.errors import BenchError
from ..vocabulary.format import number, significant
from ..vocabulary.release import VERSION
from .charts import Plot, scatter
from .findings import alike_once, findings_table
from .load import ALL_ROWS_WITH_PAGES, ROWS_WITH_PAGES, Content
from .models import as_html, escape_md, failures_table, finding_words
from .overview import causes
from .run_table import every_run, run_cell
from .svg import Mark
from .table import Cell, Column, Table, column

Page = tuple[dict[str, Any], list[Table]]
_CAUSES = 30  # listed with their runs
_TRENDS = 12  # maximum of configurations with a chart


def findings_page(content: Content) -> Page:
    """Every finding once, errors first, closed ones last."""
    found = sorted(content.findings, key=lambda finding: bool(finding["closed"]))
    words = alike_once([finding_words(content, one) for one in found])
    table = findings_table(content, words)
    counts = Counter(one["severity"] for one in found if not one["closed"])
    return {
        "title": "Findings",
        "table": table.html("") if found else "",
        "counts": counts,
        "closed": sum(bool(one["closed"]) for one in found),
    }, [table]


def failures_page(content: Content) -> Page:
    """Every failed run, and recurring causes."""
    table = failures_table(content, content.failures.rows, "failures")
    above, below = sentences(content.names, content.failures, 0)
    jobs = sum(row["run"] not in content.by_id for row in content.failures.rows)
    of_jobs = [f"Jobs without a log, which other pages do not count: {number(jobs)} of these."]
    text = "".join(f"- {escape_md(one)}\n" for one in (*above[:1], *of_jobs[: bool(jobs)], *below))
    by_cause = causes(content)
    return {
        "title": "Failures",
        "table": table.html(""),
        "summary": as_html(content, text, content.rows, ""),
        "causes": by_cause[:_CAUSES],
        "others": max(len(by_cause) - _CAUSES, 0),
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
            "reason": error.why or error.what,
            "charts": [],
            "summary": "",
            "notes": "",
        }, []
    table = _levels(content, found)
    summary, notes = (
        as_html(content, "".join(f"- {escape_md(one)}\n" for one in part), content.rows, "")
        for part in sentences(content.names, found, 0)
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
        "reason": "",
        "summary": summary,
        "notes": notes,
        "charts": [chart for chart in charts if chart],
    }, [table]


def _levels(content: Content, decision: Decision) -> Table:
    """One row per level of each configuration."""
    line, of = content.text.line, report("trend")
    rows = [(row, of.cells(content.names, row, decision.facts)) for row in decision.rows]

    def text(key: str, title: str, most: int = 80, wide: bool = False) -> Column:
        return column(key, title, rows, lambda one: Cell(line(one[1][key] or "", most)), wide=wide)

    def numbers(key: str, title: str, words: str, look: str = "computed") -> Column:
        def cell(one: tuple[Mapping[str, Any], Mapping[str, Any]]) -> Cell:
            value = one[0][key]
            return Cell() if value is None else Cell(value, one[1][words], look=look)

        return column(key, title, rows, cell, kind="number")

    columns = [
        text("label", "Configuration", 160, wide=True),
        text("from", "From"),
        text("to", "To"),
        numbers("value", "Sec/it", "value_text"),
        numbers("change", "Change", "change_text"),
        text("verdict", "Verdict", 60),
        numbers("p_value", "p", "p_text", ""),
        column("jobs", "Jobs", rows, lambda one: Cell(one[0]["jobs"], number(one[0]["jobs"])),
               kind="number"),
        column("run", "First run", rows,
               lambda one: replace(run_cell(content, one[0]), look="clip")),
    ]  # fmt: skip
    return Table("trends", "Levels of step time", columns, key="trends")


def _course(content: Content, at: int, name: str, one: Any) -> Markup | str:
    """The chart of one configuration's runs by date."""
    marks = []
    for place, rows in zip(one.places, one.rows, strict=True):
        day = float(date.fromisoformat(place).toordinal())
        marks += [_mark(content, row, day, place) for row in rows if row["step_time_s"]]
    if len({mark.x for mark in marks}) < 2:
        return ""
    columns = [
        column("day", "Day", marks, lambda mark: Cell(mark.note.partition(":")[0])),
        column("value", "Sec/it", marks, lambda mark: Cell(mark.y, significant(mark.y, 4)),
               kind="number"),
        column("run", "Run", marks, lambda mark: Cell(mark.label, href=mark.href)),
    ]  # fmt: skip
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
    chart = scatter(plot, "", Table(f"trend-{at}-table", name, columns))
    return chart.html if chart else ""


def _mark(content: Content, row: Mapping[str, Any], day: float, when: str) -> Mark:
    """The mark of a run at its date."""
    value, place = row["step_time_s"], content.place(row)
    says = f"{when}: {significant(value, 4)} s ({place})"
    run = row["run"]
    return Mark(day, value, says, content.href(run), content.id(run), label=place)


def sources_page(content: Content) -> Page:
    """Every source with its counts of lines."""
    line = content.text.line
    count = Counter(row["uri"] for row in content.rows)
    found = [content.sources[uri] for uri in content.slugs]

    def text(key: str, title: str, of: Callable[[Mapping[str, Any]], str], **more: Any) -> Column:
        return column(key, title, found, lambda one: Cell(line(of(one), 200)), **more)

    def count_of(key: str, title: str, of: Callable[[Mapping[str, Any]], int | None]) -> Column:
        return column(key, title, found, lambda one: Cell(of(one), number(of(one))), kind="number")

    def source(one: Mapping[str, Any]) -> Cell:
        return Cell(
            line(content.names.short(one["uri"]), 100), href=content.source_href(one["uri"])
        )

    columns = [
        column("source", "Source", found, source),
        column("title", "Title", found, lambda one: Cell(line(one["title"] or "", 120)), wide=True),
        text("kind", "Kind", lambda one: one["format"] or one["kind"]),
        count_of("runs", "Runs", lambda one: count[one["uri"]]),
        count_of("lines", "Lines", lambda one: one["lines"]),
        count_of("unread", "Not read", lambda one: one["lines_unread"]),
        count_of("version", "Version", lambda one: one["generation"]),
        text("sha256", "SHA-256", lambda one: one["sha256"][:12]),
        text("path", "Path", lambda one: content.names.path(one["uri"]), hidden=True, wide=True),
    ]
    table = Table("sources", "Sources", columns, key="sources")
    return {"title": "Sources", "table": table.html(""), "count": len(found)}, [table]


def compare_page(content: Content) -> Page:
    """The comparison page: filled by the script from the runs ticked in its table."""
    rows = [row for row in content.rows if row["step_time_s"] and row["run"] in content.with_pages][
        :2
    ]
    places = [content.typed(row) for row in rows]
    table = every_run(content)
    return {
        "title": "Compare runs",
        "places": places if len(places) == 2 else ["FILE:LINE", "FILE:LINE"],
        "every": table.html(""),
    }, [table]


def about_page(content: Content) -> Page:
    """The methods behind numbers, and versions."""
    return {
        "title": "About",
        "formulas": formulas(),
        "metrics": metrics(),
        "version": VERSION,
        "scrub": sorted(content.text.scrubber.kinds),
        "most": ROWS_WITH_PAGES,
        "most_of_all": ALL_ROWS_WITH_PAGES,
        "parsers": sorted({source["parser_version"] for source in content.sources.values()}),
    }, []
