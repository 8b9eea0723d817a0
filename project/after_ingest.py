"""Post-processing of an ingest: link sidecar files, store superseded steps and annotations, audit
documents.

Each step reads the results of the one before: sidecar files annotate their linked runs,
statistics leave superseded steps out, and the audit reads both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..schema.commits import Retry, repeated
from ..schema.errors import BenchError, Locked
from ..schema.location import home_of, is_there
from .facts import facts_of, of_no_source, path_facts

if TYPE_CHECKING:
    from ..audit.store import Audited
    from ..schema.annotation import Annotation
    from ..schema.annotations import Overrides, Ranked
    from ..schema.sidecar_links import Link
    from ..schema.superseded_steps import Superseded
    from ..schema.warehouse import Warehouse

Opener = Callable[[], AbstractContextManager["Warehouse"]]
# Documents with fewer cells are audited within a second, so the file stays locked: reopening it
# twice would take as long.
BRIEF = 10_000


@dataclass(frozen=True, slots=True)
class Checked:
    """Problems to report after an ingest of the sources that were read."""

    errors: int = 0  # open errors in the documents just audited
    contradictions: tuple[str, ...] = ()  # ignored annotations, one sentence each
    unused: tuple[str, ...] = ()  # sidecar files without a run, facts without a source: sentences


@dataclass(frozen=True, slots=True)
class _Sources:
    """Sources that were read: their root, uris, values of `--set`, and annotations `given` in
    place of the project's files."""

    root: Path
    uris: Sequence[str]
    overrides: Overrides
    given: Sequence[Annotation] | None = None
    again: bool = True  # audit documents that other rules, or with other facts, have audited


@dataclass(frozen=True, slots=True)
class _Derived:
    """Data derived from sources before the audit, and whether it differs from the stored data.

    Annotations are `ranked` if everything that they depend on is stored already.
    """

    facts: Sequence[Annotation]
    given: Sequence[Annotation]
    links: Sequence[Link]
    superseded: list[Superseded]
    ranked: Ranked | None
    stale: bool


@dataclass(frozen=True, slots=True)
class _Audit:
    """Findings of the audit, if one was due, and the problems to report."""

    found: Audited | None
    checked: Checked
    lacks_views: bool


def after_ingest(
    warehouse: Warehouse,
    root: Path,
    uris: Sequence[str],
    overrides: Overrides | None = None,
    *,
    audited: bool = True,
    given: Sequence[Annotation] | None = None,
    again: bool = True,
) -> Checked:
    """Update everything derived from the sources of a warehouse in memory, or of an open file.

    Paths of sources are relative to `root`; `overrides` are values of `--set` for those at `uris`.
    Callers that audit themselves pass `audited=False`; with `given`, facts.toml and the patterns
    of bench.toml are ignored; unless `again`, an audit by other rules counts. Raises BenchError
    for an invalid bench.toml or facts.toml.
    """

    def opened() -> AbstractContextManager[Warehouse]:
        return nullcontext(warehouse)

    sources = _Sources(root, uris, overrides or {}, given, again)
    return _after_ingest(opened, opened, sources, audited=audited)


def is_settled(warehouse: Warehouse, root: Path) -> bool:
    """Whether everything is stored that is derived from the sources of a warehouse.

    Paths of sources are relative to `root`. An audit by other rules, or with other facts, counts.
    """
    from ..audit.store import open_audits
    from ..schema.materialized import views_are_stored

    if not warehouse.replica and views_are_stored(warehouse):  # they come last
        return True
    if open_audits(warehouse, (), again=False):
        return False
    try:
        return not _derived(warehouse, _Sources(root, (), {})).stale
    except BenchError:  # facts.toml was broken since
        return True
    finally:
        warehouse.release()


@repeated
def after_ingest_into(
    db: Path, lock_timeout: float, uris: Sequence[str] = (), overrides: Overrides | None = None
) -> Checked:
    """Update a warehouse file, if it exists, including the materialized views of pages.

    The file is locked for writing only while rows are stored: linking and auditing may take
    seconds, during which others can read. Raises Locked after `lock_timeout` seconds.
    """
    from ..schema.opening import open_read, open_write

    if not is_there(db):
        return Checked()
    reading = partial(open_read, db, lock_timeout)
    writing = partial(open_write, db, lock_timeout, confined=True)  # its views may be untrusted
    return _after_ingest(reading, writing, _Sources(home_of(db), uris, overrides or {}))


