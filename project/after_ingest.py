"""What follows every ingest: sidecar files are linked, superseded steps and annotations stored,
documents audited.

Each step reads what the one before has stored: sidecar files annotate the runs that they are
linked to, statistics leave superseded steps out, and the audit reads both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .facts import facts_of, path_facts

if TYPE_CHECKING:
    from ..schema.overrides import Overrides
    from ..schema.warehouse import Warehouse

Opener = Callable[[], AbstractContextManager["Warehouse"]]


@dataclass(frozen=True, slots=True)
class Checked:
    """What a user has to hear of after an ingest, of the sources that were read."""

    errors: int = 0  # open errors in the documents that were audited now
    contradictions: tuple[str, ...] = ()  # annotations that do not count, a sentence each
    unused: tuple[str, ...] = ()  # sidecar files of no run, a sentence each


def after_ingest(
    warehouse: Warehouse,
    root: Path,
    uris: Sequence[str],
    overrides: Overrides | None = None,
    *,
    audited: bool = True,
) -> Checked:
    """Bring all that is derived from the sources of a warehouse in memory up to date.

    `root` is where the paths of sources begin; `overrides` is what `--set` says of those at `uris`.
    Callers that audit by themselves pass `audited=False`. Raises BenchError for a wrong bench.toml
    or facts.toml.
    """

    def opened() -> AbstractContextManager[Warehouse]:
        return nullcontext(warehouse)

    return _after_ingest(opened, opened, root, uris, overrides or {}, audited=audited)


def after_ingest_into(
    db: Path, lock_timeout: float, uris: Sequence[str] = (), overrides: Overrides | None = None
) -> Checked:
    """The same for a warehouse file, if it exists.

    The file is locked for writing only while rows are stored: looking for links and auditing take
    seconds, in which others may read. Raises Locked after `lock_timeout` seconds, too.
    """
    from ..schema.warehouse import open_read, open_write

    if not db.exists():
        return Checked()
    reading, writing = partial(open_read, db, lock_timeout), partial(open_write, db, lock_timeout)
    checked = _after_ingest(reading, writing, db.absolute().parent, uris, overrides or {})
    _store_views(reading, writing)
    return checked


def _store_views(reading: Opener, writing: Opener) -> None:
    """Keep what pages read in the file, unless it is there already or the file is locked."""
    from ..schema.errors import Locked
    from ..schema.materialized import views_are_stored
    from ..schema.stored import store_views

    with suppress(Locked):  # without them pages take longer, no more
        with reading() as warehouse:
            stored = views_are_stored(warehouse)
        if not stored:
            with writing() as warehouse:
                store_views(warehouse)


def _after_ingest(
    reading: Opener,
    writing: Opener,
    root: Path,
    uris: Sequence[str],
    overrides: Overrides,
    *,
    audited: bool = True,
) -> Checked:
    from ..audit.store import audit_documents, open_audits, store_audit
    from ..schema.annotations import is_stored, rank_annotations, store_annotations
    from ..schema.overrides import document_overrides, missing_overrides, store_overrides
    from ..schema.sidecars import are_stored, find_links, store_links
    from ..schema.superseded import find_superseded, store_superseded, superseded_is_stored

    with reading() as warehouse:
        facts = facts_of(warehouse, root)
        given = (*facts, *path_facts(warehouse, root))
        links, superseded = find_links(warehouse), find_superseded(warehouse)
        stale = (
            not (are_stored(warehouse, links) and superseded_is_stored(warehouse, superseded))
            or bool(missing_overrides(warehouse, uris, overrides))
            or not is_stored(warehouse, rank_annotations(warehouse, given))
        )
        of_documents = (*facts, *document_overrides(warehouse))
        if not (stale or (audited and open_audits(warehouse, of_documents))):
            return _checked(warehouse, uris)
    if stale:
        with writing() as warehouse:
            store_links(warehouse, links)
            store_superseded(warehouse, superseded)
            store_overrides(warehouse, uris, overrides)
            # Ranked anew: what sidecar files state depends on the links that were just stored.
            store_annotations(warehouse, rank_annotations(warehouse, given))
            of_documents = (*facts, *document_overrides(warehouse))
    with reading() as warehouse:
        found = audit_documents(warehouse, root, of_documents) if audited else None
        checked = _checked(warehouse, uris)
    if found is None:
        return checked
    with writing() as warehouse:
        store_audit(warehouse, found)
    errors = sum(one.severity == "error" and not one.closed for one in found.findings)
    return Checked(errors, checked.contradictions, checked.unused)


def _checked(warehouse: Warehouse, uris: Sequence[str]) -> Checked:
    from ..schema.annotations import contradictions
    from ..schema.sidecars import unlinked

    return Checked(0, tuple(contradictions(warehouse, uris)), tuple(unlinked(warehouse, uris)))
