"""Columns that switch a number format on: `fp16 | bf16` over nothing but true and false."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...vocabulary.cell_words import switched
from ...vocabulary.headings import columns_of
from .context import formats_in
from .grid import Table, TableRow

_NOTHING = frozenset(("", "-", "–", "—"))
_FORMAT = "Dtype"
_LONGEST = 20  # characters of a heading that is a format


def with_formats_named(table: Table) -> Table:
    """The table with a last column for the format that is on; the switches are no formats."""
    columns = columns_of(table.header.cells)
    formats = {
        at: heading.strip("*`_ ")
        for at, heading in enumerate(table.header.cells)
        if columns[at] is None and _is_switch(table, at, heading)
    }
    width = len(table.header.cells)
    known = any(column and column.name == "dtype" for column in columns)
    if not formats or known or any(len(row.cells) > width for row in table.rows):
        return table
    cells = [
        f"use {formats[at]}" if at in formats else heading
        for at, heading in enumerate(table.header.cells)
    ]
    rows = tuple(_with_format(row, formats, width) for row in table.rows)
    header = replace(table.header, cells=(*cells, _FORMAT))
    alignment = (*table.alignment, "none")
    groups = (*table.groups, "") if table.groups else ()
    return replace(table, header=header, alignment=alignment, rows=rows, groups=groups, added=1)


def _is_switch(table: Table, at: int, heading: str) -> bool:
    words = heading.strip("*`_ ")
    if len(words) > _LONGEST or not words.isalnum() or len(formats_in(words)) != 1:
        return False
    cells = [row.cells[at].strip() for row in table.rows if at < len(row.cells)]
    stated = [cell for cell in cells if cell not in _NOTHING]
    return bool(stated) and all(switched(cell) is not None for cell in stated)


def _with_format(row: TableRow, formats: Mapping[int, str], width: int) -> TableRow:
    if len(row.cells) != width:
        return row  # a cell is missing, and it is told so
    on = [name for at, name in formats.items() if switched(row.cells[at])]
    lines = (*(row.line_of(at) for at in range(width)), row.line) if row.lines else ()
    return replace(row, cells=(*row.cells, on[0] if len(on) == 1 else ""), lines=lines)
