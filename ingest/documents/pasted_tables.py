"""Tables pasted from a sheet or a terminal: lines of cells, the first of them the headings.

Between the cells are tabs; within a block of code also several blanks, or strokes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile

from ...vocabulary.headings import columns_of, is_benchmark
from .grid import Table, TableRow

_FEWEST = 3  # cells of a row
_LEAST = 2  # cells of a row, and rows, of names and values
_BETWEEN = re.compile(r"\s*[|│┃]\s*|\t+| {2,}")
_RULE = re.compile(r"[\s|│┃+=_─━┼:-]+")
_BRACKETED = re.compile(r"[(\[][^()\[\]]{0,80}[)\]]")
_RULES = 3  # lines between headings and rows
_LONGEST = 400  # characters of a line of a table
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


def printed_table(lines: Sequence[str], at: int) -> Table | None:
    """The table that a program printed, whose headings are on a line of a block of code.

    A heading has to name a result, and the rows below have as many cells, with numbers in them.
    """
    line = lines[at].rstrip()
    if len(line) > _LONGEST or not _BETWEEN.search(line.strip(" |│┃")):
        return None
    headings = _printed(line)
    if len(headings) < _LEAST or not all(headings):
        return None
    if any(map(str.isdigit, _BRACKETED.sub("", line))):
        return None
    below = _rows_below(lines, at, len(headings))
    first = tuple(islice(below, _LEAST))  # the others when they are sure to be read only once
    enough = len(first) == _LEAST or (first and "|" in line and _is_ruled(lines, at))
    known = [column for column in columns_of(headings) if column] if enough else []
    if len(known) < _LEAST or not any(column.role == "result" for column in known):
        return None
    rows = (*first, *below)
    return Table(TableRow(at + 1, headings), None, ("none",) * len(headings), rows)


def _is_ruled(lines: Sequence[str], at: int) -> bool:
    """Whether a rule with the strokes of a table stands below the headings: one row is enough."""
    below = lines[at + 1] if at + 1 < len(lines) else ""
    return bool(_RULE.fullmatch(below)) and below.count("|") == lines[at].count("|")


def _rows_below(lines: Sequence[str], at: int, width: int) -> Iterator[TableRow]:
    """The lines of as many cells below a heading, with numbers in them."""
    rules = takewhile(_is_rule, lines[at + 1 : at + 1 + _RULES])
    for place in range(at + 1 + sum(1 for _ in rules), len(lines)):
        below = lines[place]
        cells = _printed(below) if len(below) <= _LONGEST else ()
        if len(cells) != width or not any(map(str.isdigit, below)):
            return
        yield TableRow(place + 1, cells)


def _is_rule(line: str) -> bool:
    return bool(line.strip() and _RULE.fullmatch(line))


def _printed(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in _BETWEEN.split(line.strip(" \t|│┃")))


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
