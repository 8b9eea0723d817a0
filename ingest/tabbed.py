"""Tables pasted from a sheet: lines of cells with tabs between, the first of them the headings."""

from __future__ import annotations

from collections.abc import Sequence

from ..vocabulary.headings import is_benchmark
from .grid import Table, TableRow

_FEWEST = 3  # cells of a row


def tabbed_table(lines: Sequence[str], at: int) -> Table | None:
    """The table whose headings stand on a line; None where they are not those of a benchmark."""
    headings = _cells(lines[at])
    if len(headings) < _FEWEST or not is_benchmark(headings):
        return None
    rows: list[TableRow] = []
    for place in range(at + 1, len(lines)):
        cells = _cells(lines[place])
        if not any(cells) or len(cells) > len(headings):
            break
        rows.append(TableRow(place + 1, cells))
    alignment = ("none",) * len(headings)
    return Table(TableRow(at + 1, headings), None, alignment, tuple(rows)) if rows else None


def _cells(line: str) -> tuple[str, ...]:
    cells = [cell.strip() for cell in line.split("\t")] if "\t" in line else []
    while cells and not cells[-1]:
        cells.pop()
    return tuple(cells)
