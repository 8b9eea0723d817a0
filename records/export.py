"""Export of a warehouse to records: one file per run, with reproducible bytes."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse
from ..vocabulary.atomic import atomic_write
from ..vocabulary.regular_files import has_content, read_regular, require_within
from .layout import (
    CORRECTIONS,
    DIGITS,
    KEY,
    LISTS,
    MARK,
    NAME,
    SOURCE,
    TABLES,
    VERSION,
    InvalidRecord,
    attributes_of,
    columns,
    content,
    file_name,
    finite,
    marker_of,
    marker_text,
)
from .reading import LARGEST, identity
from .scrub import Scrubber

Row = dict[str, Any]
_ORDER = {
    "env_flags": "name, value, kind, line",
    "measurements": "line, metric, raw, scope",
    "statistics": "metric",
    "cells": "column_number",
}


@dataclass(frozen=True, slots=True)
class Exported:
    """Counts of records written, unchanged and removed by an export."""

    written: int
    unchanged: int
    removed: int
    folders: int


def export_records(warehouse: Warehouse, folder: Path, scrubber: Scrubber) -> Exported:
    """Write a record of every run below `folder`; existing ones are left unchanged.

    Removes records of older states of the same runs. Raises BenchError if there is no run, or
    the folder cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise BenchError(f"{folder} is a file", why="records are written to a directory",
                         hint="bench export --records DIR")  # fmt: skip
    try:
        done = _write_all(warehouse, folder, scrubber)
    except OSError as error:
        raise BenchError(
            "cannot write the records", why=error.strerror or str(error),
            where=str(error.filename or folder), hint="check the directory's permissions",
        ) from error  # fmt: skip
    if not done.folders:
        raise BenchError("no runs to export", hint="bench ingest PATH...")
    return done


def _write_all(warehouse: Warehouse, folder: Path, scrubber: Scrubber) -> Exported:
    written = unchanged = removed = 0
    groups: dict[Path, dict[str, Row]] = defaultdict(dict)
    for record in records(warehouse):
        made = scrubber.record(record)
        data = content(made)
        file = folder / _group(made["source"]) / file_name(data)
        if file.parent not in groups:
            require_within(folder, file)
        groups[file.parent][file.name] = made
        if has_content(file, data):
            unchanged += 1
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(file, data)
        written += 1
    for group, made_here in groups.items():
        atomic_write(marker_of(group), marker_text().encode())
        atomic_write(attributes_of(group), b"*.json -merge\n")
        removed += _remove_older(group, made_here)
    return Exported(written, unchanged, removed, len(groups))


@dataclass(frozen=True, slots=True)
class _Parts:
    """The rows from which records are assembled, by run, table or source."""

    of_runs: Mapping[str, Mapping[str, list[Row]]]  # by part, then by run
    facts: Mapping[str, Row]
    marks: Mapping[str, Mapping[str, str]]  # metadata that records state of themselves
    corrections: Mapping[str, list[Row]]
    tables: Mapping[str, Row]
    table_ids: Mapping[str, str]  # as in the record that a table comes from
    cells: Mapping[tuple[str, int], list[Row]]
    plans: Mapping[str, list[Row]]
    sources: Mapping[str, Row]


def records(warehouse: Warehouse) -> Iterator[Row]:
    """A record of every visible run, in order of source and line."""
    parts = _parts(warehouse)
    for run in warehouse.dicts("SELECT * FROM runs ORDER BY uri, line, run_id"):
        yield _record(parts, run)


def _parts(warehouse: Warehouse) -> _Parts:
    facts, marks = _facts(warehouse)
    query = "SELECT table_id, value FROM facts WHERE field = ? AND table_id IS NOT NULL"
    table_ids: dict[str, str] = dict(warehouse.rows(query, [KEY]))
    plans: dict[str, list[Row]] = defaultdict(list)
    query = "SELECT * FROM statements WHERE kind = 'plan' ORDER BY uri, line, raw"
    for row in warehouse.dicts(query):
        plans[row["uri"]].append(_filled("plans", row))
    cells: dict[tuple[str, int], list[Row]] = defaultdict(list)
    query = f"SELECT * FROM cells ORDER BY table_id, row_number, {_ORDER['cells']}"
    for row in warehouse.dicts(query):
        cells[row["table_id"], row["row_number"]].append(row)
    return _Parts(
        {name: _by_run(warehouse, name) for name in ("topology", *LISTS[:3])},
        facts, marks, _corrections(warehouse),
        {row["table_id"]: row for row in warehouse.dicts("SELECT * FROM tables")},
        table_ids, cells, plans,
        {row["uri"]: row for row in warehouse.dicts("SELECT * FROM sources")},
    )  # fmt: skip


