"""A published table again, every cell formatted from its typed pieces."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ..ingest.pieces import format_pieces
from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse
from .escape import stood_cell, visible
from .layout import pipe_table
from .selection import source_named


@dataclass(frozen=True, slots=True)
class Regenerated:
    """The markdown of tables, and the cells that their typed values do not give back."""

    markdown: str
    not_rebuilt: tuple[str, ...]
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def regenerate(warehouse: Warehouse, name: str, number: int | None) -> Regenerated:
    """The N-th benchmark table of a source, or all; raises BenchError when there is none."""
    uri = source_named(warehouse, name)
    query = """SELECT table_id, number, headings, alignment FROM tables
               WHERE uri = ? AND number IS NOT NULL ORDER BY header_line"""
    found = warehouse.rows(query, [uri])
    chosen = [table for table in found if number in (None, table[1])]
    if not chosen:
        raise BenchError(
            f"{uri} has no {f'table {number}' if found else 'benchmark table'}",
            why=f"it has {len(found)}, counted from 1" if found else "",
            hint=f"--table {name}" if found else "bench sql 'SELECT uri, number FROM tables'",
        )
    parts = [_table(warehouse, uri, *table) for table in chosen]
    if len(parts) == 1:
        return parts[0]
    return Regenerated(
        "\n".join(part.markdown for part in parts),
        tuple(c for p in parts for c in p.not_rebuilt),
    )


def _table(
    warehouse: Warehouse,
    uri: str,
    table_id: str,
    number: int,
    headings: list[str],
    alignment: list[str],
) -> Regenerated:
    query = """SELECT row_number, line, column_number, raw, pieces FROM cells
               WHERE table_id = ? ORDER BY row_number, column_number"""
    rows: dict[int, list[str]] = {}
    missed: list[str] = []
    for row, line, column, raw, pieces in warehouse.rows(query, [table_id]):
        text = format_pieces(json.loads(pieces))
        if text != raw:
            missed.append(f"{uri}:{line} column {column}: {raw!r}")
        rows.setdefault(row, []).append(text if text == raw else raw)
    width = max([len(headings), *map(len, rows.values())])
    header = [*headings, *[""] * (width - len(headings))]
    full = [[*cells, *[""] * (width - len(cells))] for cells in rows.values()]
    sides = [*alignment, *["none"] * (width - len(alignment))][:width]
    body = [[stood_cell(cell) for cell in cells] for cells in full]
    markdown = visible(pipe_table([stood_cell(name) for name in header], body, sides)) + "\n"
    return Regenerated(markdown, tuple(missed), tuple(header), tuple(map(tuple, full)))
