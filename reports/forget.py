"""Hiding of sources and runs, and showing them again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from ..decide.lookup import find_run, source_named
from ..schema.commits import repeated
from ..schema.copies import compact, purge
from ..schema.errors import BenchError
from ..schema.materialized import views_are_stored
from ..schema.opening import open_write, require_warehouse
from ..schema.store import hide
from ..schema.stored_views import store_views
from ..schema.superseded_steps import find_superseded, store_superseded
from ..schema.warehouse import Warehouse
from ..vocabulary.package_cache import ANSWER, discard

_SHORTEST_ID = 6  # of a run that is hidden by a prefix of its id
_HIDDEN = """SELECT scope, id FROM raw.hidden
             QUALIFY row_number() OVER (PARTITION BY scope, id ORDER BY hidden_at DESC) = 1
                 AND hidden
             ORDER BY id"""
_SHOW_ALL = f"""INSERT INTO raw.hidden
                SELECT scope, id, false, TIMESTAMP '9999-01-01' FROM ({_HIDDEN})"""


@repeated
def forget(
    db: Path, names: Sequence[str], *, undo: bool, lock_timeout: float
) -> list[tuple[str, str]]:
    """Hide (or show again) each name; all of them, or none if one is unknown."""
    require_warehouse(db)
    with open_write(db, lock_timeout) as warehouse:
        complete = views_are_stored(warehouse)
        found = _hidden(warehouse, names) if undo else [_target(warehouse, name) for name in names]
        for scope in ("uri", "run"):
            named = [identifier for kind, identifier in found if kind == scope]
            hide(warehouse, scope, named, hidden=not undo)
        store_superseded(warehouse, find_superseded(warehouse))
        if complete:
            store_views(warehouse)
    return found


def purge_sources(db: Path, names: Sequence[str], *, lock_timeout: float) -> list[str]:
    """Delete sources with every byte of them, and all kept answers; returns their uris.

    None is deleted if one is unknown.
    """
    uris: list[str] = []
    complete = False

    @repeated
    def purged() -> None:
        nonlocal complete
        with open_write(db, lock_timeout, confined=False) as warehouse:
            complete |= views_are_stored(warehouse)
            if not uris:  # else others have written after the purge: the rest is skipped
                with _all_shown(warehouse):  # hidden rows have bytes in the file too
                    found = {source_named(warehouse, name, whole=True) for name in names}
                purge(warehouse, sorted(found))
                uris.extend(sorted(found))
            store_superseded(warehouse, find_superseded(warehouse))
            if warehouse.replica:
                warehouse.replica.place.collect(timedelta(0))
            compact(warehouse)

    purged()
    if complete:
        with open_write(db, lock_timeout) as warehouse:
            store_views(warehouse)
    with suppress(OSError, RuntimeError):  # no cache
        discard(ANSWER)
    return uris


def _target(warehouse: Warehouse, name: str) -> tuple[str, str]:
    try:
        return "uri", source_named(warehouse, name, whole=True)
    except BenchError as no_source:
        if ":" not in name and len(name) < _SHORTEST_ID:
            raise
        try:
            return "run", find_run(warehouse, name)
        except BenchError:
            raise no_source from None


def _hidden(warehouse: Warehouse, names: Sequence[str]) -> list[tuple[str, str]]:
    """The identifiers of the names among all rows, which must be hidden."""
    hidden = set(warehouse.rows(_HIDDEN))
    with _all_shown(warehouse):
        found = [_target(warehouse, name) for name in names]
    for name, item in zip(names, found, strict=True):
        if item not in hidden:
            known = ", ".join(identifier for _, identifier in sorted(hidden)) or "nothing"
            raise BenchError(f"{name!r} is not hidden", why=f"hidden: {known}")
    return found


@contextmanager
def _all_shown(warehouse: Warehouse) -> Iterator[None]:
    """Treat nothing as hidden; nothing of it is stored."""
    warehouse.con.execute("BEGIN")
    try:
        warehouse.con.execute(_SHOW_ALL)
        yield
    finally:
        warehouse.con.execute("ROLLBACK")
