"""The layout of a record: its parts, and the warehouse columns of each.

Records are untrusted: a part is validated before it becomes rows.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..schema.rows import Row

# Importing Arrow is slow, and identifying a record does not need it.
if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
MARK = "bench_record"
SUFFIX = ".records"  # name of the file that marks a folder of records
NAME = re.compile(r"[0-9a-f]{16}\.json")
KEY = "record_of"  # the fact that names the run of a record, and the digest of its source
CORRECTIONS = "corrections"  # the part with authors and dates of annotations
FILE = "record_file"  # the fact that names the file of a record

# Columns left out of parts: recomputed by a reader, or stored once per record.
_OWN = frozenset(("source_id", "run_id", "table_id", "redone_from"))
SOURCE = ("uri", "sha256", "kind", "format", "title", "bytes", "lines")
# Part -> raw table; `run`, `topology` and `table` are one object, the rest are lists.
TABLES = {
    "run": "runs",
    "topology": "topology",
    "env_flags": "env_flags",
    "measurements": "measurements",
    "statistics": "run_stats",
    "table": "tables",
    "cells": "cells",
    "plans": "statements",
}
LISTS = ("env_flags", "measurements", "statistics", "cells")
DIGITS = 12  # digits of a statistic: the last bits of a sum depend on the order of adding


@dataclass(frozen=True, slots=True)
class RecordColumn:
    """One column of a part: its Arrow type, whether it is required, and the check of its values."""

    name: str
    type: pa.DataType
    required: bool
    fits: Callable[[object], bool]


@cache
def columns(part: str) -> dict[str, RecordColumn]:
    """The columns of a part, in table order."""
    from ..schema.arrow import shapes

    shape = shapes()[TABLES[part]]
    return {
        field.name: RecordColumn(
            field.name, field.type, field.name in shape.required, _fits_kind(field.type)
        )
        for field in shape.schema
        if field.name not in _OWN and not (part == "cells" and field.name == "row_number")
    }


def content(record: Mapping[str, object]) -> bytes:
    """The canonical bytes of a record, with one line per item of a list."""
    lines = [f"{_json(name)}: {_part(value)}" for name, value in record.items()]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode("utf-8", "backslashreplace")


def file_name(data: bytes) -> str:
    """A record's file name: a digest of its content, so that names never collide across sites."""
    return f"{hashlib.sha256(data).hexdigest()[:16]}.json"


def marker_of(folder: Path) -> Path:
    """The path of the file that marks a folder of records."""
    return folder / f"{folder.name}{SUFFIX}"


def attributes_of(folder: Path) -> Path:
    """The path of the .gitattributes that keeps conflict markers out of records."""
    return folder / ".gitattributes"


def marker_text() -> str:
    """The content of the marker: the same everywhere, so that merges never conflict."""
    about = "each JSON file in this directory is the record of one run, named by its content hash"
    return _json({"bench_records": VERSION, "about": about}) + "\n"


def finite(value: object) -> Any:  # Any: JSON
    """A value converted to JSON: without nan and infinity, recursively."""
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value if value is None or isinstance(value, str | bool | int) else str(value)


def _part(value: object) -> str:
    if isinstance(value, list) and value:
        return "[\n " + ",\n ".join(map(_json, value)) + "\n]"
    if isinstance(value, dict) and any(_is_grid(item) for item in value.values()):
        inner = (f"{_json(name)}: {_part(item)}" for name, item in value.items())
        return "{\n" + ",\n".join(inner) + "\n}"
    return _json(value)


def _is_grid(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], list)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _fits_kind(kind: pa.DataType) -> Callable[[object], bool]:
    import pyarrow as pa

    if pa.types.is_list(kind):
        inner = _fits_kind(kind.value_type)
        return lambda value: isinstance(value, list) and all(map(inner, value))
    if pa.types.is_map(kind):
        return lambda value: (
            isinstance(value, dict) and all(isinstance(item, str | None) for item in value.values())
        )
    if pa.types.is_boolean(kind):
        return lambda value: isinstance(value, bool)
    if pa.types.is_integer(kind):
        most = 2 ** (kind.bit_width - 1)
        return lambda value: type(value) is int and -most <= value < most
    if pa.types.is_floating(kind):
        return lambda value: type(value) in (int, float)
    return lambda value: isinstance(value, str)


