"""Validation of a record's parts: records are untrusted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from ..schema.rows import Row
from .layout import SOURCE, RecordColumn, columns

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
