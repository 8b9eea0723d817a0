"""Constraints of a plan: conditions as in `--where`, over the names of each combination."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from ..schema.errors import BenchError
from ..schema.where import compile_where
from ..vocabulary.secrets import redact

Words = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Constraint:
    """One condition of a plan, as written, and its place in the list from 1."""

    number: int
    text: str


def unmet(constraints: Sequence[Constraint], rows: Sequence[Words]) -> dict[int, str]:
    """The rows, by index, that violate a constraint, each with the first one violated.

    Raises BenchError for a constraint that is not a condition over the names of the rows.
    """
    kinds = _kinds(rows)
    why: dict[int, str] = {}
    if not constraints:
        return why
    with duckdb.connect(":memory:") as con:
        columns = ", ".join(f'"{name}" {kind}' for name, kind in kinds.items())
        con.execute(f"CREATE TABLE combinations (place INTEGER{columns and ', '}{columns})")
        # Loaded by column: row by row, a large plan takes half a minute.
        values = [[_stored(row.get(name), kind) for row in rows] for name, kind in kinds.items()]
        lists = ", ".join(["unnest(?)"] * (len(kinds) + 1))
        con.execute(f"INSERT INTO combinations SELECT {lists}", [[*range(len(rows))], *values])
        for constraint in constraints:
            condition = _compiled(constraint, kinds)
            query = f"SELECT place, ({condition}) FROM combinations WHERE ({condition}) IS NOT TRUE"
            for place, outcome in con.execute(query).fetchall():
                why.setdefault(place, _explained(constraint, rows[place], outcome))
    return why


def _kinds(rows: Sequence[Words]) -> dict[str, str]:
    """The DuckDB type of every name; text for a name with values of several types."""
    kinds: dict[str, str] = {}
    for row in rows:
        for name, value in row.items():
            if value is not None:
                kind = _kind(value)
                both = {kinds.get(name, kind), kind}
                kinds[name] = kind if len(both) == 1 else _common_type(both)
    return kinds


def _kind(value: object) -> str:
    match value:
        case bool():
            return "BOOLEAN"
        case int():
            return "BIGINT"
        case float():
            return "DOUBLE"
    return "VARCHAR"


def _stored(value: object, kind: str) -> object:
    """The value converted for a column of this type."""
    if value is None or kind != "VARCHAR":
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _common_type(kinds: set[str]) -> str:
    return "DOUBLE" if kinds <= {"BIGINT", "DOUBLE"} else "VARCHAR"


def _compiled(constraint: Constraint, kinds: Mapping[str, str]) -> str:
    try:
        return compile_where(constraint.text, kinds)
    except BenchError as error:
        raise BenchError(
            f"constraint {constraint.number} of the plan: {error.what}",
            why=error.why,
            where=error.where or constraint.text,
            hint=error.hint,
        ) from error


def _explained(constraint: Constraint, row: Words, outcome: bool | None) -> str:
    named = dict.fromkeys(word for word in re.findall(r"[A-Za-z_]\w*", constraint.text))
    values = ", ".join(
        f"{name} {redact(name, str(row[name]))}" for name in named if row.get(name) is not None
    )
    missing = [name for name in named if name in row and row[name] is None]
    unknown = f"; unknown: {', '.join(missing)}" if outcome is None and missing else ""
    return f"{constraint.text} is false ({values}{unknown})"
