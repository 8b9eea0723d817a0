"""A warehouse to read, with all that follows from its sources: of paths, in memory, or a file.

Loads are committed before they are linked, annotated and audited, which would hold the lock for
long. Who reads in between, or after an ingest was killed, gets a copy in which this is done; the
next ingest does it in the warehouse itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..audit.store import open_audits
from ..schema.as_of import open_commit
from ..schema.errors import BenchError, NothingRecognised
from ..schema.location import home_of
from ..schema.opening import LOCK_TIMEOUT_S, open_read
from ..schema.warehouse import Warehouse
from ..vocabulary.format import counted
from .after_ingest import after_ingest, is_settled

if TYPE_CHECKING:
    from ..ingest.files.summary import Summary
    from ..schema.annotation import Annotation
    from ..schema.warehouse import Warehouse
    from .after_ingest import Checked


def read(
    paths: Sequence[Path],
    root: Path,
    formats: Path | None = None,
    overrides: Mapping[str, str | None] | None = None,
    *,
    audited: bool = True,
    processes: int = 1,
    unreadable: Callable[[str, str], None] | None = None,
    given: Sequence[Annotation] | None = None,
) -> tuple[Warehouse, Summary, Checked]:
    """Read logs, tables and records, named relative to `root`; `formats` is a user's folder.

    `overrides` are the values of `--set`; `given` replaces the annotations in the project's files.
    `unreadable` is called with name and reason of each unreadable file; without it the first one
    raises BenchError. Raises NothingRecognised if there is no log or table.
    """
    from ..ingest.files.pipeline import ingest_into
    from ..schema.opening import in_memory
    from .after_ingest import after_ingest

    warehouse = in_memory()
    try:
        summary = ingest_into(warehouse, paths, root, formats, processes)
        for uri, reason in summary.failed:
            (unreadable or _refuse)(uri, reason)
        if not summary.new:
            raise nothing_recognised(len(summary.skipped))
        checked = after_ingest(warehouse, root, summary.uris, overrides, audited=audited,
                               given=given)  # fmt: skip
    except BaseException:
        warehouse.close()
        raise
    return warehouse, summary, checked


def _refuse(uri: str, reason: str) -> None:
    raise BenchError(f"cannot read {uri}", why=reason, hint="check the file")


def nothing_recognised(skipped: int) -> NothingRecognised:
    """The error for paths without a log or benchmark table."""
    files = f"{counted(skipped, 'file')}: " if skipped else "nothing under the path: "
    return NothingRecognised(
        "no log or benchmark table found",
        why=f"{files}no training log and no benchmark table",
        hint="a table needs two known headings, one of them topology or batch, or MFU and "
        "another rate; for logs see bench doctor LOG",
    )


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
