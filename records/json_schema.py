"""JSON schema of a record: `python -m bench.records.json_schema > docs/record.schema.json`."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from ..schema.catalogue import column_note
from .layout import CORRECTIONS, LISTS, MARK, SOURCE, TABLES, VERSION, columns

Schema = dict[str, Any]
_ABOUT = """One benchmark run as `bench export --records` writes it: what its source states, its
statistics and measurements; no iterations. The file's name is the beginning of its SHA-256."""


def schema() -> Schema:
    """The schema, generated from the tables of the warehouse."""
    parts = _parts()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A run record of bench",
        "description": " ".join(_ABOUT.split()),
        "type": "object",
        "properties": {
            MARK: {"const": VERSION, "description": "layout version"},
            "run": parts.pop("run"),
            "source": _source(),
            "facts": {
                "type": "object",
                "additionalProperties": {"type": "array", "items": _fact()},
                "description": "facts from the source by scope: arguments, heading, line, ...",
            },
            CORRECTIONS: {
                "type": "array",
                "items": _correction(),
                "description": "authors and dates of annotations, and withdrawals",
            },
            **parts,
        },
        "required": [MARK, "run", "source"],
        "additionalProperties": False,
    }


def _parts() -> Schema:
    """The parts that are tables of the warehouse, without ids of runs and tables."""
    text: Schema = {"type": "string", "minLength": 1}
    parts: Schema = {
        name: {"type": "array", "items": _part(name)} if name in (*LISTS, "plans") else _part(name)
        for name in TABLES
    }
    for name in ("run", "table"):
        parts[name]["properties"] = {"id": text, **parts[name]["properties"]}
        parts[name]["required"] = ["id", *parts[name]["required"]]
    return parts


def _source() -> Schema:
    text: Schema = {"type": "string", "minLength": 1}
    number = {"type": "integer", "minimum": 0}
    return {
        "type": "object",
        "properties": {name: number if name in ("bytes", "lines") else text for name in SOURCE},
        "required": ["uri", "sha256", "kind"],
        "additionalProperties": False,
    }


def _fact() -> Schema:
    value = {"type": ["string", "null"]}
    return {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": ["integer", "null"]}, value, value],
        "minItems": 3,
        "maxItems": 4,
        "description": "field, line, value as typed text, and as written where that differs",
    }


def _correction() -> Schema:
    day = {"type": "string", "format": "date"}
    text: Schema = {"type": "string", "minLength": 1}
    return {
        "type": "object",
        "properties": {
            "field": text,
            "value": {"type": "string"},
            "raw": {"type": "string", "description": "author, date and reason"},
            "author": text | {"description": "who says so"},
            "stated_on": day | {"description": "when"},
            "known_since": day | {"description": "from when it is known"},
            "withdrawn_on": day | {"description": "when it was taken back"},
        },
        "required": ["field", "value", "raw"],
        "additionalProperties": False,
    }


def _part(name: str) -> Schema:
    table = TABLES[name]
    known = columns(name)
    return {
        "type": "object",
        "properties": {
            column.name: _type(column.name, column.type)
            | _described(
                column_note(f"raw.{table}", column.name) or column_note(table, column.name)
            )
            for column in known.values()
        },
        "required": [
            column.name
            for column in known.values()
            if column.required and not pa.types.is_list(column.type)
        ],
        "additionalProperties": False,
    }


def _described(note: str) -> Schema:
    return {"description": note} if note else {}


def _type(name: str, kind: pa.DataType) -> Schema:
    if name == "pieces":
        return {"type": "array"}
    if pa.types.is_list(kind):
        return {"type": "array", "items": _type("", kind.value_type)}
    if pa.types.is_map(kind):
        return {"type": "object", "additionalProperties": {"type": ["string", "null"]}}
    if pa.types.is_boolean(kind):
        return {"type": "boolean"}
    if pa.types.is_integer(kind):
        return {"type": "integer"}
    return {"type": "number"} if pa.types.is_floating(kind) else {"type": "string"}


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1, ensure_ascii=False))
