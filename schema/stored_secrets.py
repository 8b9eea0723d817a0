"""Secrets stored by a version of bench with fewer patterns, by file and line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ..vocabulary.secrets import REDACTED, is_secret_name, redact, redact_json, redact_text
from .sql import tables
from .warehouse import Warehouse

_LINES = ("line", "status_line", "header_line")
_NAMES = ("name", "field")  # columns with the name of the value in `value` and `raw`
# Ids, our own words, and numbers as text of steps: none is a source's own text.
_OURS = frozenset(("load_id", "source_id", "run_id", "table_id", "audit_id", "sha256", "set_id"))


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """The place of a secret, without its text."""

    uri: str
    line: int | None
    table: str
    column: str
    count: int


def stored_secrets(warehouse: Warehouse) -> list[StoredSecret]:
    """Every text of the raw tables with a match of the present patterns."""
    found: Counter[tuple[str, str, str, int | None]] = Counter()
    for table, columns in tables().items():
        texts = [
            name
            for name, column in columns.items()
            if "VARCHAR" in column.type and name not in _OURS
        ]
        if "load_id" not in columns or not texts:
            continue
        for load, line, column in _of_table(warehouse, table, list(columns), texts):
            found[load, table, column, line] += 1
    uris: dict[str, str] = dict(
        warehouse.rows("SELECT load_id, min(uri) FROM raw.loads GROUP BY ALL")
    )
    parts = """SELECT part_id, min(uri) FROM raw.parts JOIN raw.loads USING (load_id)
               GROUP BY ALL"""
    uris |= dict(warehouse.rows(parts))
    return sorted(
        (
            StoredSecret(uris.get(load, load), line, table, column, count)
            for (load, table, column, line), count in found.items()
        ),
        key=lambda one: (one.uri, one.line or 0, one.table, one.column),
    )


def _of_table(
    warehouse: Warehouse, table: str, columns: list[str], texts: list[str]
) -> Iterator[tuple[str, int | None, str]]:
    """Load, line and column of each text with a secret."""
    line = next((name for name in _LINES if name in columns), "NULL::BIGINT")
    name = next((name for name in _NAMES if name in columns), "NULL::VARCHAR")
    listed = ", ".join(f"{text}::VARCHAR" for text in texts)
    # Each text once: steps and timers print the same ones thousands of times.
    query = f"""SELECT load_id, min({line}), {name}, {listed} FROM raw.{table}
                GROUP BY load_id, {name}, {listed} ORDER BY ALL"""
    for load, first, named, *values in warehouse.rows(query):
        for column, value in zip(texts, values, strict=True):
            if value is not None and _has_secret(column, named, value):
                yield load, first, column


def _has_secret(column: str, name: str | None, value: str) -> bool:
    if name and column in ("value", "raw") and is_secret_name(name):
        return redact(name, value) != value
    clean = redact_json(value) if column == "pieces" else redact_text(value)
    return REDACTED in clean and clean != value
