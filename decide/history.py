"""When a number of a document appeared, each change of it, and when it went, as git has it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..schema.errors import BenchError, did_you_mean
from ..schema.warehouse import Row, Warehouse
from ..vocabulary.format import counted
from ..vocabulary.printable import typed
from .lookup import find_run, matching
from .query import Query
from .rows import Decision

_NAMES = {"step_time": "step_time_s", "mem": "memory", "time": "step_time_s"}
# The requested rows, each with its versions from commit to commit.
_VERSIONS = """
    SELECT v.*, t.uri AS uri_now, t.line AS line_now,
        row_number() OVER (PARTITION BY v.history_id, v.row_id ORDER BY v.number) AS version
    FROM row_versions v LEFT JOIN ({tips}) t USING (history_id, row_id)
    WHERE {condition}
    ORDER BY v.document_id, v.row_id, v.number"""
# The newest revision of each document that is there, with its rows one by one.
TIPS = """
    SELECT history_id, document_id, uri, blob, unnest(row_ids) AS row_id, unnest(lines) AS line
    FROM (
        SELECT * FROM revisions
        QUALIFY row_number() OVER (PARTITION BY history_id, document_id ORDER BY number DESC) = 1)
    WHERE kind <> 'removed'"""
_MODEL = """(lower(v.settings['model']) = lower($model) OR label_params_b($model)
    = coalesce(label_params_b(v.settings['model']), round(v.settings['params_b']::DOUBLE, 1)))"""


def history(
    warehouse: Warehouse, query: Query, row: str | None = None, metric: str | None = None
) -> Decision:
    """Each number that appeared, changed or went, oldest first within its row.

    `row` is FILE:LINE or the id of a run; without it the rows of `query.model` and
    `query.document`, or, without these, the rows that ever changed. Raises BenchError if no
    history is stored, and for a row, model or document without one.
    """
    require_history(warehouse)
    conditions, parameters = _conditions(warehouse, query, row)
    text = _VERSIONS.format(tips=TIPS, condition=" AND ".join(conditions))
    found = warehouse.dicts(text, parameters)
    if not found:
        raise _nothing(warehouse, query)
    by_row = [list(_events(versions)) for versions in _by_row(found)]
    if not (conditions[1:] or query.all_rows):  # most rows never change
        by_row = [of_row for of_row in by_row if any(e["kind"] != "appeared" for e in of_row)]
    events = [event for of_row in by_row for event in of_row]
    if metric is not None:
        events = _of_metric(events, metric)
    rows = {(version["history_id"], version["row_id"]) for version in found}
    asked = {"asked": row or query.model or query.document or "", "metric": metric}
    return Decision("history", tuple(events), (), asked | _facts(warehouse, rows, events))


def _nothing(warehouse: Warehouse, query: Query) -> BenchError:
    """Why no row is meant, with the models that there are."""
    names = "SELECT settings['model'] AS model, count(DISTINCT row_id) FROM row_versions"
    known = warehouse.rows(f"{names} WHERE model IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1")
    listed = ", ".join(f"{model} ({rows})" for model, rows in known[:20])
    if query.model is None or not listed:
        return BenchError("no row of any history is meant",
                          hint="bench history alone lists what changed")  # fmt: skip
    why = f"known models (rows): {listed}"
    return BenchError(f"no row of model {query.model!r} in any history", why=why,
                      hint="--model with one of these")  # fmt: skip


def _conditions(
    warehouse: Warehouse, query: Query, row: str | None
) -> tuple[list[str], dict[str, object]]:
    """Which versions of rows are meant, with the parameters of the conditions."""
    conditions, parameters = ["true"], dict[str, object]()
    if row is not None:
        conditions.append("list_contains($rows::VARCHAR[], v.row_id)")
        parameters["rows"] = _rows_named(warehouse, row)
    if query.model is not None:
        conditions.append(_MODEL)
        parameters["model"] = query.model
    if query.document is not None:
        conditions.append("v.document_id IN (SELECT document_id FROM revisions WHERE uri = $uri)")
        parameters["uri"] = _document(warehouse, query.document)
    return conditions, parameters


def _facts(
    warehouse: Warehouse, rows: Collection[object], events: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """How many rows and changes there are, and from when to when."""
    return {
        "row_count": len(rows),
        "changed": len({event["row_id"] for event in events if event["kind"] == "changed"}),
        "went": len(
            {event["row_id"] for event in events if event["kind"] == "went" and event["is_gone"]}
        ),
        "commits": len({event["commit"] for event in events}),
        "first": min((event["date"] for event in events), default=None),
        "last": max((event["date"] for event in events), default=None),
        "until": warehouse.rows("SELECT max(committed_at) FROM raw.commits")[0][0],
    }


def require_history(warehouse: Warehouse) -> None:
    """Raises BenchError where no history is stored."""
    if not warehouse.rows("SELECT 1 FROM raw.commits LIMIT 1"):
        raise BenchError(
            "no history is stored", hint="bench ingest --history PATH reads that of a repository"
        )


def scope(warehouse: Warehouse) -> str:
    """The scope of the rules about histories, in a few words."""
    query = """SELECT count(DISTINCT row_id), count(DISTINCT document_id),
        count(DISTINCT commit_id), count(*) FILTER (kind IN ('changed', 'returned'))
        FROM row_versions"""
    [(rows, documents, commits, changes)] = warehouse.rows(query)
    return (f"history: {counted(rows, 'row')} of {counted(documents, 'document')} in"
            f" {counted(commits, 'commit')}, {counted(changes, 'change')} of a row")  # fmt: skip


def _rows_named(warehouse: Warehouse, wanted: str) -> list[str]:
    """The rows that FILE:LINE or an id means: a run of today, else the newest revision's line,
    else one that stood there before it went."""
    live = (
        "SELECT row_id FROM row_versions WHERE until IS NULL AND kind <> 'removed' AND run_id = ?"
    )
    with suppress(BenchError):  # no run of today is called so
        if rows := warehouse.rows(live, [find_run(warehouse, wanted)]):
            return [row for (row,) in rows]
    place = re.fullmatch(r"(.+):(\d{1,9})", wanted)
    if place is None:
        raise BenchError(f"no row {wanted!r} in any history", hint="name one as FILE:LINE")
    return _rows_at(warehouse, _document(warehouse, place[1]), int(place[2]))


def _rows_at(warehouse: Warehouse, uri: str, line: int) -> list[str]:
    """The row on a line of a document now, else those that stood there before they went."""
    queries = (
        f"SELECT row_id FROM ({TIPS}) WHERE uri = ? AND line = ?",
        "SELECT DISTINCT row_id FROM row_versions WHERE uri = ? AND line = ? ORDER BY row_id",
    )
    for query in queries:
        if rows := warehouse.rows(query, [uri, line]):
            return [row for (row,) in rows]
    lines = warehouse.rows(
        f"SELECT line FROM ({TIPS}) WHERE uri = ? ORDER BY abs(line - ?), line LIMIT 5", [uri, line]
    )
    near = ", ".join(str(number) for number in sorted(n for (n,) in lines))
    raise BenchError(
        f"no row has stood on line {line} of {uri}",
        why=f"rows near it: {near}" if near else "it has no row now",
        hint=f"bench history --document {typed(uri)}",
    )


def _document(warehouse: Warehouse, name: str) -> str:
    """The uri of a document of a history."""
    uris = [
        str(uri) for (uri,) in warehouse.rows("SELECT DISTINCT uri FROM revisions ORDER BY uri")
    ]
    found = matching(uris, name.removeprefix("./"), whole=False)
    if len(found) == 1:
        return found[0]
    how = "several documents are" if found else "no document of a history is"
    listed = f"{'they are' if found else 'known'}: {', '.join((found or uris)[:20])}"
    raise BenchError(f"{how} called {name!r}", why=listed, hint="name one by its path")


def _by_row(versions: Sequence[Row]) -> Iterator[list[Row]]:
    groups: dict[tuple[str, str], list[Row]] = {}
    for version in versions:
        groups.setdefault((version["history_id"], version["row_id"]), []).append(version)
    yield from sorted(groups.values(), key=_place)


def _place(versions: Sequence[Row]) -> tuple[str, int]:
    first, last = versions[0], versions[-1]
    return first["uri_now"] or last["uri"], first["line_now"] or last["line"]


def _events(versions: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """The events of each number of a row, commit by commit."""
    printed: Mapping[str, str] = {}
    numbers: Mapping[str, float] = {}
    settings: Mapping[str, str] = {}
    is_gone = versions[-1]["kind"] == "removed"
    for version in versions:
        now, its, are = version["printed"], version["numbers"], version["settings"]
        if version["kind"] == "removed":
            now, its, are = {}, {}, settings
        moves = [(name, printed.get(name), now.get(name), numbers.get(name), its.get(name))
                 for name in {**now, **printed} if printed.get(name) != now.get(name)]  # fmt: skip
        for move in moves:
            yield _event(version, are, is_gone, False, *move)
        for name in sorted({*settings, *are}) if settings else ():
            if settings.get(name) != are.get(name):
                yield _event(version, are, is_gone, True, name, settings.get(name), are.get(name))
        printed, numbers, settings = now, its, are


def _event(
    version: Row, settings: Mapping[str, str], is_gone: bool, is_setting: bool, name: str,
    old: str | None, new: str | None, old_value: float | None = None,
    new_value: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A number or a setting that a version of a row added, changed or removed."""
    kind = "appeared" if old is None else "went" if new is None else "changed"
    if version["kind"] == "returned" and kind == "appeared":
        kind = "returned"
    ratio = new_value / old_value - 1 if old_value and new_value is not None else None
    return {
        "row_id": version["row_id"], "kind": kind, "name": name, "old": old, "new": new,
        "old_value": old_value, "new_value": new_value, "change": ratio,
        "is_setting": is_setting, "is_gone": is_gone,
        "date": version["valid_from"], "authored": version["authored_at"],
        "commit": version["commit_id"], "author": version["author"], "message": version["message"],
        "uri": version["uri"], "line": version["line"],
        "where": f"{version['uri']}:{version['line']}",
        "now": None if is_gone else f"{version['uri_now']}:{version['line_now']}",
        "model": settings.get("model"), "settings": _configuration(settings), "stated": settings,
        "history_id": version["history_id"],
    }  # fmt: skip


def _configuration(settings: Mapping[str, str]) -> str:
    """The configuration of a row, to recognise it in its table: DP8 TP1 PP1, MBS 1."""
    words = [
        f"{name.upper()}{settings[name]}"
        for name in ("dp", "tp", "pp", "cp", "ep")
        if name in settings
    ]
    nodes = (
        [f"{count} {'node' if count == '1' else 'nodes'}"]
        if (count := settings.get("nodes"))
        else []
    )
    batch = [f"{name.upper()} {settings[name]}" for name in ("mbs", "gbs") if name in settings]
    return ", ".join([*nodes, *([" x ".join(words)] if words else []), *batch])


def _of_metric(events: Sequence[dict[str, Any]], metric: str) -> list[dict[str, Any]]:
    name = _NAMES.get(metric.strip().casefold(), metric.strip())
    known = sorted({event["name"] for event in events})
    if name not in known:
        raise BenchError(
            f"no such number in these rows: {metric!r}",
            why=f"there are: {', '.join(known)}",
            hint=did_you_mean(name, known),
        )
    return [event for event in events if event["name"] == name]
