"""Tables in the notation of most of Europe: `7,89 GiB` and `91.705 tokens/s`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...vocabulary.headings import Column
from .grid import Table

# One number, and at most a unit behind it.
_NUMBER = re.compile(r"[~≈]?\s?[-+−]?(\d[\d.,]{0,30})(?P<unit>\s?[^\d.,]{1,20})?")
_COMMA = re.compile(r"\d{1,3}(?:\.\d{3}){0,6},\d{1,2}|\d{1,9},(?:\d{1,2}|\d{4,9})|0,\d{1,9}")
_POINT = re.compile(
    r"\d{1,3}(?:,\d{3}){0,6}\.(?:\d{1,2}|\d{4,9})|\d{1,9}\.(?:\d{1,2}|\d{4,9})|0\.\d{1,9}"
    r"|\d{1,3}(?:,\d{3}){2,6}|\d{1,3}(?:,\d{3}){1,6}\.\d{1,9}"
)
_GROUPED = re.compile(r"\d{1,3},\d{3}")  # 12,345: a thousand or a decimal
_FEWEST = 2  # such cells
_IN_WORDS = frozenset(("label", "flag", "notes", "text"))  # types of column


def with_decimal_commas(table: Table, columns: Sequence[Column | None]) -> list[Column | None]:
    """The columns of a table that writes nothing but decimal commas, to be read as such.

    One in which a comma may as well part thousands is not read.
    """
    if not _writes_commas(table):
        return list(columns)
    return [
        column and _in_commas(table, at, column)
        if column and column.type not in _IN_WORDS
        else column
        for at, column in enumerate(columns)
    ]


def _in_commas(table: Table, at: int, column: Column) -> Column | None:
    numbers = [number for number, _ in _numbers(table, at)]
    either = any(map(_GROUPED.fullmatch, numbers)) and not any(map(_COMMA.fullmatch, numbers))
    return None if either else replace(column, decimal=",")


def _writes_commas(table: Table) -> bool:
    """Whether several cells have a decimal comma and none a decimal point; `0,1` may be a list."""
    cells = [one for at in range(len(table.header.cells)) for one in _numbers(table, at)]
    commas = [(number, unit) for number, unit in cells if _COMMA.fullmatch(number)]
    told = any(unit or len(number.partition(",")[2]) > 1 for number, unit in commas)
    return (
        told and len(commas) >= _FEWEST and not any(_POINT.fullmatch(number) for number, _ in cells)
    )


def _numbers(table: Table, at: int) -> list[tuple[str, bool]]:
    """The numbers of a column, each with whether a unit follows."""
    cells = (row.cells[at].strip("*` ") for row in table.rows if at < len(row.cells))
    return [(match[1], bool(match["unit"])) for cell in cells if (match := _NUMBER.fullmatch(cell))]
