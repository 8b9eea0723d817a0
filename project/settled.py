"""A warehouse to read, with all that follows from its sources.

Loads are committed before they are linked, annotated and audited, which would hold the lock for
long. Who reads in between, or after an ingest was killed, gets a copy in which this is done; the
next ingest does it in the warehouse itself.
"""

from __future__ import annotations

from pathlib import Path

from ..audit.store import open_audits
from ..schema.moment import open_commit
from ..schema.opening import LOCK_TIMEOUT_S, open_read
from ..schema.place import home_of
from ..schema.warehouse import Warehouse
from .after_ingest import after_ingest, is_settled


def open_settled(
    db: Path, lock_timeout: float = LOCK_TIMEOUT_S, *, confined: bool = True
) -> Warehouse:
    """The warehouse at `db` as by `open_read`, or a temporary copy if an ingest has not finished.

    Raises as `open_read`, and BenchError without space for the copy.
    """
    warehouse = open_read(db, lock_timeout, confined=confined)
    try:
        root = home_of(db)
        if is_settled(warehouse, root):
            return warehouse
        from ..schema.copies import changed_copy  # rarely needed

        return changed_copy(warehouse, lambda copy: _settle(copy, root))
    except BaseException:
        warehouse.close()
        raise


def open_settled_commit(db: Path, number: int) -> Warehouse:
    """The shared warehouse at `db` as readers saw it after commit `number`; raises BenchError."""
    return open_commit(db, number, _settle_audits)


def _settle_audits(warehouse: Warehouse, root: Path) -> None:
    # Annotations may have changed since: only a missing audit tells of an unfinished ingest.
    if open_audits(warehouse, (), again=False):
        _settle(warehouse, root)


def _settle(warehouse: Warehouse, root: Path) -> None:
    after_ingest(warehouse, root, (), again=False)
