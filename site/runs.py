"""The page of a run: facts with lines, curves, events, findings, neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..explain.tree import Node
from ..reports.answer import configuration_words
from ..schema.warehouse import Row
from ..vocabulary.printable import typed
from .derivation import derivation, rounded, shown_unit, steps
from .facts import Details, Part, Stated, title_of
from .load import NOT_STATED, Content
from .models import finding_words
from .neighbours import NearbyRun, neighbour
from .series import figure

_OPEN = 40  # maximum of facts in an unfolded group
_CURVES = 4  # unfolded curves
_DIGITS = re.compile(r"\d+")


def run_page(
    content: Content, row: Row, details: Details, stated: Stated, near: Sequence[NearbyRun]
) -> dict[str, Any]:
    """The template context of a run."""
    run, id = row["run"], content.id(row["run"])
    titles = _of_plan(content, row)
    curves = [figure(id, one, f"runs/{id}/series") for one in details.series.get(run, ())]
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
            derivation(content, node, "../", titles.get(node.name, "")) for node in stated.numbers
        ],
        "curves": [curve for curve in curves if curve][:_CURVES],
        "more_curves": [curve for curve in curves if curve][_CURVES:],
        "groups": [(title, facts, len(facts) > _OPEN) for title, facts in stated.groups],
        "events": list(_events(content, row, details.events.get(run, ()))),
        "findings": [finding_words(content, one) for one in content.findings_of.get(run, ())],
        "continuations": list(_segments(content, details.continuations.get(run, ()))),
        "near": [neighbour(content, row, one) for one in near],
        "companions": [
            (content.names.path(one["uri"]), one["rule"], content.source_href(one["uri"]))
            for one in details.companions.get(run, ())
        ],
        "command": f"bench explain {typed(content.typed(row))}",
    }


def _events(content: Content, row: Row, parts: Iterable[Part]) -> Iterator[tuple[object, ...]]:
    """The events of a log: kind, step, text, line, link, notes. Lines that say the same after the
    same step are one; each process says with its own numbers that it ends."""
    same: dict[tuple[object, ...], list[Part]] = {}
    for part in parts:
        text = _DIGITS.sub("0", part["raw"]) if part["kind"] == "end" else part["raw"]
        same.setdefault((part["kind"], part["iteration"], text), []).append(part)
    for found in same.values():
        part = found[0]
        at, href = part["printed_at"], content.line_href(row["uri"], part["line"])
        notes = [f"{at:%Y-%m-%d %H:%M:%S}"] if at else []
        notes += [f"{len(found)} lines, the last is {found[-1]['line']}"] if len(found) > 1 else []
        yield part["kind"], part["iteration"], part["raw"], part["line"], href, "; ".join(notes)


def _segments(content: Content, parts: Sequence[Part]) -> Iterator[tuple[object, ...]]:
    """The segments before and after a run: relation, place, link, step."""
    for part in parts:
        if row := content.by_id.get(part["other"]):
            yield part["words"], content.place(row), content.href(row["run"]), part["iteration"]


def _lead(content: Content, row: Row) -> str:
    """The introductory sentence of a run."""
    machine = f" on {content.names.system(row['system'])}" if row["device"] else ""
    words = configuration_words({**row, "settings": None})
    kind = {"log": "Read from a log", "row": "A row of a table", "quote": "A quoted line"}[
        row["origin"]
    ]
    lines = (
        f"lines {row['line']:,} to {row['last_line']:,}"
        if row["origin"] == "log" and row["last_line"]
        else ""
    )
    # Those of a log are variables of its environment, which have a table of their own.
    settings = f", {row['settings']}" if row["settings"] and row["origin"] != "log" else ""
    return content.text.line(
        f"{row['size'] or row['model'] or NOT_STATED}{machine}, "
        f"{words}{settings}. {kind}{f', {lines},' if lines else ''} of",
        500,
    )


def run_data(
    content: Content, row: Row, details: Details, stated: Stated
) -> Iterator[tuple[str, Any]]:
    """The data files of a run: its facts for comparisons, and its series."""
    run, id, line = row["run"], content.id(row["run"]), content.text.line
    facts: list[list[Any]] = []
    for title, group in stated.groups:
        facts.append(["", title])
        facts += [
            [one.key, one.title, one.text, one.value, one.href, one.place or one.note]
            for one in group
        ]
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
            "derived": [_derived(content, row, node) for node in stated.numbers],
            "line": _own_line(content, row, details),
            "steps": {node.name: steps(content, node) for node in stated.numbers if node.how},
            "facts": facts,
            "series": bool(details.series.get(run)),
        },
    )
    if series := details.series.get(run):
        events = [
            {"x": one["iteration"], "text": line(f"{one['kind']}: {one['raw']}", 160)}
            for one in details.events.get(run, ())
            if one["iteration"] is not None
        ]
        made = {"x": "step", "series": [one.data() for one in series], "events": events}
        tokens = {"tokens_per_step": row["tokens_per_step"]} if row["tokens_per_step"] else {}
        yield f"runs/{id}/series", made | tokens


def _own_line(content: Content, row: Row, details: Details) -> list[Any]:
    """The line that a run stands in, as the derivation of a number that is printed there."""
    uri, number, line = row["uri"], row["line"], content.text.line
    at, href = line(content.names.at(uri, number), 120), content.line_href(uri, number)
    return ["", "", at, href or "", line(details.known[row["run"]].lines.text(uri, number)), []]


def _of_plan(content: Content, row: Row) -> dict[str, str]:
    """The titles of numbers that depend on how long a model is trained."""
    purpose = content.plan_of(row).purpose
    return {"days": f"Days {purpose}", "device_days": f"Device-days {purpose}"}


def _derived(content: Content, row: Row, node: Node) -> list[Any]:
    """A number of a run as a fact that links to its line; to its derivation if it is computed."""
    place, at = node.place, ""
    href = f"{content.href(row['run'])}#n-{node.name}"
    if place is not None:
        at = content.text.line(content.names.at(place.uri, place.line), 120)
        href = content.line_href(place.uri, place.line) or href
    planned = _of_plan(content, row).get(node.name)
    title = planned or title_of(node.name)
    unit = shown_unit(node, title)
    unit = f" {unit}" if unit else ""
    return [
        planned or node.name,  # days of other plans are other facts
        title,
        f"{rounded(node)}{unit}",
        node.value if isinstance(node.value, (int, float)) else None,
        href,
        at,
        node.how.expression if node.how else "",
    ]
