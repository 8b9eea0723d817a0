"""How pages name runs, and where the names lead: nowhere, on a page that is alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..decide.rows import Row
from ..project.short import Names
from .text import Text


@dataclass(frozen=True)
class Labels:
    """Names of runs and sources as text; a site has pages that they link to."""

    text: Text
    names: Names

    @property
    def with_pages(self) -> Collection[str]:
        """The runs that have a page of their own."""
        return ()

    def place(self, row: Row) -> str:
        """A run by its place: 001:27."""
        line = f":{row['line']}" if row["line"] else ""
        return self.text.line(f"{self.names.short(row['uri'])}{line}", 120)

    def id(self, run: str) -> str:
        """The id of a run as pages have it."""
        return self.text.run_id(run)

    def href(self, run: str) -> str:
        """The page of a run."""
        return ""
