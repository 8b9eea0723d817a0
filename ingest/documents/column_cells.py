"""The cells of one table, column by column: a repeated text in a column is read once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...schema.arrow import of_columns
from ...schema.rows import Rows
from ...vocabulary.cell import Cell, as_words, in_words
from ...vocabulary.cells import parse_cell
from ...vocabulary.headings import Column
from .grid import TableRow

_STORED = (
    "name", "raw", "kind", "value", "decimals", "unit", "text", "marks", "misfit", "pieces",
)  # fmt: skip
_JSON = json.JSONEncoder(ensure_ascii=False)  # `dumps` makes one a call


@dataclass(frozen=True, slots=True)
class ReadCell:
    """A cell as read, and the values stored for it in any row: `_STORED`."""

    cell: Cell
    stored: tuple[object, ...]


@dataclass(slots=True)
class ColumnCells:
    """Reads the cells under one heading; None for those after the last heading."""

    column: Column | None
    _read: dict[str, ReadCell] = field(default_factory=dict)

    def read(self, raw: str) -> ReadCell:
        """A cell by its text."""
        found = self._read.get(raw)
        if found is None:
            cell = parse_cell(raw, self.column)
            found = self._read[raw] = ReadCell(cell, _stored(cell, self.column))
        return found


def read_rows(
    rows: Sequence[Sequence[str]], columns: Sequence[Column | None]
) -> list[list[ReadCell]]:
    """The cells of every row of a table."""
    width = max(map(len, rows), default=0)
    readers = [ColumnCells(columns[n] if n < len(columns) else None) for n in range(width)]
    read = [
        [reader.read(raw) for reader, raw in zip(readers, cells, strict=False)] for cells in rows
    ]
    return [_with_remarks(cells, columns) for cells in read]


def add_cells(
    rows: Rows, table_id: str, of: Sequence[TableRow], read: Sequence[Sequence[ReadCell]]
) -> None:
    """Add the cells of a table, as read, of these rows: many of the same few columns."""
    flat = [cell for cells in read for cell in cells]
    if not flat:
        return
    width = [len(cells) for cells in read]
    columns: dict[str, Sequence[object]] = {
        "table_id": [table_id] * len(flat),
        "line": [
            row.line_of(place) for row, n in zip(of, width, strict=True) for place in range(n)
        ],
        "row_number": [number for number, n in enumerate(width, 1) for _ in range(n)],
        "column_number": [place for n in width for place in range(1, n + 1)],
        **{name: [one.stored[at] for one in flat] for at, name in enumerate(_STORED)},
    }
    rows.tables["cells"].append(of_columns("cells", columns, len(flat), rows))


def _with_remarks(read: list[ReadCell], columns: Sequence[Column | None]) -> list[ReadCell]:
    """A row that is fine except for words in place of numbers: these become its remarks.

    With a wrong unit elsewhere, or too many cells, the cells may be shifted: no remarks then.
    """
    odd = [read_cell.cell for read_cell in read if read_cell.cell.invalid]
    if not odd or len(read) != len(columns) or not all(map(in_words, odd)):
        return read
    return [
        _remark(one, column) if one.cell.invalid else one
        for one, column in zip(read, columns, strict=True)
    ]


def _remark(read_cell: ReadCell, column: Column | None) -> ReadCell:
    cell = as_words(read_cell.cell)
    return ReadCell(cell, _stored(cell, column))


def _stored(cell: Cell, column: Column | None) -> tuple[object, ...]:
    return (
        column.name if column else None,
        cell.raw,
        cell.kind,
        cell.value,
        cell.decimals,
        cell.unit,
        cell.text,
        list(cell.marks),
        cell.invalid,
        _JSON.encode(cell.pieces),
    )
