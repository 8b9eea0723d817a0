"""The page of a run: every fact with its line, curves, events, findings, neighbours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from ..decide.rows import Row
from ..schema.sql import named_statements
from .load import Content
from .series import Series, figure, series_of

Part = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Details:
    """What the pages of some runs need beside their rows, by run."""

    series: Mapping[str, Sequence[Series]]
    facts: Mapping[str, Sequence[Part]]
    events: Mapping[str, Sequence[Part]]


def details(content: Content, runs: Sequence[str]) -> Details:
    """All that is printed of these runs, in one query a kind."""
    text = (files(__package__ or "bench.site") / "runs.sql").read_text("utf-8")
    given = {"runs": list(runs)}
    made: dict[str, dict[str, list[Part]]] = {}
    for name, query in named_statements(text).items():
        parts: dict[str, list[Part]] = defaultdict(list)
        for row in content.warehouse.dicts(query, given):
            parts[row["run_id"]].append(row)
        made[name] = parts
    return Details(series_of(content.warehouse, runs), **made)


def run_page(content: Content, row: Row, of: Details, root: str) -> dict[str, Any]:
    """What the template of a run needs."""
    run, id = row["run"], content.id(row["run"])
    key = f"runs/{id}/series"
    series = of.series.get(run, ())
    return {
        "title": content.place(row), "row": row, "model": (content.model_href(row), row["size"] or row["model"] or "model not stated"),
        "facts": [_fact(content, row, one) for one in of.facts.get(run, ())],
        "events": [(one["kind"], one["iteration"], one["raw"], one["line"], content.line_href(row["uri"], one["line"]))
                   for one in of.events.get(run, ())],
        "curves": [figure(id, one, key) for one in series],
    }  # fmt: skip


def _fact(content: Content, row: Row, one: Part) -> dict[str, Any]:
    uri = one["file"] or row["uri"]
    return {**one, "text": content.text.named(one["name"], one["value"] or ""),
            "href": content.line_href(uri, one["line"]), "place": content.names.at(uri, one["line"])}  # fmt: skip


def run_data(content: Content, row: Row, of: Details) -> Iterator[tuple[str, Any]]:
    """The files of data of a run: what it states, for comparisons, and its series."""
    run, id = row["run"], content.id(row["run"])
    facts = [[f["name"], f["name"], f["text"], None, f["href"], f["place"], f["raw"]]
             for f in (_fact(content, row, one) for one in of.facts.get(run, ()))]  # fmt: skip
    yield f"runs/{id}", {"id": id, "title": content.place(row), "href": content.href(run), "facts": facts}
    if series := of.series.get(run):
        events = [{"x": one["iteration"], "text": content.text.line(f"{one['kind']}: {one['raw']}", 160)}
                  for one in of.events.get(run, ()) if one["iteration"] is not None]  # fmt: skip
        made: dict[str, Any] = {"x": "step", "series": [one.data() for one in series], "events": events}
        if row["tokens_per_step"]:
            made["tokens_per_step"] = row["tokens_per_step"]
        yield f"runs/{id}/series", made
