"""What a file gives, piece by piece: tables to store, and counts and remarks for the summary."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ..schema.arrow import to_arrow
from ..schema.rows import Row, Rows
from ..schema.spill import Spill

REMARKS_KEPT = 1000  # of one file are told; the warehouse has them all


@dataclass(slots=True)
class Collected:
    """The rows of one file; `add` takes the next of them."""

    tables: Spill = field(default_factory=Spill)
    source: Row | None = None
    counts: Counter[str] = field(default_factory=Counter)  # rows by table
    remarks: list[Row] = field(default_factory=list)
    models: Counter[str] = field(default_factory=Counter)

    def add(self, rows: Rows) -> None:
        """Count and convert what was read since the last call. Raises OSError: a full disk."""
        self.tables.add(to_arrow(rows))
        self.count(rows)

    def count(self, rows: Rows) -> None:
        """Count rows that have been converted."""
        for name, found in rows.by_table.items():
            self.counts[name] += len(found)
        for name, many in rows.tables.items():
            self.counts[name] += sum(table.num_rows for table in many)
        self.remarks += rows.by_table.get("warnings", ())[: REMARKS_KEPT - len(self.remarks)]
        self.models.update(str(r["model"]) for r in rows.by_table.get("runs", ()) if r.get("model"))
        for row in rows.by_table.get("sources", ()):
            self.source = row