_KINDS: dict[str, type | tuple[type, ...]] = {"bytes": int, "lines": int}
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


class InvalidRecord(ValueError):
    """An invalid record; the message is the reason."""


def add_correction(facts: list[Row], run_id: str, item: Mapping[str, Any]) -> None:
    """Add a withdrawal as a fact, or author and date to an annotation."""
    field, value, raw = (text_of(item, name) for name in ("field", "value", "raw"))
    days = {name: _day(item, name) for name in ("stated_on", "known_since", "withdrawn_on")}
    author = text_of(item, "author") if "author" in item else None
    signed = f", {author}, {days['stated_on']}"
    own = {"author": author, **days, "raw": raw.removesuffix(signed)}
    stated = [fact for fact in facts if (fact["field"], fact["value"], fact["how"]) == (
        field, value, "user")]  # fmt: skip
    if days["withdrawn_on"]:
        facts.append({"run_id": run_id, "field": field, "line": None, "value": value,
                      "scope": "user", "how": "withdrawn", **own})  # fmt: skip
    for one in stated if not days["withdrawn_on"] else ():
        one.update(own)


def supersedes(row: Row, other: Row) -> bool:
    """Whether the same author stated both on different days, so that the later one counts."""
    days = row.get("stated_on"), other.get("stated_on")
    by_one = bool(row.get("author")) and row.get("author") == other.get("author")
    return by_one and None not in days and days[0] != days[1]


def _day(item: Mapping[str, Any], name: str) -> date | None:
    if (found := item.get(name)) is None:
        return None
    try:
        return date.fromisoformat(found if _DAY.fullmatch(str(found)) else "")
    except (TypeError, ValueError) as error:
        raise InvalidRecord(f"{name} of a correction is no date") from error


def columns_of(part: str, item: Mapping[str, Any], extra: set[str] | None = None) -> Row:
    """The typed columns of a part; raises InvalidRecord for anything else."""
    known = columns(part)
    row: Row = {}
    for name, value in item.items():
        column = known.get(name)
        if column is None:
            if extra and name in extra:
                continue
            raise InvalidRecord(f"{part} has no column {name!r}: written by a newer bench?")
        row[name] = _value(part, column, value)
    for column in known.values():
        if column.required and row.get(column.name) is None:
            if str(column.type).startswith("list"):
                row[column.name] = []
            else:
                raise InvalidRecord(f"{part} has no {column.name!r}")
    return row


def _value(part: str, column: RecordColumn, value: object) -> object:
    if column.name == "pieces":
        if not isinstance(value, list):
            raise InvalidRecord("pieces of a cell must be a list")
        return json.dumps(value, ensure_ascii=False)
    if value is not None and not column.fits(value):
        raise InvalidRecord(f"{column.name!r} of {part} is {str(value)[:40]!r}, not {column.type}")
    return value


def source_of(source: Mapping[str, Any]) -> Row:
    for name in ("uri", "sha256", "kind"):
        text_of(source, name)
    for name, value in source.items():
        if name not in SOURCE or not isinstance(value, _KINDS.get(name, str)):
            raise InvalidRecord(f"invalid {name!r} of source")
    return dict(source)


def object_of(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = record.get(name)
    if not isinstance(found, dict):
        raise InvalidRecord(f"{name!r} is not an object")
    return found


def list_of(record: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = record.get(name, [])
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise InvalidRecord(f"{name!r} is not a list of objects")
    return found


def text_of(item: Mapping[str, Any], name: str) -> str:
    found = item.get(name)
    if not isinstance(found, str) or not found:
        raise InvalidRecord(f"{name!r} is not text")
    return found
