"""A published table as a user names it: FILE, or FILE:N."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TableRef:
    """A published table: the file as named, and which of its tables (None: all)."""

    file: str
    number: int | None = None
