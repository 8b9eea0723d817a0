"""What was read of a source, counted in lines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Coverage:
    """The counts that the row of `sources` is made of; tables are benchmark tables, or others."""

    kind: str
    format: str | None
    title: str | None
    lines: int
    lines_read: int
    lines_known: int
    lines_unread: int
    tables: int = 0
    tables_other: int = 0
    lines_measuring: int | None = None
