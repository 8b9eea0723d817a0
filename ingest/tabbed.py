"""Tables pasted from a sheet: lines of cells with tabs between, the first of them the headings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from ..vocabulary.headings import is_benchmark
from .grid import Table, TableRow

_FEWEST = 3  # cells of a row
_LEAST = 2  # cells of a row, and rows, of names and values
_LONGEST = 100  # lines of these


def tabbed_table(lines: Sequence[str], at: int) -> Table | None:
    """The table whose headings are on a line; None if they are not those of a benchmark."""
    headings = _cells(lines[at])
    if len(headings) < _FEWEST or not is_benchmark(headings):
        return _rectangle(lines, at, headings)
    rows: list[TableRow] = []
    for place in range(at + 1, len(lines)):
        cells = _cells(lines[place])
        if not any(cells) or len(cells) > len(headings):
            break
        rows.append(TableRow(place + 1, cells))
    alignment = ("none",) * len(headings)
    return Table(TableRow(at + 1, headings), None, alignment, tuple(rows)) if rows else None


def _rectangle(lines: Sequence[str], at: int, headings: tuple[str, ...]) -> Table | None:
    """Several lines of as many cells: names and values, which are no sentences."""
    block = [_cells(line) for line in takewhile(str.strip, lines[at : at + _LONGEST])]
    if len(block) <= _LEAST or {len(cells) for cells in block} != {len(headings)}:
        return None
    if len(headings) < _LEAST or not all(all(cells) for cells in block):
        return None
    rows = tuple(TableRow(at + n, cells) for n, cells in enumerate(block[1:], 2))
    return Table(TableRow(at + 1, headings), None, ("none",) * len(headings), rows)


def _cells(line: str) -> tuple[str, ...]:
    cells = [cell.strip() for cell in line.split("\t")] if "\t" in line else []
    while cells and not cells[-1]:
        cells.pop()
    return tuple(cells)
