"""The page of a run: every fact with its line, curves, events, findings, neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..decide.rows import Row
from ..explain.tree import Node
from ..reports.answer import configuration_words
from ..vocabulary.format import number
from ..vocabulary.printable import typed
from .derivation import derivation, rounded
from .facts import Details, Part, Stated, title_of
from .load import NOT_STATED, Content
from .models import finding_words
from .neighbours import Near, neighbour
from .series import figure

_OPEN = 40  # facts of a group that are shown at once
_CURVES = 4  # drawn at once; the others unfold


def run_page(
    content: Content, row: Row, of: Details, said: Stated, near: Sequence[Near]
) -> dict[str, Any]:
    """What the template of a run needs."""
    run, id = row["run"], content.id(row["run"])
    titles = {"days": f"Days {content.plan_of(row).purpose}"}
    curves = [figure(id, one, f"runs/{id}/series") for one in of.series.get(run, ())]
    return {
        "title": content.place(row),
        "id": id,
        "row": row,
        "lead": _lead(content, row),
        "model": (content.model_href(row), row["size"] or row["model"] or NOT_STATED),
        "source": (content.line_href(row["uri"], row["line"]), content.names.path(row["uri"])),
        "reason": content.names.within(row["status_reason"] or ""),
        "reason_href": content.line_href(row["uri"], row["status_line"]),
        "left_out": content.names.within(row["left_out_detail"] or "") if row["left_out"] else "",
        "numbers": [
            derivation(content, node, "../", titles.get(node.name, "")) for node in said.numbers
        ],
        "curves": [one for one in curves if one][:_CURVES],
        "more_curves": [one for one in curves if one][_CURVES:],
        "groups": [(title, facts, len(facts) > _OPEN) for title, facts in said.groups],
        "events": [_event(content, row, one) for one in of.events.get(run, ())],
        "findings": [finding_words(content, one) for one in content.findings_of.get(run, ())],
        "goes_on": list(_segments(content, of.goes_on.get(run, ()))),
        "near": [neighbour(content, row, one) for one in near],
        "beside": [
            (content.names.path(one["uri"]), one["rule"], content.source_href(one["uri"]))
            for one in of.beside.get(run, ())
        ],
        "command": f"bench explain {typed(content.place(row))}",
    }


def _event(content: Content, row: Row, one: Part) -> tuple[object, ...]:
    """What a log tells beside its steps: kind, step, text, line, link, when."""
    at = one["printed_at"]
    href = content.line_href(row["uri"], one["line"])
    when = f"{at:%Y-%m-%d %H:%M:%S}" if at else ""
    return one["kind"], one["iteration"], one["raw"], one["line"], href, when


def _segments(content: Content, parts: Sequence[Part]) -> Iterator[tuple[object, ...]]:
    """The runs that a run goes on from, or that go on from it: words, place, link, step."""
    for one in parts:
        if row := content.by_id.get(one["other"]):
            yield one["words"], content.place(row), content.href(row["run"]), one["iteration"]


def _lead(content: Content, row: Row) -> str:
    """What ran, in one sentence."""
    devices = f"{number(row['device_count'])} × " if row["device_count"] else ""
    machine = f" on {devices}{content.names.system(row['system'])}" if row["device"] else ""
    words = configuration_words({**row, "settings": None})
    kind = {"log": "Read from a log", "row": "A row of a table", "quote": "A quoted line"}[
        row["origin"]
    ]
    lines = (
        f"lines {row['line']:,} to {row['last_line']:,}"
        if row["origin"] == "log" and row["last_line"]
        else ""
    )
    settings = f", {row['settings']}" if row["settings"] else ""
    return content.text.line(
        f"{row['size'] or row['model'] or NOT_STATED}{machine}, "
        f"{words}{settings}. {kind}{f', {lines},' if lines else ''} of",
        500,
    )


def run_data(content: Content, row: Row, of: Details, said: Stated) -> Iterator[tuple[str, Any]]:
    """The files of data of a run: what it states, for comparisons, and its series."""
    run, id, line = row["run"], content.id(row["run"]), content.text.line
    facts: list[list[Any]] = []
    for title, group in said.groups:
        facts.append(["", title])
        facts += [[one.key, one.title, one.text, one.value, one.href, one.place] for one in group]
    yield (
        f"runs/{id}",
        {
            "id": id,
            "title": content.place(row),
            "href": content.href(run),
            "model": line(row["size"] or row["model"] or "", 60),
            "system": line(content.names.system(row["system"]), 60),
            "status": row["status"],
            "name": content.place(row),
            "effects": content.effects_key(row),
            "derived": [_derived(content, run, node) for node in said.numbers],
            "facts": facts,
            "series": bool(of.series.get(run)),
        },
    )
    if series := of.series.get(run):
        events = [
            {"x": one["iteration"], "text": line(f"{one['kind']}: {one['raw']}", 160)}
            for one in of.events.get(run, ())
            if one["iteration"] is not None
        ]
        made = {"x": "step", "series": [one.data() for one in series], "events": events}
        tokens = {"tokens_per_step": row["tokens_per_step"]} if row["tokens_per_step"] else {}
        yield f"runs/{id}/series", made | tokens


def _derived(content: Content, run: str, node: Node) -> list[Any]:
    """A computed number as a fact that leads to its derivation."""
    unit = f" {node.unit}" if node.unit else ""
    return [
        node.name,
        title_of(node.name),
        f"{rounded(node)}{unit}",
        node.value if isinstance(node.value, (int, float)) else None,
        f"{content.href(run)}#n-{node.name}",
        "",
        node.how.expression if node.how else "",
    ]
