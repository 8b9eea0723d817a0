"""A table as found in a text: rows of cells with their lines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableRow:
    line: int
    cells: tuple[str, ...]

    @property
    def is_filler(self) -> bool:
        """Whether a row only parts others."""
        return all(cell in ("", "&nbsp;") for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Table:
    """A table as found; `separator` holds the alignments."""

    header: TableRow
    separator_line: int | None
    alignment: tuple[str, ...]
    rows: tuple[TableRow, ...]

    @property
    def last_line(self) -> int:
        return self.rows[-1].line if self.rows else (self.separator_line or self.header.line)
