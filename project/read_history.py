"""`bench ingest --history`: ingest the git revisions of documents.

Commits are stored in order, some hundred per transaction. Reading resumes after the last stored
commit, both after a kill and for new commits.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from ..ingest.files.folders import uri_of
from ..ingest.version import parser_version
from ..schema.histories import History, newest
from ..schema.migrate import now_utc
from ..schema.opening import LOCK_TIMEOUT_S, open_read, require_folder
from ..schema.rows import content_id
from .history_reading import HistoryReading, HistorySummary, Progress
from .revisions import Repository, branch_of, is_ancestor, listing, repository_of

VERSION = 2  # of the comparison of rows; the reading code has its own version


def read_history(
    path: Path,
    db: Path,
    *,
    branch: str | None = None,
    since: datetime | None = None,
    authors: bool = False,
    lock_timeout: float = LOCK_TIMEOUT_S,
    processes: int = 1,
    progress: Progress | None = None,
) -> HistorySummary:
    """Read the git history of the documents at `path` into the warehouse file `db`.

    Only new commits are read, unless the branch was rewritten, the reading code has changed, or
    the options cover more: then all are read, as a new history that replaces the earlier one.
    Raises BenchError, Locked; stored batches stay.
    """
    repository = repository_of(path)
    name, tip = branch_of(repository, branch)
    label = uri_of(repository.folder / "_", db.absolute().parent)[:-1]
    require_folder(db)
    known = _stored_reading(db, lock_timeout, label, name, repository.path)
    wanted = History(
        "", label, name, repository.path, since, authors, parser_version(None) * 100 + VERSION
    )
    restart_reason = _restart_reason(repository, tip, known, wanted)
    summary = HistorySummary(name, restart_reason=restart_reason if known else "")
    if known is None or restart_reason:
        history, found = _new_history(wanted, tip), listing(repository, tip, None, since)
    else:
        history, found = known, listing(repository, tip, known.commit_id)
    summary.skipped, summary.shallow = found.skipped, found.shallow
    HistoryReading(db, lock_timeout, repository, history, summary, progress).read(found, processes)
    return summary


def _stored_reading(db: Path, lock_timeout: float, *names: str) -> History | None:
    """The stored reading of a repository, branch and path, if any."""
    if not db.exists():
        return None
    with open_read(db, lock_timeout) as warehouse:
        return newest(warehouse, *names)


def _new_history(wanted: History, tip: str) -> History:
    """A new history with a unique id."""
    parts = wanted.repository, wanted.branch, wanted.path, tip, now_utc()
    return replace(wanted, history_id=content_id("history", *parts))


def _restart_reason(
    repository: Repository, tip: str, known: History | None, wanted: History
) -> str:
    """Why an earlier reading cannot be resumed; '' if it can."""
    if known is None or known.commit_id is None:
        return "nothing is stored"
    if known.reading_version != wanted.reading_version:
        return "this version reads documents in another way"
    if known.since and (wanted.since is None or wanted.since < known.since):
        return f"the one before begins on {known.since:%Y-%m-%d}"
    if wanted.authors and not known.authors:
        return "the one before has no names of authors"
    if not is_ancestor(repository, tip, known.commit_id):
        return f"the branch was rewritten: it does not contain {known.commit_id[:12]} any more"
    return ""
