"""Rows as Arrow tables with the columns of the raw tables; invalid values give warnings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter, methodcaller

import pyarrow as pa

from .rows import Row, Rows
from .sql import TableColumn
from .sql import tables as raw_tables

Tables = Mapping[str, pa.Table]
Columns = Mapping[str, Sequence[object]]
_NO_FIT = (pa.ArrowInvalid, OverflowError, UnicodeEncodeError)


def to_arrow(rows: Rows) -> Tables:
    """The rows of one file by table, ready to store.

    A number too large for its column becomes NULL; a row with an invalid required value is left
    out. Both give a warning. Raises ValueError for an unknown column.
    """
    invalid = Rows()
    tables = {
        name: _table(name, found, invalid)
        for name, found in rows.by_table.items()
        if found and name != "warnings"
    }
    for name, many in rows.tables.items():
        if many:
            every = [tables[name], *many] if name in tables else many
            tables[name] = joined([_without_null_columns(each) for each in every])
    warnings = [*rows.by_table.get("warnings", ()), *invalid.by_table.get("warnings", ())]
    rows.extend(invalid)
    if warnings:
        tables["warnings"] = _table("warnings", warnings, Rows())
    return tables


def to_arrow_together(files: Sequence[Rows]) -> tuple[Tables, list[Mapping[str, int]]]:
    """The rows of several files as one table each, and the number of rows by table of each file.

    Conversion costs more per table than per row. `divided` separates the files again.
    """
    together, invalid = Rows(), Rows()
    for rows in files:
        together.extend(Rows(rows.by_table))
    made = {name: _table(name, found, invalid) for name, found in together.by_table.items()}
    converted: Iterable[Tables]
    if invalid.count():  # the warnings must stay with the file of the invalid values
        converted = map(to_arrow, files)
    else:
        lengths = [{name: len(found) for name, found in r.by_table.items()} for r in files]
        converted = map(_with_many, divided(made, lengths), files)
    parts: dict[str, list[pa.Table]] = defaultdict(list)
    counts: list[Mapping[str, int]] = []
    for tables in converted:
        counts.append({name: len(table) for name, table in tables.items()})
        for name, table in tables.items():
            parts[name].append(table)
    return {name: joined(every) for name, every in parts.items()}, counts


def _with_many(tables: Tables, rows: Rows) -> Tables:
    """The tables of one file with its columnar rows."""
    many = {
        name: joined([tables[name], *more] if name in tables else more)
        for name, more in rows.tables.items()
        if more
    }
    return {**tables, **many}


def divided(tables: Tables, lengths: Sequence[Mapping[str, int]]) -> Iterator[Tables]:
    """The tables of each file, separated."""
    starts = Counter[str]()
    for own in lengths:
        yield {name: tables[name].slice(starts[name], n) for name, n in own.items() if n}
        starts.update(own)


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Rows of one table; a column that some of them leave out is NULL there."""
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="default")


def _without_null_columns(table: pa.Table) -> pa.Table:
    """A table without the columns that are NULL in every row."""
    return table.select(
        [
            column_name
            for column_name in table.column_names
            if table[column_name].null_count < len(table)
        ]
    )


def _table(name: str, rows: list[Row], invalid: Rows) -> pa.Table:
    given = set[str]().union(*rows)
    uniform = all(row.keys() == given for row in rows)  # a row as its reader makes it, mostly
    readers = {one: itemgetter(one) if uniform else methodcaller("get", one) for one in given}
    columns = {one: list(map(read, rows)) for one, read in readers.items()}
    return of_columns(name, columns, len(rows), invalid)


def of_columns(name: str, given: Columns, number: int, invalid: Rows) -> pa.Table:
    """Rows of one table by column; adds a warning to `invalid` for each value that does not fit."""
    shape = shapes()[name]
    unknown = given.keys() - set(shape.schema.names)
    if unknown:
        raise ValueError(f"raw.{name} has no column {sorted(unknown)}")
    columns: list[pa.Array] = []
    left_out: set[int] = set()
    lines = given.get("line", [None] * number)
    for field in shape.schema:
        if field.name not in given:
            columns.append(pa.nulls(number, field.type))
            continue
        values = _prepared(given[field.name], field.type)
        try:
            columns.append(pa.array(values, field.type))
        except _NO_FIT:
            values = [_clean(value) if isinstance(value, str) else value for value in values]
            bad = _invalid(values, field.type)
            for place in bad:
                values[place] = None
            if bad:
                _warn(invalid, name, field.name, [lines[place] for place in bad])
            left_out.update(bad if field.name in shape.required else ())
            columns.append(pa.array(values, field.type))
    table = pa.table(columns, schema=shape.schema)
    if not left_out:
        return table
    return table.filter(pa.array([place not in left_out for place in range(number)]))


def _prepared(values: Sequence[object], kind: pa.DataType) -> Sequence[object]:
    if pa.types.is_map(kind):
        return [list(value.items()) if isinstance(value, Mapping) else value for value in values]
    return values


def _clean(text: str) -> str:
    """The text without lone surrogates, which no database accepts."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _invalid(values: Sequence[object], kind: pa.DataType) -> list[int]:
    return [place for place, value in enumerate(values) if not _fits(value, kind)]


def _fits(value: object, kind: pa.DataType) -> bool:
    try:
        pa.array([value], kind)
    except _NO_FIT:
        return False
    return True


def _warn(invalid: Rows, table: str, column: str, lines: Sequence[object]) -> None:
    first = next((line for line in lines if isinstance(line, int)), None)
    invalid.warn("does_not_fit", f"{len(lines)} values of {table}.{column} fit no column", first)


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
        for table, columns in raw_tables().items()
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
