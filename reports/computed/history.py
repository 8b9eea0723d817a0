"""The history of documents' numbers in git: when each appeared, changed and disappeared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...decide.history import history
from ...decide.query import Query
from ...decide.rows import Decision
from ...project.short_names import ShortNames
from ...schema.warehouse import Row, Warehouse

RANKED = True
PLACES = ()
COLUMNS = (
    "row_id", "now", "model", "settings", "name", "kind", "old", "new", "old_value", "new_value",
    "change", "is_setting", "date", "authored", "commit", "author", "message", "where",
)  # fmt: skip
SHOWN = (
    ("row", "Row"), ("settings", "Configuration"), ("name", "Number"), ("old", "Old"),
    ("new", "New"), ("change_text", "Change"), ("day", "Date"), ("short", "Commit"),
    ("message", "Message"),
)  # fmt: skip
KEEP = ("Number", "Old", "New", "Date", "Commit")


def answer(warehouse: Warehouse, query: Query) -> Decision:
    """Every change of the rows of a query."""
    return history(warehouse, query)


def cells(names: ShortNames, row: Row, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A change formatted for people."""
    return {
        **row,
        "row": names.place(row["now"]) if row["now"] else f"{names.place(row['where'])} (removed)",
        "old": "-" if row["old"] is None else row["old"],
        "new": "-" if row["new"] is None else row["new"],
        "change_text": row["kind"] if row["change"] is None else f"{100 * row['change']:+.1f}%",
        "day": f"{row['date']:%Y-%m-%d}",
        "short": row["commit"][:10],
    }
