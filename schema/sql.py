"""The SQL files of this folder, as text, and the columns of the tables that they create.

Creating the tables takes a tenth of a second at every start. The files keep to one column a line,
followed by its meaning, so that lines can be parsed without DuckDB.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_COMMENT = re.compile(r"--[^\n]*")
_SPACE = re.compile(r"\s+")
_NAME = re.compile(r"^-- name: (\w+)\n", re.M)


@cache
def sql_files(folder: str) -> tuple[tuple[str, str], ...]:
    """Name (without `.sql`) and text of each SQL file of a folder of this package, by name."""
    found = [
        entry for entry in _package().joinpath(folder).iterdir() if entry.name.endswith(".sql")
    ]
    return tuple((_stem(entry), entry.read_text("utf-8")) for entry in sorted(found, key=_stem))


@cache
def sql_file(name: str) -> str:
    """The text of one SQL file in the package's own folder."""
    return _package().joinpath(f"{name}.sql").read_text("utf-8")


def named_statements(text: str) -> dict[str, str]:
    """The statements after lines `-- name: NAME` of a SQL file, by name."""
    parts = _NAME.split(text)
    own = (part.strip().rstrip(";") for part in parts[2::2])
    return dict(zip(parts[1::2], own, strict=True))


def digest(text: str) -> str:
    """SHA-256 of SQL without comments and line breaks: a better comment changes no table."""
    bare = _SPACE.sub(" ", _COMMENT.sub("", text)).strip()
    return hashlib.sha256(bare.encode()).hexdigest()


def _stem(entry: Traversable) -> str:
    return entry.name.removesuffix(".sql")


def _package() -> Traversable:
    return files(__package__ or "bench.schema")


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
