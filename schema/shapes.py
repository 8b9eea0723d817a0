"""The columns of the raw tables as Arrow has them.

They are kept in `columns.json`, since to make the tables and look takes a tenth of a second of each
start: `python -m bench.schema.shapes > schema/columns.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import pyarrow as pa

_SCALARS = {
    "BIGINT": pa.int64(), "BLOB": pa.binary(), "BOOLEAN": pa.bool_(), "DOUBLE": pa.float64(),
    "INTEGER": pa.int32(), "TIMESTAMP": pa.timestamp("us"), "VARCHAR": pa.string(),
}  # fmt: skip
_LIST, _MAP = "[]", "MAP("
_REQUIRED = " NOT NULL"


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of a raw table, without load_id, and which of them are NOT NULL."""

    schema: pa.Schema
    required: frozenset[str]


@cache
def shapes() -> dict[str, Shape]:
    """Every raw table with a load_id, by name."""
    text = files(__package__).joinpath("columns.json").read_text("utf-8")
    return {table: _shape(columns) for table, columns in json.loads(text).items()}


def _shape(columns: dict[str, str]) -> Shape:
    kinds = {name: kind.removesuffix(_REQUIRED) for name, kind in columns.items()}
    return Shape(
        pa.schema([(name, _arrow_type(kind)) for name, kind in kinds.items()]),
        frozenset(name for name, kind in columns.items() if kind != kinds[name]),
    )


def _arrow_type(kind: str) -> pa.DataType:
    """The type that DuckDB calls by a name. Raises KeyError for one that no table has yet."""
    if kind.endswith(_LIST):
        return pa.list_(_arrow_type(kind.removesuffix(_LIST)))
    if kind.startswith(_MAP):
        key, _, value = kind.removeprefix(_MAP).removesuffix(")").partition(", ")
        return pa.map_(_arrow_type(key), _arrow_type(value))
    return _SCALARS[kind]


def as_made() -> str:
    """What `columns.json` has to say: the columns of the tables that the SQL files make."""
    from .connect import connect_memory
    from .migrate import create_tables

    con = connect_memory()
    try:
        create_tables(con)
        query = """SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns()
                   WHERE database_name = 'wh' AND schema_name = 'raw'
                   ORDER BY table_name, column_index"""
        return json.dumps(dict(_tables(con.execute(query).fetchall())), indent=1)
    finally:
        con.close()


def _tables(rows: list[tuple[str, str, str, bool]]) -> Iterator[tuple[str, dict[str, str]]]:
    found: dict[str, dict[str, str]] = {}
    for table, column, kind, nullable in rows:
        found.setdefault(table, {})[column] = kind if nullable else kind + _REQUIRED
    for table, columns in found.items():
        if columns.pop("load_id", None):
            yield table, columns


if __name__ == "__main__":
    print(as_made())
