"""A remark behind the last cell of a row, which has no heading: `| 8 | 1.2 s | needs 32 GB |`."""

from __future__ import annotations

import re
from dataclasses import replace

from ...vocabulary.cells import parse_cell
from ...vocabulary.headings import Column, columns_of
from ...vocabulary.outcome_words import failure_of
from .grid import Table, TableRow

_WORD = re.compile(r"[^\W\d_]{2,20}")
_NUMBER = re.compile(r"[^\w]{0,4}\d")


def with_remarks_headed(table: Table) -> Table:
    """The table with an empty heading above remarks behind its rows, whose other cells fit.

    A cell that was put in moves a number there, or the words of the last column.
    """
    width = len(table.header.cells)
    columns = columns_of(table.header.cells)
    longer = [row for row in table.rows if len(row.cells) > width]
    last = columns[-1]
    counts = last is not None and last.role not in ("remark", "model") and last.type != "text"
    if not longer or not counts or not all(_is_remarked(row, columns) for row in longer):
        return table
    rows = tuple(
        replace(row, cells=(*row.cells, "")) if len(row.cells) == width else row
        for row in table.rows
    )
    header = replace(table.header, cells=(*table.header.cells, ""))
    return replace(table, header=header, rows=rows, alignment=(*table.alignment, ""))


def _is_remarked(row: TableRow, columns: list[Column | None]) -> bool:
    *cells, remark = row.cells
    is_remark = len(_WORD.findall(remark)) > 1 and not _NUMBER.match(remark)
    if len(cells) != len(columns) or not is_remark or failure_of(remark):
        return False
    read = [parse_cell(cell, column) for cell, column in zip(cells, columns, strict=True)]
    return not any(cell.invalid for cell in read) and read[-1].kind == "number"
