"""Columns, types and meanings of the tables, parsed from their SQL files without DuckDB.

Creating the tables takes a tenth of a second at every start. The files keep to one column a line,
followed by its meaning, so that lines can be parsed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from .sql import sql_files

_STATEMENT = re.compile(
    r"^CREATE TABLE raw\.(?P<created>\w+) \((?P<columns>.*?)^\);"
    r"|^ALTER TABLE raw\.(?P<altered>\w+) ADD COLUMN (?P<column>[^\n]+)$"
    r"|^DROP TABLE raw\.(?P<dropped>\w+);",
    re.M | re.S,
)
_COLUMN = re.compile(
    r"^ *(?P<name>\w+) (?P<type>\w+(?:\([^)]*\))?(?:\[\])?)(?P<required> NOT NULL)?"
    r"[,;]? *-- (?P<meaning>.+)$",
    re.M,
)


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table of schema `raw`: its SQL type, its meaning and unit."""

    name: str
    type: str
    required: bool  # NOT NULL
    meaning: str


@cache
def tables() -> dict[str, dict[str, TableColumn]]:
    """Every table of schema `raw` by name, with its columns by name in their order."""
    groups: dict[str, dict[str, TableColumn]] = {}
    for _, text in sql_files("tables"):
        for match in _STATEMENT.finditer(text):
            if match["dropped"]:
                del groups[match["dropped"]]
            elif match["created"]:
                groups[match["created"]] = _columns(match["columns"])
            else:
                groups[match["altered"]] |= _columns(match["column"])
    return groups


def _columns(text: str) -> dict[str, TableColumn]:
    return {
        match["name"]: TableColumn(
            match["name"], match["type"], bool(match["required"]), match["meaning"]
        )
        for match in _COLUMN.finditer(text)
    }
