"""Several results in one cell, each told by its unit: `2.5 s/iter · 337 TFLOPS · 6,543 tok/s/GPU`.

If all cells of a column have the same units, each unit becomes a column. In a table of names and
values, or with its runs in columns, a row is split in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...vocabulary.cell_pieces import NUMBER
from ...vocabulary.cell_units import ANY_UNIT
from ...vocabulary.headings import column_of
from .grid import Table, TableRow

_LONGEST = 120  # characters of a cell
_APART = re.compile(r" ?[·•;|] ?| [/+] |, (?=[~≈]? ?\d)")
_VALUE = re.compile(
    rf"(?:[~≈]\s?)?(?:{NUMBER})\s?[kKM]?\s?(?P<unit>{ANY_UNIT})(?P<name>(?:\s[A-Za-z]{{2,12}}){{0,2}})"
)
_MEMORY = re.compile(r"[KMGT]i?B", re.I)
_FEWEST = 2

Values = dict[str, str]  # the heading of each result of a cell, and the result


def with_units_apart(table: Table) -> Table:
    """The table with a column, or a row, for each result; unchanged if no cells have several."""
    headings = table.header.cells
    split = {
        at: names
        for at, heading in enumerate(headings)
        if at and _may_have_results(heading)
        and (names := _names([row.cells[at] for row in table.rows if at < len(row.cells)]))
    }  # fmt: skip
    if not split:
        rows = tuple(part for row in table.rows for part in _rows(row))
        groups = table.groups if len(rows) == len(table.rows) else ()
        return table if len(rows) == len(table.rows) else replace(table, rows=rows, groups=groups)
    header = [
        new
        for at, heading in enumerate(headings)
        for new in _headings(heading, split.get(at, ()), alone=len(split) == 1)
    ]
    return replace(
        table,
        header=replace(table.header, cells=tuple(header), lines=()),
        alignment=("none",) * len(header),
        rows=tuple(replace(row, cells=tuple(_cells(row, split)), lines=()) for row in table.rows),
        groups=(),
    )


def _may_have_results(heading: str) -> bool:
    column = column_of(heading)
    return column is None or column.role == "result"


def _headings(heading: str, names: Sequence[str], *, alone: bool) -> Iterator[str]:
    """Of one column alone the units say all; of several the heading says which run it is."""
    yield from names if alone else [f"{heading} {name}" for name in names] if names else (heading,)
    if alone and not names:
        yield heading


def _cells(row: TableRow, split: dict[int, tuple[str, ...]]) -> Iterator[str]:
    for at, cell in enumerate(row.cells):
        if at not in split:
            yield cell
            continue
        values = _values(cell)
        rest = cell if not values else ""
        yield from (values.get(name, rest if not number else "")
                    for number, name in enumerate(split[at]))  # fmt: skip


def _rows(row: TableRow) -> Iterator[TableRow]:
    """A row for each result, where all its cells with a number have the same."""
    names = _names(row.cells[1:]) if row.cells else ()
    if not names:
        yield row
    for name in names:
        yield replace(row, cells=(name, *(_values(cell).get(name, "") for cell in row.cells[1:])))


def _names(cells: Sequence[str]) -> tuple[str, ...]:
    """The headings of the results that every cell with a number has; none if these differ."""
    found = {tuple(_values(cell)) for cell in cells if re.search(r"\d", cell)}
    names = found.pop() if len(found) == 1 else ()
    return names if len(names) >= _FEWEST else ()


def _values(cell: str) -> Values:
    """The results of a cell by their headings; empty if a part of it is no result of its own."""
    if len(cell) > _LONGEST:
        return {}
    parts = [part.strip() for part in _APART.split(" ".join(re.sub(r"[*`]", "", cell).split()))]
    found: Values = {}
    for part in parts:
        match = _VALUE.fullmatch(part)
        name = match and _heading(match["unit"], match["name"].strip())
        if not (match and name) or name in found:
            return {}
        found[name] = part[: match.end("unit")].strip()
    return found if len(found) >= _FEWEST else {}


def _heading(unit: str, name: str) -> str | None:
    """The heading of a result by the words behind it, else by its unit; None if neither says it."""
    known = next((one for one in (name, unit) if one and _is_result(one)), None)
    return known or ("Memory" if _MEMORY.fullmatch(unit) else None)


def _is_result(heading: str) -> bool:
    column = column_of(heading)
    return column is not None and column.role == "result"
