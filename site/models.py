"""The page of a model: answers, charts, sweeps, failures, findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from ..decide.answers import effects, ranked, scaled
from ..decide.budget import Budget
from ..decide.ranking import ranking, with_ties
from ..decide.rows import Decision
from ..reports.computed.sentences import part_sentences, sentences
from ..reports.page import MOST, statements
from ..reports.templating import rendered_part
from ..schema.warehouse import Row
from ..vocabulary.printable import typed
from .effects import effects_data
from .findings import alike_once
from .load import NOT_STATED, Content
from .model_charts import SETTINGS, charts
from .run_table import run_cell, run_table
from .table import Cell, Column, Table, column

_FEW = 4000  # maximum of runs for pairing by setting
_LAWS = 100  # maximum of groups for scaling fits, those with the most sizes
_SENTENCES = 6
_LONG = 4000  # characters of a sentence
_RANKING = ("aggregate", "front")  # charts that set all runs against each other
_LISTED = "bench runs --all --where 'size IS NULL AND model IS NULL'"
_UNNAMED = (
    "These runs state no model, so none is the fastest of them: compare runs of one source. "
    "`bench ingest --set model=NAME` or facts.toml states it."
)


def model_page(
    content: Content, name: str, rows: Sequence[Row], root: str
) -> tuple[dict[str, Any], list[Table]]:
    """The template context of a model, and its tables with data files."""
    plan, chosen = content.plans_of_models[name], content.candidates(rows)
    found = ranked(content.warehouse, chosen, content.query, plan)
    slug = content.model_slugs[name]
    place = {row["run"]: at for at, row in enumerate(found.rows)}
    ordered = sorted(
        rows,
        key=lambda row: (
            place.get(row["run"], len(place)),
            bool(row["left_out"]),
            -(row["tokens_per_s"] or 0),
            row["uri"],
            row["line"],
        ),
    )
    alike, table = run_table(
        content, "runs", ordered, plan, label=f"Runs of {name}", key=f"models/{slug}/runs"
    )
    changed = effects(chosen, SETTINGS if len(rows) <= _FEW else ())
    scaling = scaled(chosen, _LAWS)
    answers, more = _answers(content, rows, plan, found, scaling, changed)
    page = {
        "title": name,
        "name": name,
        "slug": slug,
        "plan": plan,
        "answers": answers,
        "more": more,
        "summary": summary(content, rows),
        "alike": alike,
        "runs": table.html(root),
        "rows": len(rows),
        "charts": [
            chart.html
            for chart in charts(content, rows, found, scaling, changed, plan, root)
            if name != NOT_STATED or chart.id not in _RANKING
        ],
        "failed": failed_table(content, rows).html(root),
        "findings": findings_of(content, {row["run"] for row in rows}),
        "command": f"bench report --model {typed(name)}" if name != NOT_STATED else _LISTED,
        "effects": effects_data(content, [row for one in changed for row in one.rows]),
    }
    return page, [table]


def summary(content: Content, rows: Sequence[Row]) -> dict[str, Any]:
    """Counts of runs by system and status."""
    statuses: dict[str, int] = {}
    for row in rows:
        key = "copied" if row["left_out"] == "copy" else str(row["status"]).replace("_", " ")
        statuses[key] = statuses.get(key, 0) + 1
    known_first = sorted(rows, key=lambda row: row["device"] is None)
    systems = list(dict.fromkeys(content.names.system(row["system"]) for row in known_first))
    return {
        "systems": systems,
        "statuses": sorted(statuses.items(), key=lambda item: -item[1]),
        "sources": len({row["uri"] for row in rows}),
    }


def _answers(
    content: Content,
    rows: Sequence[Row],
    plan: Budget,
    decision: Decision,
    scaling: Decision,
    changed: Sequence[Decision],
) -> tuple[Markup, Markup]:
    """The answers of `bench report`, and notes on the ranking."""
    warehouse, names = content.warehouse, content.names
    warehouse.rows(
        "CREATE OR REPLACE TEMP TABLE selected AS FROM site_runs "
        "WHERE run_id IN (SELECT unnest(?::VARCHAR[]))",
        [[row["run"] for row in rows]],
    )
    queries = statements("model")
    faster = warehouse.dicts(queries["faster"], plan.parameters)
    groups = scaling.facts["groups"][:_SENTENCES]
    stated = [one for one in changed if one.facts["title"] not in SETTINGS]
    is_named = any(row["size"] or row["model"] for row in rows)
    best = ranking(rows, plan, MOST)
    with_ties(best, decision.rows)
    context = {
        "ranked": best if is_named else [],
        "shapes": [],
        "budget": plan,
        "faster": faster if is_named else [],
        "recompute": warehouse.dicts(queries["recompute"]),
        "effects": part_sentences(names, "_effects.j2", {"decisions": stated})[:_SENTENCES],
        "scaling": part_sentences(names, "_scaling.j2", {"groups": groups}),
    }
    if not best and not context["faster"]:
        return Markup("<p>No run has a usable rate: days to train are unknown.</p>"), Markup("")
    text = "" if is_named else f"- {_UNNAMED}\n"
    text += rendered_part("answers", names, context)
    if not is_named:
        return as_html(content, text, rows), Markup("")
    # Of thousands of copies the sentence of exclusions is longer than all of the page.
    more = [
        content.text.line(line, _LONG) for part in sentences(names, decision, 0) for line in part
    ]
    return as_html(content, text, rows), as_html(
        content, "".join(f"- {escape_md(one)}\n" for one in more), rows
    )


def escape_md(text: str) -> str:
    """A sentence escaped for markdown."""
    from ..reports.escape import markdown_text

    return markdown_text(text).replace("\n", " ")


def as_html(content: Content, markdown: str, rows: Sequence[Row], root: str = "../") -> Markup:
    """Sentences as HTML, with links from places to runs or lines."""
    text = content.text.scrubber.text(markdown) if content.text.scrubs else markdown
    made = (
        MarkdownIt("commonmark", {"html": False}).render(text).replace("<a href", "<span data-was")
    )
    made = made.replace("</a>", "</span>")
    return Markup(linked(content, made, {row["uri"] for row in rows}, root))


def linked(content: Content, html: str, uris: set[str], root: str = "../") -> str:
    """The HTML with places such as 001:27 linked."""
    names = {str(escape(content.text.line(content.names.short(uri), 200))): uri for uri in uris}
    if not names:
        return html
    listed = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w/.-])({listed}):(\d+)((?:, :\d+)*)")

    def link(match: re.Match[str]) -> str:
        uri = names[match[1]]
        first = _link(content, uri, int(match[2]), f"{match[1]}:{match[2]}", root)
        rest = re.sub(
            r":(\d+)", lambda one: _link(content, uri, int(one[1]), one[0], root), match[3]
        )
        return first + rest

    return pattern.sub(link, html)


def _link(content: Content, uri: str, line: int, text: str, root: str) -> str:
    row = content.by_place.get((uri, line))
    href = content.href(row["run"]) if row else content.line_href(uri, line)
    return f'<a href="{escape(root + href)}">{text}</a>' if href else text


def failed_table(content: Content, rows: Sequence[Row]) -> Table:
    """The failed runs and their causes."""
    chosen = {row["run"] for row in rows}
    return failures_table(content, [row for row in content.failures.rows if row["run"] in chosen])


def failures_table(content: Content, rows: Sequence[Mapping[str, Any]], key: str = "") -> Table:
    """Failed runs and jobs, latest first."""
    line = content.text.line

    def cell(one: Mapping[str, Any]) -> Cell:
        row = content.by_id.get(one["run"])
        if row is not None:
            return run_cell(content, row)
        return Cell(
            line(content.names.at(one["uri"], one["line"]), 120),
            href=content.line_href(one["uri"], one["line"]),
        )

    def why(one: Mapping[str, Any]) -> Cell:
        return Cell(
            line(content.names.within(one["reason"] or "")),
            href=content.line_href(one["uri"], one["line"]),
        )

    def count(key: str, title: str) -> Column:
        def cell(one: Mapping[str, Any]) -> Cell:
            return Cell(one[key], f"{one[key]:,}") if one[key] else Cell()

        return column(key, title, rows, cell, kind="number")

    def text(key: str, title: str, of: Callable[[Mapping[str, Any]], str]) -> Column:
        return column(key, title, rows, lambda one: Cell(line(of(one), 120)))

    def status(one: Mapping[str, Any]) -> Cell:
        return Cell(one["status"], str(one["status"]).replace("_", " "))

    runs = [content.id(row["run"]) if row["run"] in content.with_pages else "" for row in rows]
    columns = [
        column("run", "Run", rows, cell),
        column("status", "Status", rows, status, kind="status"),
        column("why", "Why, and the line that says so", rows, why, wide=True),
        text("ran", "Ran", lambda one: f"{one['at']:%Y-%m-%d %H:%M}" if one["at"] else ""),
        count("recurs", "Alike"),
        text("model", "Model", lambda one: one["size"] or one["model"] or ""),
        count("device_count", "Devices"),
        text("hosts", "Hosts", lambda one: ", ".join(one["hosts"][:4])),
    ]
    kept = [one for one in columns if not one.is_empty or one.key in ("run", "status")]
    return Table("failed", "Failed runs", kept, runs, key=key)


def findings_of(content: Content, runs: set[str]) -> list[dict[str, Any]]:
    """Open findings on these runs, errors first."""
    findings = [
        finding
        for finding in content.findings
        if not finding["closed"] and not runs.isdisjoint(finding["runs"])
    ]
    return [finding_words(content, one) for one in alike_once(findings)]


def finding_words(content: Content, one: Mapping[str, Any]) -> dict[str, Any]:
    """A finding for templates, with links to its lines and runs."""
    names, uri = content.names, one["uri"]
    lines = list(dict.fromkeys(line for line in one["lines"] if line is not None))
    places = [
        (names.at(uri, line) if at == 0 else f":{line}", content.line_href(uri, line))
        for at, line in enumerate(lines[:6])
    ]
    runs = [content.by_id[run] for run in dict.fromkeys(one["runs"]) if run in content.by_id]
    return {
        **one,
        "places": places,
        "more": max(len(lines) - 6, 0),
        "others": 0,  # number of the same kind, if a page shows only one
        "evidence": names.within(one["evidence"] or ""),
        "of": [(content.href(row["run"]), content.place(row)) for row in runs[:1]],
    }
