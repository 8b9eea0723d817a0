"""What the audit says against the runs of a site; a log in which it found nothing is not audited
again before it changes.

Of logs no findings are stored. Kept with the site are keys of those without any: no text of a
source, which `--scrub` would have to look through.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..audit.rule import rules_version
from ..audit.store import open_errors
from ..decide.eligible import doubts_of
from ..decide.rows import Row
from ..schema.warehouse import Warehouse
from .made_by import code_digest
from .text import digest

_ASIDE = ("derivations",)  # how a value is made follows from the row


@dataclass(frozen=True, slots=True)
class Doubts:
    """Errors by run, what each row says by run, and the keys of logs without an error."""

    doubted: Mapping[str, str]
    rows: Mapping[str, str]
    clean: frozenset[str]


def doubts_of_site(
    warehouse: Warehouse,
    rows: Sequence[Row],
    sources: Mapping[str, Mapping[str, Any]],
    clean: Collection[str],
) -> Doubts:
    """Audit what is not stored, but the logs whose keys the last build kept as `clean`."""
    said = {row["run"]: _digest(row) for row in rows}
    keys = _keys(warehouse, rows, sources, said)
    known = {uri for uri, key in keys.items() if key in clean}
    errors = open_errors(warehouse, sorted({row["uri"] for row in rows}), known)
    wrong = {cell.uri for one in errors for cell in one.cells}
    return Doubts(
        doubts_of(errors), said, frozenset(key for uri, key in keys.items() if uri not in wrong)
    )


def _digest(row: Row) -> str:
    return digest(repr({name: value for name, value in row.items() if name not in _ASIDE}))[:16]


def _keys(
    warehouse: Warehouse,
    rows: Sequence[Row],
    sources: Mapping[str, Mapping[str, Any]],
    said: Mapping[str, str],
) -> dict[str, str]:
    """What the audit of each log hangs on: its text, how it was read, its rows, the rules."""
    if warehouse.rows("FROM merges LIMIT 1"):  # logs of groups are checked against each other
        return {}
    of: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        of[row["uri"]].append(said[row["run"]])
    by = f"{code_digest()}\0{rules_version()}"
    return {
        uri: digest(f"{by}\0{source['sha256']}\0{source['generation']}\0{of[uri]}")[:16]
        for uri, source in sources.items()
        if source["kind"] == "log" and uri in of
    }