def _record(parts: _Parts, run: Row) -> Row:
    """The record of a run, without empty parts."""
    run_id = run["run_id"]
    mark = parts.marks.get(run_id, {})
    source = json.loads(mark["source"]) if mark else _source(parts.sources[run["uri"]])
    record: Row = {MARK: VERSION}
    record["run"] = {"id": mark.get(KEY, run_id), **_filled("run", run)}
    record["source"] = source
    for name, rows in parts.of_runs.items():
        if found := [_filled(name, row) for row in rows.get(run_id, ())]:
            record[name] = found[0] if name == "topology" else found
    if parts.facts.get(run_id):
        record["facts"] = parts.facts[run_id]
    if run_id in parts.corrections:
        record[CORRECTIONS] = parts.corrections[run_id]
    if (table := parts.tables.get(run["table_id"])) is not None:
        known = parts.table_ids.get(table["table_id"], table["table_id"])
        record["table"] = {"id": known, **_filled("table", table)}
        cells = parts.cells.get((run["table_id"], run["row_number"]), ())
        record["cells"] = [_filled("cells", cell) for cell in cells]
    if parts.plans.get(run["uri"]) and source["kind"] != "log":
        record["plans"] = parts.plans[run["uri"]]
    return record


def _by_run(warehouse: Warehouse, part: str) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = defaultdict(list)
    order = _ORDER.get(part, "run_id")
    for row in warehouse.dicts(f"SELECT * FROM {TABLES[part]} ORDER BY run_id, {order}"):
        groups[row["run_id"]].append(row)
    return groups


def _facts(warehouse: Warehouse) -> tuple[dict[str, Row], dict[str, dict[str, str]]]:
    """Facts by run and scope as [field, line, value, raw], and metadata of the records."""
    facts: dict[str, Row] = defaultdict(dict)
    marks: dict[str, dict[str, str]] = defaultdict(dict)
    # A line of a companion file is not one of the source, and derived facts are derived again.
    query = """SELECT run_id, scope, how, field, CASE WHEN file IS NULL THEN line END AS line,
                      value, raw
               FROM facts
               WHERE run_id IS NOT NULL AND how <> 'derived'
               ORDER BY run_id, scope, how, line, field, raw, value"""
    for run_id, scope, how, name, line, value, raw in warehouse.rows(query):
        if scope == "record":
            marks[run_id][name] = raw if name == "source" else value
            continue
        key = scope if how == "stated" else f"{scope}/{how}"
        short = [name, line, value] if raw == value else [name, line, value, raw]
        facts[run_id].setdefault(key, []).append(short)
    return facts, marks


def _corrections(warehouse: Warehouse) -> dict[str, list[Row]]:
    """Annotations by run with author and date, and withdrawn ones."""
    query = """SELECT run_id, field, value, known_since::VARCHAR AS known_since,
            withdrawn_on::VARCHAR AS withdrawn_on,
            nullif(author, '') AS author, stated_on::VARCHAR AS stated_on,
            concat_ws(', ', CASE WHEN origin <> 'record' THEN file || ':' || line END, reason,
                      nullif(author, ''), stated_on::VARCHAR) AS raw
        FROM annotations
        WHERE outcome IN ('counts', 'withdrawn', 'superseded') AND field <> 'boundary'
            AND origin <> 'bundle'
            AND (known_since IS NOT NULL OR withdrawn_on IS NOT NULL OR author <> '')
        ORDER BY ALL"""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in warehouse.dicts(query):
        run_id = row.pop("run_id")
        groups[run_id].append({name: value for name, value in row.items() if value is not None})
    return groups


def _source(row: Mapping[str, Any]) -> Row:
    return {name: row[name] for name in SOURCE if row[name] is not None}


def _filled(part: str, row: Mapping[str, Any]) -> Row:
    """The columns of a part that are not NULL."""
    found = {}
    for name in columns(part):
        value = finite(row[name])
        if part == "statistics" and isinstance(value, float):
            value = float(f"{value:.{DIGITS}g}")
        if name == "pieces" and value is not None:
            value = json.loads(value)
        if value is not None and value != []:
            found[name] = value
    return found


def _group(source: Mapping[str, Any]) -> PurePosixPath:
    """The folder of a record: one per document, and one for all logs below a folder."""
    parts = [_safe(part) for part in PurePosixPath(source["uri"]).parts if part not in ("/", "..")]
    if source["kind"] == "log":  # not one per job folder: each would be a source, which is slow
        parts = parts[:1] if len(parts) > 1 else ["logs"]
    return PurePosixPath(*parts)


def _safe(part: str) -> str:
    return re.sub(r"[^\w.@+-]+", "_", part)[:120].strip(".") or "_"


def _remove_older(group: Path, rows: Mapping[str, Row]) -> int:
    """Remove other records of the runs just written: they hold older states.

    A changed row of a table is another run: it is removed with its document's old version.
    """
    written = {(row["run"]["id"], row["source"]["uri"]) for row in rows.values()}
    others: dict[Path, tuple[str, str, str]] = {}
    for file in sorted(group.iterdir()):
        if file.name in rows or not NAME.fullmatch(file.name):
            continue
        try:
            others[file] = identity(read_regular(file, LARGEST))
        except (OSError, InvalidRecord):
            continue
    older = {run: (uri, sha256) for run, uri, sha256 in others.values() if (run, uri) in written}
    documents = {row["source"]["uri"] for row in rows.values() if row["source"]["kind"] != "log"}
    versions = {version for version in older.values() if version[0] in documents}
    gone = [
        file
        for file, (run, uri, sha256) in others.items()
        if (run, uri) in written or (uri, sha256) in versions
    ]
    for file in gone:
        file.unlink()
    return len(gone)
