"""After sources were read: what users state is stored, and documents are audited once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .facts import facts_of

if TYPE_CHECKING:
    from ..schema.warehouse import Warehouse


def check(warehouse: Warehouse, root: Path, *, audited: bool = True) -> None:
    """Store facts, and unless `audited` is False findings, in a warehouse in memory."""
    from ..audit.store import audit_documents, store_audit
    from ..schema.user_facts import store_facts

    facts = facts_of(warehouse, root)
    store_facts(warehouse, facts)
    found = audit_documents(warehouse, root, facts) if audited else None
    if found is not None:
        store_audit(warehouse, found)


def check_file(db: Path, lock_timeout: float) -> int:
    """The same for a warehouse file, which is locked only while rows are stored.

    Returns how many open errors were found in the documents that were audited now.
    """
    from ..audit.store import audit_documents, open_audits, store_audit
    from ..schema.user_facts import is_stored, store_facts
    from ..schema.warehouse import open_read, open_write

    if not db.exists():
        return 0
    root = db.absolute().parent
    with open_read(db, lock_timeout) as warehouse:
        facts = facts_of(warehouse, root)
        current = is_stored(warehouse, facts)
        if current and not open_audits(warehouse, facts):
            return 0
    if not current:
        with open_write(db, lock_timeout) as warehouse:
            store_facts(warehouse, facts)
    with open_read(db, lock_timeout) as warehouse:
        found = audit_documents(warehouse, root, facts)
    if found is None:
        return 0
    with open_write(db, lock_timeout) as warehouse:
        store_audit(warehouse, found)
    return sum(one.severity == "error" and not one.closed for one in found.findings)
