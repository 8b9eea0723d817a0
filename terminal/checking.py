"""After sources were read: what users state is stored, and documents are audited once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .facts import facts_of
from .messages import warn
from .paths import path_facts

_SHOWN = 10

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..schema.user_facts import UserFact
    from ..schema.warehouse import Warehouse
    from .telling import Told


@dataclass(frozen=True, slots=True)
class Checked:
    """Open errors in the documents audited now, and what sources state otherwise than was told."""

    errors: int = 0
    contradictions: tuple[str, ...] = ()


def check(warehouse: Warehouse, root: Path, *, audited: bool = True) -> None:
    """Store facts, and unless `audited` is False findings, in a warehouse in memory.

    Warns of what users tell and a source states otherwise.
    """
    from ..audit.store import audit_documents, store_audit
    from ..schema.bundles import find_links, store_links
    from ..schema.redone import find_redone, store_redone
    from ..schema.user_facts import contradictions, store_facts

    store_links(warehouse, find_links(warehouse))
    store_redone(warehouse, find_redone(warehouse))
    facts = _every(warehouse, root)
    if store_facts(warehouse, facts):
        warn_of(contradictions(warehouse))
    facts = _of_documents(warehouse, facts)
    found = audit_documents(warehouse, root, facts) if audited else None
    if found is not None:
        store_audit(warehouse, found)


def check_file(
    db: Path, lock_timeout: float, uris: Sequence[str] = (), told: Told | None = None
) -> Checked:
    """The same for a warehouse file, which is locked only while rows are stored.

    What is `told` of the sources at `uris` is stored first. Contradictions are those of these
    sources, to be warned of by the caller.
    """
    from ..audit.store import audit_documents, open_audits, store_audit
    from ..schema.bundles import are_stored, find_links, store_links
    from ..schema.redone import find_redone, redone_is_stored, store_redone
    from ..schema.telling import tell, untold
    from ..schema.user_facts import is_stored, store_facts
    from ..schema.warehouse import open_read, open_write

    if not db.exists():
        return Checked()
    root = db.absolute().parent
    with open_read(db, lock_timeout) as warehouse:
        links = find_links(warehouse)
        redone = find_redone(warehouse)
        new = not (are_stored(warehouse, links) and redone_is_stored(warehouse, redone))
        new = new or bool(told and untold(warehouse, uris, told))
        every = _every(warehouse, root)
        current = not new and is_stored(warehouse, every)
        facts = _of_documents(warehouse, every)
        if current and not open_audits(warehouse, facts):
            return Checked(0, _contradictions(warehouse, uris))
    if not current:
        with open_write(db, lock_timeout) as warehouse:
            store_links(warehouse, links)
            store_redone(warehouse, redone)
            tell(warehouse, uris, told or {})
            every = _every(warehouse, root)
            store_facts(warehouse, every)
            facts = _of_documents(warehouse, every)
    with open_read(db, lock_timeout) as warehouse:
        found = audit_documents(warehouse, root, facts)
        against = _contradictions(warehouse, uris)
    if found is None:
        return Checked(0, against)
    with open_write(db, lock_timeout) as warehouse:
        store_audit(warehouse, found)
    errors = sum(one.severity == "error" and not one.closed for one in found.findings)
    return Checked(errors, against)


def warn_of(found: Sequence[str]) -> None:
    """Warn of contradictions, the first of many."""
    for text in found[:_SHOWN]:
        warn(text)
    if len(found) > _SHOWN:
        query = "FROM beside WHERE outcome = 'contradicts'"
        warn(f'{len(found) - _SHOWN} more contradictions: bench sql "{query}"')


def _contradictions(warehouse: Warehouse, uris: Sequence[str]) -> tuple[str, ...]:
    """What users and companions state of these sources and the sources state otherwise."""
    from ..schema.bundles import unlinked
    from ..schema.user_facts import contradictions

    return (*unlinked(warehouse, uris), *contradictions(warehouse, uris))


def _every(warehouse: Warehouse, root: Path) -> tuple[UserFact, ...]:
    """All that users state, the strongest first."""
    from ..schema.bundles import bundle_facts
    from ..schema.telling import told_facts

    return (
        *facts_of(warehouse, root),
        *told_facts(warehouse),
        *bundle_facts(warehouse),
        *path_facts(warehouse, root),
    )


def _of_documents(warehouse: Warehouse, facts: Sequence[UserFact]) -> tuple[UserFact, ...]:
    """The facts that an audit of documents may hang on: what is told of a log changes none."""
    from ..schema.user_facts import BUNDLE, PATH

    if not facts:
        return ()
    query = "SELECT source_id FROM sources WHERE kind = 'log'"
    logs = {source for (source,) in warehouse.rows(query)}
    return tuple(
        fact
        for fact in facts
        if fact.origin not in (BUNDLE, PATH) and fact.match.source not in logs
    )
