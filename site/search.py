"""The search index: every page, setting, value, finding and cause with its words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from ..decide.rows import configuration
from ..vocabulary.fields import fields
from ..vocabulary.format import counted, number
from .facts import title_of
from .findings import alike_once
from .load import NOT_STATED, Content
from .overview import causes

_VALUES = 4  # of a setting
_MOST = 2_000  # findings, and values of variables


def search(content: Content) -> dict[str, Any]:
    """The search index: every page with its search terms."""
    line = content.text.line
    entries: list[list[str | None]] = [
        [line(name, 60), "model", f"models/{slug}.html"]
        for name, slug in content.model_slugs.items()
    ]
    entries += _settings(content) + _environment(content) + _doubts_and_failures(content)
    for row in content.rows:
        words = [
            content.place(row),
            row["size"] or row["model"],
            content.names.system(row["system"]),
            row["name"],
            at.date().isoformat() if (at := content.at(row)) else None,
            *(row["job_ids"] or ()),
        ]
        entries.append(
            [
                line(" · ".join(str(word) for word in words if word), 160),
                "run",
                content.href(row["run"]),
            ]
        )
    entries += [
        [line(content.names.path(uri), 160), "source", content.source_href(uri)]
        for uri in content.slugs
    ]
    return {"entries": entries}


def _doubts_and_failures(content: Content) -> list[list[str | None]]:
    """The rules of findings and the causes of failures, with how many there are; each finding."""
    line = content.text.line
    rules = Counter((one["rule"], one["title"]) for one in content.findings)
    found: list[list[str | None]] = [
        [
            line(f"{rule} · {title} · {number(count)}", 160),
            "finding",
            f"findings.html#findings.q={rule}",
        ]
        for (rule, title), count in rules.items()
    ]
    for one in alike_once(content.findings)[:_MOST]:
        place = line(content.names.at(one["uri"], next(iter(one["lines"]), None)), 120)
        found.append(
            [
                line(f"{place} · {one['rule']} · {one['title']}", 160),
                "finding",
                f"findings.html#findings.q={quote(place)}",
            ]
        )
    for one in causes(content):
        words = f"{one['status']} · {one['reason']} · {number(one['count'])}"
        found.append([line(words, 160), "failure", "failures.html#causes"])
    return found


def _environment(content: Content) -> list[list[str | None]]:
    """The values of environment variables, linked to a run that has each, the commonest first."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in content.rows:
        for name, value in row["env"].items():
            found[name, value].append(row["run"])
    return [
        [
            content.text.line(
                f"{name}={content.text.named(name, value)} · {counted(len(runs), 'run')}", 160
            ),
            "environment",
            _environment_href(content, runs),
        ]
        for (name, value), runs in sorted(found.items(), key=_most_runs_first)[:_MOST]
    ]


def _most_runs_first(found: tuple[tuple[str, str], list[str]]) -> tuple[int, tuple[str, str]]:
    """The order of values: names of hosts, each of one run, come after what many runs set."""
    return -len(found[1]), found[0]


def _environment_href(content: Content, runs: Sequence[str]) -> str:
    """The environment of the first run with a page; else the line of the first."""
    for run in runs:
        if run in content.with_pages:
            return f"{content.href(run)}#environment"
    return content.href(runs[0])


def _settings(content: Content) -> list[list[str | None]]:
    """The settings that vary within a model, linked to their effects on its page."""
    entries: list[list[str | None]] = []
    for model, rows in content.models.items():
        found: dict[str, dict[str, None]] = defaultdict(dict)
        every = [configuration(row) for row in rows] if model != NOT_STATED else []
        for name in dict.fromkeys(name for one in every for name in one):
            for one in every:
                value = content.names.system(one[name]) if name == "system" else one.get(name)
                found[name]["none" if value is None else str(value)] = None
        for name, values in found.items():
            if len(values) > 1:
                plain = name.removeprefix("env ").removeprefix("column ")
                title = title_of(name) if name in fields() else plain
                shown = ", ".join([*values][:_VALUES]) + (", ..." if len(values) > _VALUES else "")
                words = f"{title} · {model} · {shown}"
                href = f"models/{content.model_slugs[model]}.html#answers"
                entries.append(
                    [content.text.line(words, 160), "setting", href, content.text.line(plain, 80)]
                )
    return entries
