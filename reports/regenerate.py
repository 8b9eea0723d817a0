"""A published table again, every cell formatted from its typed pieces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
    uri, chosen = benchmark_tables(warehouse, name, number)
    parts = [_table(warehouse, uri, table) for table in chosen]
    if len(parts) == 1:
        return parts[0]
    return Regenerated(
        "\n".join(part.markdown for part in parts),
        tuple(c for p in parts for c in p.not_rebuilt),
    )


def benchmark_tables(
    warehouse: Warehouse, name: str, number: int | None
) -> tuple[str, list[dict[str, Any]]]:
    """A source and its benchmark tables: the N-th, else the one that holds line N, or all.

    Raises BenchError when there is none.
    """
    uri = source_named(warehouse, name)
    query = """SELECT table_id, number, headings, alignment, header_line, last_line FROM tables
               WHERE uri = ? AND number IS NOT NULL ORDER BY header_line"""
    found = warehouse.dicts(query, [uri])
    chosen = [table for table in found if number in (None, table["number"])] or [
        table for table in found if table["header_line"] <= (number or 0) <= table["last_line"]
    ]
    if not chosen:
        raise BenchError(
            f"{uri} has no {f'table {number}' if found else 'benchmark table'}",
            why=f"it has {len(found)}, counted from 1, and none on that line" if found else "",
            hint=f"--table {name}" if found else "bench sql 'SELECT uri, number FROM tables'",
        )
    return uri, chosen


def _table(warehouse: Warehouse, uri: str, table: Mapping[str, Any]) -> Regenerated:
    headings, alignment = table["headings"], table["alignment"]
    query = """SELECT row_number, line, column_number, raw, pieces FROM cells
               WHERE table_id = ? ORDER BY row_number, column_number"""
    rows: dict[int, list[str]] = {}
    missed: list[str] = []
    for row, line, column, raw, pieces in warehouse.rows(query, [table["table_id"]]):
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