def _after_ingest(
    reading: Opener, writing: Opener, sources: _Sources, *, audited: bool = True
) -> Checked:
    from ..schema.materialized import is_small
    from ..schema.stored_views import store_views

    with reading() as warehouse:
        brief = _is_brief(warehouse)
    if brief:
        try:
            return _at_once(writing, sources, audited=audited)
        except Retry:
            raise
        except Locked:  # perhaps by a long read, and there may be nothing to write
            pass
    audit: _Audit | None = None
    with reading() as warehouse:
        derived = _derived(warehouse, sources)
        audited = audited and (derived.stale or _has_open_audits(warehouse, sources, derived))
        if not (derived.stale or audited):
            audit = _audit(warehouse, sources, derived.facts, audited=False)
    if audit is None:
        with writing() as warehouse:
            if derived.stale:  # by now another process may have written
                _store_derived(warehouse, sources, replace(derived, ranked=None))
            if not is_small(warehouse):  # else the audit would compute the rows of all sources
                store_views(warehouse, results=not audited)
        with reading() as warehouse:
            audit = _audit(warehouse, sources, derived.facts, audited=audited)
    if audit.found:
        return _stored(writing, audit)
    if audit.lacks_views:
        with suppress(Locked), writing() as warehouse:  # they only make pages faster
            return _store_audit(warehouse, audit)
    return audit.checked


def _at_once(writing: Opener, sources: _Sources, *, audited: bool) -> Checked:
    """All steps under one lock, so that nobody writes between reading and storing."""
    with writing() as warehouse:
        derived = _derived(warehouse, sources)
        if derived.stale:
            _store_derived(warehouse, sources, derived)
        audit = _audit(warehouse, sources, derived.facts, audited=audited)
        return _store_audit(warehouse, audit)


@repeated
def _stored(writing: Opener, audit: _Audit) -> Checked:
    with writing() as warehouse:
        return _store_audit(warehouse, audit)


def _derived(warehouse: Warehouse, sources: _Sources) -> _Derived:
    from ..schema.annotations import is_stored, missing_overrides, rank_annotations
    from ..schema.sidecars import are_stored, find_links
    from ..schema.superseded_steps import find_superseded, superseded_is_stored

    facts: Sequence[Annotation] = ()
    given = sources.given
    if given is None:
        facts = facts_of(warehouse, sources.root)
        given = (*facts, *path_facts(warehouse, sources.root))
    links, superseded = find_links(warehouse), find_superseded(warehouse)
    settled = (
        are_stored(warehouse, links)
        and superseded_is_stored(warehouse, superseded)
        and not missing_overrides(warehouse, sources.uris, sources.overrides)
    )
    ranked = rank_annotations(warehouse, given) if settled else None
    stale = ranked is None or not is_stored(warehouse, ranked)
    return _Derived(facts, given, links, superseded, ranked, stale)


def _store_derived(warehouse: Warehouse, sources: _Sources, derived: _Derived) -> None:
    from ..schema.annotations import rank_annotations, store_annotations, store_overrides
    from ..schema.sidecars import store_links
    from ..schema.superseded_steps import store_superseded

    store_links(warehouse, derived.links)
    store_superseded(warehouse, derived.superseded)
    store_overrides(warehouse, sources.uris, sources.overrides)
    # Annotations of sidecar files depend on the links just stored.
    store_annotations(warehouse, derived.ranked or rank_annotations(warehouse, derived.given))


def _has_open_audits(warehouse: Warehouse, sources: _Sources, derived: _Derived) -> bool:
    from ..audit.store import open_audits
    from ..schema.annotations import document_overrides

    facts = (*derived.facts, *document_overrides(warehouse))
    return bool(open_audits(warehouse, facts, again=sources.again))


def _is_brief(warehouse: Warehouse) -> bool:
    """Whether there were writes since the last update, and another update takes far less time than
    commands wait for a lock."""
    from ..schema.materialized import is_small, views_are_stored

    if views_are_stored(warehouse):
        return False
    [(cells,)] = warehouse.rows("SELECT count(*) FROM raw.cells")
    return int(cells) < BRIEF and is_small(warehouse)


def _audit(
    warehouse: Warehouse, sources: _Sources, facts: Sequence[Annotation], *, audited: bool
) -> _Audit:
    from ..audit.store import audit_documents
    from ..schema.annotations import document_overrides
    from ..schema.materialized import views_are_stored

    found, own = None, facts
    if audited:
        facts = (*facts, *document_overrides(warehouse))
        found = audit_documents(warehouse, sources.root, facts, again=sources.again)
    errors = (
        sum(one.severity == "error" and not one.closed for one in found.findings) if found else 0
    )
    checked = _checked(warehouse, sources.uris, errors, own)
    return _Audit(found, checked, not views_are_stored(warehouse))


def _store_audit(warehouse: Warehouse, audit: _Audit) -> Checked:
    """Store findings, if audited, and in a file the materialized views of pages."""
    from ..audit.store import store_audit
    from ..schema.stored_views import store_views

    if audit.found:
        store_audit(warehouse, audit.found)
    if warehouse.path:
        store_views(warehouse)
    return audit.checked


def _checked(
    warehouse: Warehouse, uris: Sequence[str], errors: int, facts: Sequence[Annotation]
) -> Checked:
    from ..schema.annotations import contradictions
    from ..schema.sidecars import unlinked

    unused = (*unlinked(warehouse, uris), *(of_no_source(warehouse, facts) if uris else ()))
    return Checked(errors, tuple(contradictions(warehouse, uris)), unused)
