"""The columns of the raw tables as Arrow schemas."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

import pyarrow as pa

from .ddl import TableColumn, tables

_SCALARS = {
    "BIGINT": pa.int64(), "BLOB": pa.binary(), "BOOLEAN": pa.bool_(), "DATE": pa.date32(),
    "DOUBLE": pa.float64(), "INTEGER": pa.int32(), "TIMESTAMP": pa.timestamp("us"),
    "VARCHAR": pa.string(),
}  # fmt: skip
_LIST, _MAP = "[]", "MAP("


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of a raw table, without load_id, and which of them are NOT NULL."""

    schema: pa.Schema
    required: frozenset[str]


@cache
def shapes() -> dict[str, Shape]:
    """Every raw table with a load_id or a history_id, by name."""
    return {
        table: _shape([column for column in columns.values() if column.name != "load_id"])
        for table, columns in tables().items()
        if "load_id" in columns or "history_id" in columns
    }


def _shape(columns: Collection[TableColumn]) -> Shape:
    return Shape(
        pa.schema([(column.name, _arrow_type(column.type)) for column in columns]),
        frozenset(column.name for column in columns if column.required),
    )


def _arrow_type(kind: str) -> pa.DataType:
    """The Arrow type of a DuckDB type. Raises KeyError for one that no table uses yet."""
    if kind.endswith(_LIST):
        return pa.list_(_arrow_type(kind.removesuffix(_LIST)))
    if kind.startswith(_MAP):
        key, _, value = kind.removeprefix(_MAP).removesuffix(")").partition(", ")
        return pa.map_(_arrow_type(key), _arrow_type(value))
    return _SCALARS[kind]
