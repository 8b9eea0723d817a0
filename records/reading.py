"""Records to warehouse rows: a single file, or a folder of records as one source."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..schema.rows import Row, Rows, content_id
from ..vocabulary.regular_files import parse_json, read_regular
from .layout import (
    CORRECTIONS,
    FILE,
    KEY,
    LISTS,
    MARK,
    NAME,
    SUFFIX,
    TABLES,
    VERSION,
    InvalidRecord,
    add_correction,
    columns_of,
    list_of,
    marker_of,
    object_of,
    source_of,
    supersedes,
    text_of,
)

FORMAT = "bench record"
_HEAD = 200
LARGEST = 64 << 20  # bytes of a record
_BY_PEOPLE = ("user", "withdrawn")  # values of `how` for facts stated by people


def is_read_with_folder(path: Path) -> bool:
    """Whether a file belongs to a folder of records, which is read as one source."""
    return NAME.fullmatch(path.name) is not None and marker_of(path.parent).is_file()


def looks_like_record(head: bytes) -> bool:
    """Whether a JSON file is a record, by its first bytes."""
    return f'"{MARK}"'.encode() in head[:_HEAD]


def is_marker(path: Path) -> bool:
    """Whether a file is the marker of a folder of records."""
    return path.suffix == SUFFIX


def files_of_folder(marker: Path) -> list[Path]:
    """The records in a marker's folder, by name; raises OSError."""
    files = sorted(marker.parent.iterdir(), key=lambda file: file.name)
    return [file for file in files if NAME.fullmatch(file.name) and file.is_file()]


def fingerprint_of_folder(marker: Path) -> tuple[str, int]:
    """SHA-256 and size of all records in the marker's folder; raises OSError."""
    digest, size = hashlib.sha256(), 0
    for file in files_of_folder(marker):
        data = read_regular(file, LARGEST)
        size += len(data)
        digest.update(hashlib.sha256(data).digest())
    return digest.hexdigest(), size


def read_records(path: Path, source_id: str) -> tuple[Rows, str]:
    """The rows of a record, or of a marker's folder, and their SHA-256.

    An invalid or duplicate record gives a warning and no rows.
    """
    rows, digest, size, files = Rows(), hashlib.sha256(), 0, 0
    reader = _Reader(rows, source_id)
    for file in files_of_folder(path) if is_marker(path) else [path]:
        name, data = file.name, read_regular(file, LARGEST)
        files += 1
        size += len(data)
        digest.update(hashlib.sha256(data).digest() if is_marker(path) else data)
        try:
            reader.add(_parsed(data), name)
        except InvalidRecord as error:
            rows.warn("record_misfit", f"{name}: {error}")
    if reader.read:
        rows.add(
            "sources", source_id=source_id, kind="record", format=FORMAT, title=reader.title(),
            bytes=size, lines=files, lines_read=reader.read, lines_known=reader.doubles,
            lines_unread=files - reader.read - reader.doubles, encoding_errors=0,
        )  # fmt: skip
    return rows, digest.hexdigest()


def rows_of_record(data: bytes, name: str, source_id: str) -> Rows:
    """The rows of a single record; empty if it is invalid."""
    rows = Rows()
    try:
        _Reader(rows, source_id).add(_parsed(data), name)
    except InvalidRecord as error:
        rows.warn("record_misfit", f"{name}: {error}")
    return rows


def identity(data: bytes) -> tuple[str, str, str]:
    """Run, path and SHA-256 of a record's original source; raises InvalidRecord."""
    record = _parsed(data)
    source = object_of(record, "source")
    return (
        text_of(object_of(record, "run"), "id"),
        text_of(source, "uri"),
        text_of(source, "sha256"),
    )


def _parsed(data: bytes) -> Mapping[str, Any]:
    try:
        record = parse_json(data)
    except ValueError as error:
        raise InvalidRecord(f"not JSON: {error}") from error
    if not isinstance(record, dict) or MARK not in record:
        raise InvalidRecord(f"not a record: no {MARK!r}")
    if record[MARK] != VERSION:
        raise InvalidRecord(f"written by another version of bench: {MARK} is {record[MARK]!r}")
    return record


def _is_same_statement(row: Row, other: Row) -> bool:
    """Whether both state the same value, by the same author and on the same day."""
    names = ("value",) if row["how"] == "withdrawn" else ("value", "author", "stated_on")
    return all(row.get(name) == other.get(name) for name in names)


def _lists(rows: Rows, record: Mapping[str, Any], own: Row, of_cells: Row | None) -> None:
    """Add the parts that are lists; cells only if the record has a table."""
    for part in LISTS:
        ids = of_cells if part == "cells" else own
        for item in list_of(record, part) if ids is not None else ():
            rows.by_table[TABLES[part]].append((ids or {}) | columns_of(part, item))


