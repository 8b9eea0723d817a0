"""Two tables side by side in one: an empty column between `batch | tok/s` and `length | tok/s`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from ...vocabulary.headings import columns_of
from .grid import Table, TableRow

_FEWEST = 2  # columns of a side


def with_sides_below(table: Table) -> Table:
    """The table with its sides below each other; unchanged unless all of them measure the same.

    Settings of one side say nothing about the runs of another.
    """
    sides = _sides(table)
    if len(sides) < 2 or table.groups:
        return table
    measured = [_results([table.header.cells[at] for at in side]) for side in sides]
    if not set.intersection(*measured):
        return table
    heads = list(dict.fromkeys(table.header.cells[at] for side in sides for at in side))
    rows = tuple(
        TableRow(row.line, cells)
        for side in sides
        for row in table.rows
        if any(cells := _of_side(row, table.header.cells, side, heads))
    )
    header = replace(table.header, cells=tuple(heads), lines=())
    return replace(table, header=header, alignment=("none",) * len(heads), rows=rows)


def _sides(table: Table) -> list[range]:
    """The places between columns that have neither a heading nor a cell."""
    width = len(table.header.cells)
    empty = [
        at
        for at, head in enumerate(table.header.cells)
        if not head.strip() and not any(row.cells[at].strip() for row in table.rows
                                        if at < len(row.cells))
    ]  # fmt: skip
    sides = [range(first + 1, last) for first, last in pairwise((-1, *empty, width))]
    return [side for side in sides if len(side) >= _FEWEST]


def _results(headings: Sequence[str]) -> set[str]:
    columns = columns_of(headings)
    return {column.name for column in columns if column and column.role == "result"}


def _of_side(
    row: TableRow, headings: Sequence[str], side: range, heads: Sequence[str]
) -> tuple[str, ...]:
    own = {headings[at]: row.cells[at] for at in side if at < len(row.cells)}
    return tuple(own.get(head, "") for head in heads)
