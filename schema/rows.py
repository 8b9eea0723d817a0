"""Rows to be stored, by table."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

Row = dict[str, object]


@dataclass(slots=True)
class Rows:
    """Rows by table name (as in `tables/*.sql`, without schema); columns left out are NULL.

    `load_id` is added when the rows are stored. `tables` are columnar rows.
    """

    by_table: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    tables: dict[str, list[pa.Table]] = field(default_factory=lambda: defaultdict(list))

    def add(self, table: str, **row: object) -> None:
        self.by_table[table].append(row)

    def extend(self, other: Rows) -> None:
        for table, rows in other.by_table.items():
            self.by_table[table].extend(rows)
        for table, many in other.tables.items():
            self.tables[table].extend(many)

    def count(self) -> int:
        """The number of rows, without columnar ones."""
        return sum(map(len, self.by_table.values()))

    def warn(self, code: str, message: str, line: int | None = None) -> None:
        self.add("warnings", code=code, message=message, line=line)


def content_id(*parts: object) -> str:
    """Twelve hex digits that depend only on the parts."""
    text = "\x1f".join(str(part) for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
