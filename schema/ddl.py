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
    made: dict[str, dict[str, TableColumn]] = {}
    for _, text in sql_files("tables"):
        for found in _STATEMENT.finditer(text):
            if found["dropped"]:
                del made[found["dropped"]]
            elif found["created"]:
                made[found["created"]] = _columns(found["columns"])
            else:
                made[found["altered"]] |= _columns(found["column"])
    return made


def _columns(text: str) -> dict[str, TableColumn]:
    return {
        found["name"]: TableColumn(
            found["name"], found["type"], bool(found["required"]), found["meaning"]
        )
        for found in _COLUMN.finditer(text)
    }