class _Reader:
    """Collects rows of records, with new ids per source, so that sources never share one."""

    def __init__(self, rows: Rows, source_id: str) -> None:
        self.rows, self.source_id = rows, source_id
        self.read = self.doubles = 0
        self._runs: set[tuple[str, str]] = set()
        self._tables: set[str] = set()
        self._plans: set[tuple[str, str]] = set()
        self._titles: set[str | None] = set()
        self._of_runs: set[str] = set()
        self._stated: dict[tuple[str, str, str], list[Row]] = {}

    def title(self) -> str | None:
        """The title of the documents, if it is the same for all."""
        return next(iter(self._titles)) if len(self._titles) == 1 else None

    def add(self, record: Mapping[str, Any], file: str) -> None:
        """Add one record, all or nothing; `file` is its file name."""
        run, source = object_of(record, "run"), source_of(object_of(record, "source"))
        key = text_of(run, "id"), str(source["sha256"])
        rows = Rows()
        run_id = content_id("record", self.source_id, *key)
        if key in self._runs:
            self.doubles += 1
            self._facts(rows, run_id, record)
            self._merge_corrections(rows, run_id, file)
            return
        table_id, row_number = self._table(rows, record, key[1], run)
        rows.add("runs", source_id=self.source_id, run_id=run_id, table_id=table_id,
                 **columns_of("run", run, {"id"}))  # fmt: skip
        if "topology" in record:
            rows.add(
                "topology", run_id=run_id, **columns_of("topology", object_of(record, "topology"))
            )
        cells = {"table_id": table_id, "row_number": row_number} if table_id else None
        _lists(rows, record, {"run_id": run_id}, cells)
        plans = self._plans_of(rows, record, key[1])
        self._facts(rows, run_id, record)
        self._merge_corrections(rows, run_id, file)
        self._mark(rows, run_id, key, source, file)
        self.rows.extend(rows)
        self._runs.add(key)
        self._plans |= plans
        self._titles.add(str(source["title"]) if "title" in source else None)
        if table_id:
            self._tables.add(table_id)
        self.read += 1

    def _plans_of(self, rows: Rows, record: Mapping[str, Any], sha256: str) -> set[tuple[str, str]]:
        """Add the plans of a source once, for any number of records of its runs."""
        plans = {
            (sha256, json.dumps(item, sort_keys=True)): item for item in list_of(record, "plans")
        }
        for plan in plans.keys() - self._plans:
            rows.add("statements", **columns_of("plans", plans[plan]))
        return set(plans)

    def _table(
        self, rows: Rows, record: Mapping[str, Any], sha256: str, run: Mapping[str, Any]
    ) -> tuple[str | None, object]:
        if "table" not in record:
            return None, None
        table, row_number = object_of(record, "table"), run.get("row_number")
        if type(row_number) is not int:
            raise InvalidRecord("a row of a table without row_number")
        known = text_of(table, "id")
        table_id = content_id("record", self.source_id, sha256, known)
        if table_id not in self._tables:
            rows.add("tables", source_id=self.source_id, table_id=table_id,
                     **columns_of("table", table, {"id"}))  # fmt: skip
            rows.add("facts", table_id=table_id, field=KEY, value=known, raw=sha256,
                     scope="record", how="stated")  # fmt: skip
        return table_id, row_number

    def _facts(self, rows: Rows, run_id: str, record: Mapping[str, Any]) -> None:
        facts = rows.by_table["facts"]
        for key, found in (object_of(record, "facts") if "facts" in record else {}).items():
            scope, _, how = str(key).partition("/")
            for item in found if isinstance(found, list) else [None]:
                if not isinstance(item, list) or len(item) not in (3, 4):
                    raise InvalidRecord(
                        f"a fact of {key!r} is not [field, line, value] or [..., raw]"
                    )
                name, line, value, raw = item if len(item) == 4 else (*item, item[2])
                if not (
                    type(name) is str
                    and type(raw) is str
                    and (value is None or type(value) is str)
                    and (line is None or (type(line) is int and abs(line) < 2**63))
                ):
                    raise InvalidRecord(f"a value in a fact of {key!r} is not text")
                facts.append({"run_id": run_id, "field": name, "line": line, "value": value,
                              "raw": raw, "scope": scope, "how": how or "stated"})  # fmt: skip
        for one in list_of(record, CORRECTIONS):
            add_correction(facts, run_id, one)

    def _merge_corrections(self, rows: Rows, run_id: str, file: str) -> None:
        """Merge the annotations of all records of a run, since two branches may each add some; warn
        of contradictions."""
        kept = []
        for fact in rows.by_table["facts"]:
            known = self._stated.setdefault((run_id, str(fact["field"]), str(fact["how"])), [])
            if fact["how"] not in _BY_PEOPLE:
                kept.append(fact)
                continue
            if any(_is_same_statement(fact, other) for other in known):
                continue
            others = [other for other in known if other["value"] != fact["value"]]
            others = [other for other in others if not supersedes(fact, other)]
            if others and fact["how"] == "user":
                both = f"{fact['value']}, and another record {others[0]['value']}"
                self.rows.warn("record_contradiction", f"{file}: {fact['field']} is {both}")
            known.append(fact)
            kept.append(fact)
        if run_id in self._of_runs:
            self.rows.by_table["facts"] += [one for one in kept if one["how"] in _BY_PEOPLE]
        else:
            rows.by_table["facts"] = kept
            self._of_runs.add(run_id)

    def _mark(self, rows: Rows, run_id: str, key: tuple[str, str], source: Row, file: str) -> None:
        """Add the run's original identity, for later exports and the detection of duplicates."""
        text = json.dumps(source, ensure_ascii=False)
        marks = (KEY, *key), ("source", str(source["uri"]), text), (FILE, file, file)
        for name, value, raw in marks:
            rows.add("facts", run_id=run_id, field=name, value=value, raw=raw, scope="record",
                     how="stated")  # fmt: skip
