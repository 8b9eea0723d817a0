"""Tables in the notation of most of Europe: `7,89 GiB` and `91.705 tokens/s`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...vocabulary.headings import Column
from .grid import Table
from .heading_evidence import Doubt

# One number, and at most a unit behind it.
_NUMBER = re.compile(r"[~≈]?\s?[-+−]?(\d[\d.,]{0,30})(?P<unit>\s?[^\d.,]{1,20})?")
_COMMA = re.compile(r"\d{1,3}(?:\.\d{3}){0,6},\d{1,2}|\d{1,9},(?:\d{1,2}|\d{4,9})|0,\d{1,9}")
_POINT = re.compile(
    r"\d{1,3}(?:,\d{3}){0,6}\.(?:\d{1,2}|\d{4,9})|\d{1,9}\.(?:\d{1,2}|\d{4,9})|0\.\d{1,9}"
    r"|\d{1,3}(?:,\d{3}){2,6}|\d{1,3}(?:,\d{3}){1,6}\.\d{1,9}"
)
_GROUPED = re.compile(r"\d{1,3}[.,]\d{3}")  # 12,345 or 91.705: a thousand or a decimal
_MILLIONS = re.compile(r"\d{1,3}(?:\.\d{3}){2,6}")
_FEWEST = 2  # such cells
_IN_WORDS = frozenset(("label", "flag", "notes", "text"))  # types of column
_TOKENS = re.compile(r"tok", re.I)  # the unit of a rate


def with_decimal_commas(
    table: Table, columns: Sequence[Column | None]
) -> tuple[list[Column | None], list[Doubt]]:
    """The columns of a table whose results have decimal commas, to be read as such.

    One in which a sign may as well part thousands as decimals is not read, with the reason.
    """
    read, doubts = list(columns), list[Doubt]()
    if not _writes_commas(table, columns):
        return read, doubts
    for at, column in enumerate(columns):
        if column is None or column.type in _IN_WORDS:
            continue
        if open_number := _open_number(table, at, column):
            message = (
                f"{open_number!r} under {table.header.cells[at]!r} has thousands or decimals, in a"
                " table with decimal commas: not read"
            )
            doubts.append(Doubt("decimal_comma", message))
            read[at] = None
        else:
            read[at] = replace(column, decimal=",")
    return read, doubts


def _open_number(table: Table, at: int, column: Column) -> str | None:
    """The first number of a column whose sign has two meanings that nothing in it decides."""
    cells = _numbers(table, at)
    if any(_COMMA.fullmatch(number) or _MILLIONS.fullmatch(number) for number, _ in cells):
        return None
    # Nobody prints decimals of devices or of tokens a second; those of seconds and GB are usual.
    is_rate = column.unit == "tokens/s" and column.scale == 1
    for number, unit in cells:
        is_whole = column.type == "count" or bool(_TOKENS.match(unit) or (is_rate and not unit))
        if _GROUPED.fullmatch(number) and ("," in number or not is_whole):
            return number
    return None


def _writes_commas(table: Table, columns: Sequence[Column | None]) -> bool:
    """Whether several results have a decimal comma and no cell a decimal point.

    `8,16` elsewhere may be a list: of devices, of two sizes.
    """
    commas = [
        (number, unit)
        for at, column in enumerate(columns)
        if column and column.role == "result" and column.type not in _IN_WORDS
        for number, unit in _numbers(table, at)
        if _COMMA.fullmatch(number)
    ]
    told = any(unit or len(number.partition(",")[2]) > 1 for number, unit in commas)
    return told and len(commas) >= _FEWEST and not _has_points(table)


def _has_points(table: Table) -> bool:
    cells = (one for at in range(len(table.header.cells)) for one in _numbers(table, at))
    return any(_POINT.fullmatch(number) for number, _ in cells)


def _numbers(table: Table, at: int) -> list[tuple[str, str]]:
    """The numbers of a column, each with the unit behind it."""
    cells = (row.cells[at].strip("*` ") for row in table.rows if at < len(row.cells))
    found = filter(None, map(_NUMBER.fullmatch, cells))
    return [(match[1], (match["unit"] or "").strip()) for match in found]
