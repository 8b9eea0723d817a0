"""Hide sources and runs, and show them again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..schema.errors import BenchError
from ..schema.store import hide
from ..schema.warehouse import Warehouse, open_write
from .selection import source_named
from .show import find_run


def forget(
    db: Path, names: Sequence[str], *, undo: bool, lock_timeout: float
) -> list[tuple[str, str]]:
    """Hide (or show again) each name; all of them or, when one is unknown, none."""
    if not db.exists():
        raise BenchError(f"no warehouse at {db}", hint="bench ingest PATH... makes one")
    with open_write(db, lock_timeout) as warehouse:
        found = [_hidden(warehouse, name) if undo else _shown(warehouse, name) for name in names]
        for scope in ("uri", "run"):
            hide(
                warehouse,
                scope,
                [identifier for kind, identifier in found if kind == scope],
                hidden=not undo,
            )
    return found


def _shown(warehouse: Warehouse, name: str) -> tuple[str, str]:
    try:
        return "uri", source_named(warehouse, name)
    except BenchError as no_source:
        try:
            return "run", find_run(warehouse, name)
        except BenchError:
            raise no_source from None


def _hidden(warehouse: Warehouse, name: str) -> tuple[str, str]:
    query = """SELECT scope, id FROM raw.hidden
               WHERE id = $name OR ends_with(id, '/' || $name)
                   OR (scope = 'run' AND starts_with(id, $name))
               QUALIFY row_number() OVER (PARTITION BY scope, id ORDER BY hidden_at DESC) = 1
                   AND hidden"""
    found = warehouse.rows(query, {"name": name.removeprefix("./")})
    if len(found) != 1:
        known = [
            identifier
            for _, identifier in warehouse.rows(
                "SELECT DISTINCT scope, id FROM raw.hidden ORDER BY id"
            )
        ]
        raise BenchError(
            f"nothing hidden is called {name!r}",
            why=f"hidden: {', '.join(known) or 'nothing'}",
            hint="name it as it was hidden",
        )
    scope, identifier = found[0]
    return str(scope), str(identifier)
