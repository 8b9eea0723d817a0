"""Two runs in a row: `297 (eager) / 165 (compiled)` below one heading.

Each remark is a setting of its run. A result of the row without remarks is of neither: of which of
them it is, is not said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...vocabulary.headings import columns_of
from .grid import Table, TableRow

_DRESS = re.compile(r"[*`]|(?<!_)__(?!_)")
_NARROW = str.maketrans("（）／；", "()/;")  # as Chinese and Japanese texts write them
_TWO = re.compile(
    r"\s*([~≈]?\s?\d[^()/|;]{0,24}?)\s*\(([^()]{1,40})\)\s*[/|;]\s*([~≈]?\s?\d[^()/|;]{0,24}?)\s*\(([^()]{1,40})\)\s*"
)


def with_remarks_apart(table: Table, heading: str) -> Table:
    """The table with a row for each of two remarked results; `heading` is that of the remarks."""
    columns = columns_of(table.header.cells)
    results = {at for at, column in enumerate(columns) if column and column.role == "result"}
    apart = [list(_apart(row, results)) for row in table.rows]
    if not any(len(rows) > 1 for rows in apart):
        return table
    return replace(
        table,
        header=replace(table.header, cells=(*table.header.cells, heading), lines=()),
        alignment=(*table.alignment, "none"),
        rows=tuple(row for rows in apart for row in rows),
        groups=(*table.groups, "") if table.groups else (),
    )


def _apart(row: TableRow, results: set[int]) -> Iterator[TableRow]:
    two = {
        at: match
        for at, cell in enumerate(row.cells)
        if at in results and (match := _TWO.fullmatch(_DRESS.sub("", cell.translate(_NARROW))))
    }
    remarks = {(match[2], match[4]) for match in two.values()}
    if len(remarks) != 1:
        yield replace(row, cells=(*row.cells, "")) if not row.lines else row
        return
    for part, remark in zip((1, 3), remarks.pop(), strict=True):
        cells = [
            two[at][part] if at in two else "" if at in results else cell
            for at, cell in enumerate(row.cells)
        ]
        yield TableRow(row.line, (*cells, remark))
