"""Names and links of runs on pages; a page in one file has no links."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..project.short_names import ShortNames
from ..schema.warehouse import Row
from .text import Text


@dataclass(frozen=True)
class Labels:
    """Names of runs and sources as text, without links; a site overrides these."""

    text: Text
    names: ShortNames

    @property
    def with_pages(self) -> Collection[str]:
        """The runs that have a page of their own."""
        return ()

    def place(self, row: Row) -> str:
        """The name of a run by its place: 001:27."""
        line = f":{row['line']}" if row["line"] else ""
        return self.text.line(f"{self.names.short(row['uri'])}{line}", 120)

    def id(self, run: str) -> str:
        """The id of a run on pages."""
        return self.text.run_id(run)

    def href(self, run: str) -> str:
        """The link to the page of a run."""
        return ""
