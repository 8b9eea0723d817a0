"""Audit errors of a site's runs; logs without errors are audited again only after they change.

Findings of logs are not stored in the warehouse. The site stores keys of logs without errors, and
no text of sources, which `--scrub` would have to process.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..audit.rule import rules_version
from ..audit.store import open_errors
from ..decide.eligible import doubts_of
from ..schema.warehouse import Row, Warehouse
from .code_digest import code_digest
from .text import digest

_ASIDE = ("derivations",)  # follow from the row


@dataclass(frozen=True, slots=True)
class Doubts:
    """Errors by run, digests of rows by run, and the keys of logs without an error."""

    doubted: Mapping[str, str]
    rows: Mapping[str, str]
    clean: frozenset[str]


def doubts_of_site(
    warehouse: Warehouse,
    rows: Sequence[Row],
    sources: Mapping[str, Mapping[str, Any]],
    clean: Collection[str],
) -> Doubts:
    """Audit sources without stored findings, except logs with a key in `clean`."""
    row_digests = {row["run"]: _digest(row) for row in rows}
    keys = _keys(warehouse, rows, sources, row_digests)
    known = {uri for uri, key in keys.items() if key in clean}
    errors = open_errors(warehouse, sorted({row["uri"] for row in rows}), known)
    wrong = {cell.uri for error in errors for cell in error.cells}
    return Doubts(
        doubts_of(errors),
        row_digests,
        frozenset(key for uri, key in keys.items() if uri not in wrong),
    )


def _digest(row: Row) -> str:
    # A column that a newer version adds is of the rows that have a value in it.
    own = {name: value for name, value in row.items() if name not in _ASIDE and value is not None}
    return digest(repr(own))[:16]


def _keys(
    warehouse: Warehouse,
    rows: Sequence[Row],
    sources: Mapping[str, Mapping[str, Any]],
    row_digests: Mapping[str, str],
) -> dict[str, str]:
    """Keys of the inputs of each log's audit: its text and generation, its rows, the rules."""
    if warehouse.rows("FROM merges LIMIT 1"):  # merged logs are compared with each other
        return {}
    of: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        of[row["uri"]].append(row_digests[row["run"]])
    by = f"{code_digest()}\0{rules_version()}"
    return {
        uri: digest(f"{by}\0{source['sha256']}\0{source['generation']}\0{of[uri]}")[:16]
        for uri, source in sources.items()
        if source["kind"] == "log" and uri in of
    }
