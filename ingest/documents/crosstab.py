r"""A table whose corner names both of its sides: `model \ GPUs` over 8, 16 and 32.

Its headings are numbers; each gets its name, so that the table can be unfolded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import prod

from ...vocabulary.fields import fields as declared_fields
from ...vocabulary.headings import column_of, is_result
from .grid import Table, TableRow

# `GPUs/node` is one field, not two.
_CORNER = re.compile(r"(?P<rows>[^\\/]{1,80}?)(?:\s*\\+\s*|\s+/\s+)(?P<columns>[^\\/]{1,80})")
_TIMES = re.compile(r"\s{0,3}[*×]\s{0,3}|(?<![a-z])x(?![a-z])|\s{1,3}by\s{1,3}", re.I)
_NUMBERS = re.compile(r"\d{1,7}(?:\s*[*x×]\s*\d{1,7}){0,2}", re.I)
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+|\d{1,7}")
_SHORT = re.compile(r"[A-Za-z]{1,8}")
_COUNTED = {"nodes": "nodes", "devices": "GPUs"}  # written with the number before the name
_NODES_OF_DEVICES = ["nodes", "devices"]


def with_axis_named(table: Table) -> Table:
    """The table with the numbers on top named as the corner states."""
    corner, *above = (cell.strip("*` ") for cell in table.header.cells)
    match = _CORNER.fullmatch(corner)
    if match is None or column_of(corner) is not None:
        return table
    if not above or not all(_NUMBERS.fullmatch(one) for one in above):
        return table
    axes = list(_axes(match["columns"]))
    sizes = [[int(one) for one in _TIMES.split(text)] for text in above]
    if not axes or any(len(size) != len(axes) for size in sizes):
        return table
    cells = (match["rows"].strip(), *(_headed(axes, size) for size in sizes))
    return replace(table, header=replace(table.header, cells=cells))


def with_axis_a_row(table: Table, quantity: str) -> Table:
    """`batch size | 8 | 16 | 32` over methods: each number is a row, with the cell as `quantity`.

    Unchanged if the rows are quantities themselves, or if their numbers are none.
    """
    corner, *above = (cell.strip("*` ") for cell in table.header.cells)
    column = column_of(corner)
    numbered = len(set(above)) > 1 and all(_NUMBER.fullmatch(one) for one in above)
    if column is None or column.type != "count" or column.role == "result" or not numbered:
        return table
    rows = [row for row in table.rows if row.cells and not row.is_filler]
    names = [row.cells[0].strip("*` ") for row in rows]
    if any(_NUMBER.fullmatch(name) or is_result(name) for name in names):
        return table
    if len(set(above)) < len(above):
        return table
    long = tuple(
        TableRow(row.line, (row.cells[0], number, row.cells[at]))
        for row in rows
        for at, number in enumerate(above, 1)
        if at < len(row.cells) and row.cells[at].strip()
    )
    header = TableRow(table.header.line, ("Method", corner, quantity))
    return replace(table, header=header, alignment=("none",) * 3, rows=long, groups=())


def _axes(text: str) -> Iterator[str]:
    """The fields of the numbers on top; none if a word is no field."""
    columns = [column_of(one.strip()) for one in _TIMES.split(text)]
    if all(column and column.type == "count" for column in columns):
        yield from (column.name for column in columns if column)


def _headed(axes: list[str], sizes: list[int]) -> str:
    if axes == _NODES_OF_DEVICES:  # nodes of so many devices each
        sizes = [sizes[0], prod(sizes)]
    return " ".join(_named(*one) for one in zip(axes, sizes, strict=True))


def _named(field: str, size: int) -> str:
    if field in _COUNTED:
        return f"{size} {_COUNTED[field]}"
    return f"{_name_of(field)}={size}"


def _name_of(field: str) -> str:
    """A heading of a field in letters alone, as settings are written."""
    names = (field, field.replace("_", ""), *declared_fields()[field].headings)
    return next((name for name in names if _SHORT.fullmatch(name) and column_of(name)), field)
