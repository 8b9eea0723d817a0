"""A table as found in a text: rows of cells with their lines."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NOTHING = frozenset(("", "&nbsp;", "-", "–", "—"))
_FEWEST = 2  # empty cells after the name of a group of rows
MOST_ROWS = 50_000  # of a document: each takes 0.3 ms and about 6 KB while it is read
_DRAWN = re.compile(r"[-–—_=]{4,}")  # a line across a cell; fewer are a value that is missing


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row; `lines`: the line of each cell, for a run in a column of the text.

    The last `described` cells are of another table, which describes the configuration of the row.
    """

    line: int
    cells: tuple[str, ...]
    lines: tuple[int, ...] = ()
    described: int = 0

    @property
    def is_filler(self) -> bool:
        """Whether a row only separates others: it is empty, or names those below (`MP | | |`)."""
        first, *rest = self.cells or ("",)
        empty = all(not cell or _DRAWN.fullmatch(cell) for cell in rest)
        named = len(rest) >= _FEWEST and empty and any(map(str.isalpha, first))
        return named or all(cell in _NOTHING for cell in self.cells)

    @property
    def last_line(self) -> int:
        return max(self.lines[: len(self.lines) - self.described], default=self.line)

    def line_of(self, place: int) -> int:
        """The line of a cell."""
        return self.lines[place] if place < len(self.lines) else self.line


@dataclass(frozen=True, slots=True)
class Table:
    """A table as written; `alignment` is that of its separator row.

    `groups`: for each column, the headings that span it and others, if any.
    """

    header: TableRow
    separator_line: int | None
    alignment: tuple[str, ...]
    rows: tuple[TableRow, ...]
    groups: tuple[str, ...] = ()
    end_line: int = 0  # of the mark that closes it, in markups that have one
    added: int = 0  # last columns that the text does not have

    @property
    def last_line(self) -> int:
        last = max((row.last_line for row in self.rows), default=0)
        return max(last, self.end_line, self.separator_line or self.header.line)


def endless(table: Table, *, each: int = 0) -> tuple[str, str, int]:
    """The warning of a table that is not read: its kind, message and line.

    `each`: the rows that a table counts beside its own, where a file may have several.
    """
    later = ", nor are later benchmark tables that do not fit" if each else ""
    more = f", and each table counts {each} more" if each else ""
    message = (
        f"a table of {len(table.rows):,} rows is not read{later}:"
        f" a file may have {MOST_ROWS:,} table rows in all{more}"
    )
    return "endless_table", message, table.header.line
