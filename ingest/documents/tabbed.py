"""Tables pasted from a sheet: lines of cells with tabs between, the first of them the headings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from ...vocabulary.headings import is_benchmark
from .grid import Table, TableRow

_FEWEST = 3  # cells of a row
_LEAST = 2  # cells of a row, and rows, of names and values
_SEEN = 100  # lines that decide whether a block is of these, however long it is


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
    if len(headings) < _LEAST or not all(headings):
        return None
    seen = 0
    for line in takewhile(str.strip, lines[at : at + _SEEN]):
        if not _fits(_cells(line), headings):
            return None
        seen += 1
    if seen <= _LEAST:
        return None
    below = ((place, _cells(lines[place])) for place in range(at + 1, len(lines)))
    rows = takewhile(lambda one: _fits(one[1], headings), below)
    found = tuple(TableRow(place + 1, cells) for place, cells in rows)
    return Table(TableRow(at + 1, headings), None, ("none",) * len(headings), found)


def _fits(cells: Sequence[str], headings: Sequence[str]) -> bool:
    return len(cells) == len(headings) and all(cells)


def _cells(line: str) -> tuple[str, ...]:
    cells = [cell.strip() for cell in line.split("\t")] if "\t" in line else []
    while cells and not cells[-1]:
        cells.pop()
    return tuple(cells)
