"""Logs in pieces, and what a warehouse shows of them, for tests to compare."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.ingest.files.pipeline import ingest
from bench.ingest.files.summary import Summary
from bench.schema.opening import open_read
from tests.making import everything

# Of every load, or with its id: how often a file was looked at is not what it says.
VERSIONS = (
    "loads", "current_loads", "current_uris", "sources", "warnings", "judged_runs", "job_endings",
)  # fmt: skip


# The last digits of a mean hang on the order in which it was summed.
_SUMMED = re.compile(r"\d\.\d{12,}")


def _digits(found: re.Match[str]) -> str:
    return found[0][:12]


def shown(db: Path) -> dict[str, list[str]]:
    """All rows that a warehouse shows, without the ids and numbers of loads."""
    if not db.exists():
        return {}
    found = {
        view: sorted(_SUMMED.sub(_digits, row) for row in rows)
        for view, rows in everything(db).items()
        if view not in VERSIONS
    }
    with open_read(db) as warehouse:
        sources = "SELECT * EXCLUDE (generation, load_id) FROM sources ORDER BY uri"
        # Numbers too large for a column are counted piece by piece.
        warnings = "FROM warnings WHERE code <> 'does_not_fit' ORDER BY ALL"
        found["sources"] = [repr(row) for row in warehouse.rows(sources)]
        found["warnings"] = [repr(row) for row in warehouse.rows(warnings)]
    return found


def whole(content: bytes, name: str, folder: Path) -> dict[str, list[str]]:
    """What one ingest of all of it shows."""
    (folder / name).write_bytes(content)
    ingest([folder / name], folder / "bench.duckdb")
    return shown(folder / "bench.duckdb")


def piece_by_piece(
    content: bytes, cuts: Iterable[int], name: str, folder: Path, *, live: bool = False
) -> list[Summary]:
    """Ingest a log each time that it has grown, and once more when it is whole."""
    file, db, done = folder / name, folder / "bench.duckdb", []
    for cut in sorted(cuts):
        file.write_bytes(content[:cut])
        done.append(ingest([file], db, live=live))
    file.write_bytes(content)
    return [*done, ingest([file], db)]


def rows(db: Path, query: str) -> list[tuple[Any, ...]]:  # Any: whatever the query gives
    with open_read(db) as warehouse:
        return warehouse.rows(query)


def steps(db: Path) -> list[int]:
    with open_read(db) as warehouse:
        return [
            number for (number,) in warehouse.rows("SELECT iteration FROM iterations ORDER BY 1")
        ]
