"""A table that says what named configurations are, for the tables that measure them by name.

`Config | GPUs | TP` before `Config | tok/s | MFU`: each measured row has the cells of its
configuration too, with their lines, and the first table has no runs of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from ...vocabulary.headings import Column, column_of, columns_of, unread_results
from .context import is_aside
from .grid import Table, TableRow
from .markdown import Heading, TextLine

_MARKS = re.compile(r"[*`_\"“”<>]")
_NAMED = re.compile(r"[^\W\d_]")
_KEYS = (None, "model", "setting", "identity")  # roles of a column of names
_STATED = ("topology", "batch", "model", "setting")
_FEWEST = 2  # rows, and columns
_MOST = 500  # rows of a table of configurations
_MOST_TABLES = 100  # of these: each is looked for in every table that measures


@dataclass(frozen=True, slots=True)
class _Described:
    """A table of configurations: the row of each name."""

    table: Table
    head: str
    rows: Mapping[str, TableRow]


class _Measured:
    """A table that measures; the names in its columns are looked up once."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._heads = [_plain(head) for head in table.header.cells]
        self._names: dict[int, set[str] | None] = {}

    def key(self, described: _Described) -> int | None:
        """The column that names these configurations; all its names have to be known."""
        known = described.head in self._heads
        at = self._heads.index(described.head) if known else 0
        if at not in self._names:
            self._names[at] = self._names_of(at)
        names = self._names[at]
        fewest = 1 if known else _FEWEST
        if names is None or len(names) < fewest or not names <= described.rows.keys():
            return None
        return at

    def _names_of(self, at: int) -> set[str] | None:
        """The names in a column; None if it is no column of names."""
        if _role(column_of(self._table.header.cells[at])) not in _KEYS:
            return None
        rows = self._table.rows
        return {_plain(row.cells[at]) for row in rows if at < len(row.cells) and not row.is_filler}


class Configurations:
    """The tables of a document that describe configurations which others measure."""

    def __init__(self, blocks: Iterable[Heading | TextLine | Table] = ()) -> None:
        tables = list(_in_force(blocks))
        described = (found for table in tables if (found := _described(table)))
        measured = [_Measured(table) for table in tables if _measures(table)]
        self._described = [
            one
            for one in islice(described, _MOST_TABLES)
            if any(table.key(one) is not None for table in measured)
        ]

    def are_in(self, table: Table) -> bool:
        """Whether a table, as written, only describes configurations that others measure."""
        return any(one.table is table for one in self._described)

    def applied(self, table: Table) -> Table:
        """The table with the cells of its configurations, under headings that it lacks."""
        if not self._described or not _measures(table):
            return table
        measured = _Measured(table)
        for one in self._described:
            key = measured.key(one)
            if key is not None:
                table = _extended(table, key, one)
                measured = _Measured(table)
        return table


def _in_force(blocks: Iterable[Heading | TextLine | Table]) -> Iterator[Table]:
    """The tables outside of sections about plans, examples and the like."""
    aside: int | None = None  # the level of the heading of such a section
    for block in blocks:
        if isinstance(block, Heading):
            if aside is None or block.level <= aside:
                aside = block.level if is_aside(block.text, "headings") else None
        elif isinstance(block, Table) and aside is None:
            yield block


def _described(table: Table) -> _Described | None:
    heads = table.header.cells
    if len(heads) < _FEWEST or not _FEWEST <= len(table.rows) <= _MOST or table.groups:
        return None
    key, *others = columns_of(heads)
    stated = [column for column in others if column and column.role in _STATED]
    if _role(key) not in _KEYS or not stated or _has_results(heads, others):
        return None
    rows = [row for row in table.rows if row.cells and not row.is_filler]
    by_name = {_plain(row.cells[0]): row for row in rows}
    named = all(map(_NAMED.search, by_name)) and len(by_name) == len(rows) >= _FEWEST
    return _Described(table, _plain(heads[0]), by_name) if named else None


def _has_results(heads: Sequence[str], columns: Sequence[Column | None]) -> bool:
    return any(_role(column) in ("result", "outcome") for column in columns) or bool(
        unread_results(heads)
    )


def _measures(table: Table) -> bool:
    return any(_role(column) == "result" for column in columns_of(table.header.cells))


def _extended(table: Table, key: int, described: _Described) -> Table:
    known = {column.name for column in columns_of(table.header.cells) if column}
    heads = {_plain(head) for head in table.header.cells}
    own = described.table.header.cells
    places = [
        at
        for at, column in enumerate(columns_of(own))
        if at
        and _plain(own[at]) not in heads
        and (column is None or (column.role in _STATED and column.name not in known))
    ]
    if not places:
        return table
    header = (*table.header.cells, *(own[at] for at in places))
    return replace(
        table,
        header=replace(table.header, cells=header),
        alignment=(*table.alignment, *("none" for _ in places)),
        rows=tuple(
            _row(row, len(table.header.cells), described.rows, key, places) for row in table.rows
        ),
        groups=(*table.groups, *("" for _ in places)) if table.groups else (),
    )


def _row(
    row: TableRow, width: int, rows: Mapping[str, TableRow], key: int, places: Sequence[int]
) -> TableRow:
    described = rows.get(_plain(row.cells[key])) if key < len(row.cells) else None
    if described is None or len(row.cells) > width:
        return row
    cells = (*row.cells, *("" for _ in range(width - len(row.cells))))
    added = [described.cells[at] if at < len(described.cells) else "" for at in places]
    lines = [row.line_of(at) for at in range(width)]
    lines += [described.line_of(at) for at in places]
    return replace(
        row,
        cells=(*cells, *added),
        lines=tuple(lines),
        described=row.described + len(places),
    )


def _role(column: Column | None) -> str | None:
    return column.role if column else None


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub("", text).casefold().split()).rstrip(".,;: ")
