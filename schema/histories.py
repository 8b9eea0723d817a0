"""Histories of documents in the warehouse: their present state, and appended commits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from .arrow import to_arrow
from .errors import BenchError
from .migrate import now_utc
from .rows import Rows
from .warehouse import Warehouse, transaction

TABLES = ("histories", "commits", "revisions", "row_changes")


@dataclass(frozen=True, slots=True)
class History:
    """One reading of a branch, and its progress; `number` -1: no commit is stored yet."""

    history_id: str
    repository: str
    branch: str
    path: str
    since: datetime | None
    authors: bool
    reading_version: int
    number: int = -1
    commit_id: str | None = None


@dataclass(frozen=True, slots=True)
class NewestRevision:
    """A document in its newest revision."""

    document_id: str
    uri: str
    blob: str
    row_ids: tuple[str, ...]
    lines: tuple[int, ...]


def newest(warehouse: Warehouse, repository: str, branch: str, path: str) -> History | None:
    """The newest reading of a branch, or None."""
    query = """SELECT h.* EXCLUDE (begun_at), coalesce(c.number, -1), c.commit_id
        FROM raw.histories h LEFT JOIN raw.commits c USING (history_id)
        WHERE h.repository = ? AND h.branch = ? AND h.path = ?
        ORDER BY h.begun_at DESC, h.history_id, c.number DESC LIMIT 1"""
    rows = warehouse.rows(query, [repository, branch, path])
    return History(*rows[0]) if rows else None


def tips(
    warehouse: Warehouse, history_id: str, until: int | None = None
) -> dict[str, NewestRevision]:
    """The documents that exist after commit number `until`, by uri; by default after the last."""
    query = """SELECT document_id, uri, blob, row_ids, lines FROM raw.revisions
        WHERE history_id = ? AND number <= coalesce(?, number)
        QUALIFY row_number() OVER (PARTITION BY document_id ORDER BY number DESC) = 1
            AND kind <> 'removed'
        ORDER BY uri"""
    rows = warehouse.rows(query, [history_id, until])
    return {uri: NewestRevision(document, uri, blob, tuple(ids), tuple(lines))
            for document, uri, blob, ids, lines in rows}  # fmt: skip


def gone(
    warehouse: Warehouse, history_id: str, documents: Sequence[str]
) -> Mapping[str, list[dict[str, Any]]]:
    """The rows that were removed from documents and not returned, by document, the oldest first."""
    query = """SELECT * FROM raw.row_changes
        WHERE history_id = ? AND list_contains(?::VARCHAR[], document_id)
        QUALIFY row_number() OVER (PARTITION BY row_id ORDER BY number DESC) = 1
            AND kind = 'removed'
        ORDER BY document_id, number, row_id"""
    found: dict[str, list[dict[str, Any]]] = {document: [] for document in documents}
    for row in warehouse.dicts(query, [history_id, list(documents)]):
        found[row["document_id"]].append(row)
    return found


def append(warehouse: Warehouse, history: History, rows: Rows) -> None:
    """Store the next commits of a history, all or none, as known from now on.

    Raises BenchError where another process has stored commits of it meanwhile.
    """
    with transaction(warehouse, aside=True):
        query = "SELECT coalesce(max(number), -1) FROM raw.commits WHERE history_id = ?"
        [(number,)] = warehouse.rows(query, [history.history_id])
        if number != history.number:
            raise BenchError(
                "another process reads in this history", hint="try again when it has ended"
            )
        at = now_utc()
        for row in rows.by_table["commits"]:
            row["read_at"] = at
        if number < 0:
            names = ("repository", "branch", "path", "since", "authors", "reading_version")
            rows.add("histories", begun_at=at, history_id=history.history_id,
                     **{name: getattr(history, name) for name in names})  # fmt: skip
        for name, table in to_arrow(rows).items():
            if name in TABLES:
                _insert(warehouse, name, table)


def _insert(warehouse: Warehouse, name: str, table: pa.Table) -> None:
    warehouse.con.register("incoming", table)
    try:
        warehouse.con.execute(f"INSERT INTO raw.{name} BY NAME SELECT * FROM incoming")
    finally:
        warehouse.con.unregister("incoming")
