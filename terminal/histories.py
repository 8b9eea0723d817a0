"""`bench ingest --history`: read the git histories of paths, and print a summary."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from ..ingest.files.pipeline import cores
from ..project.history_reading import HistorySummary
from ..project.read_history import read_history
from ..schema.errors import FINE, NOTHING_RECOGNISED
from ..vocabulary.format import counted
from .messages import Progress, info, warn


def read_histories(
    paths: Sequence[Path],
    db: Path,
    branch: str | None,
    since: datetime | None,
    authors: bool,
    lock_timeout: float,
) -> int:
    """Read the history of each path; returns the exit code."""
    documents = 0
    for path in paths:
        with Progress("reading") as progress:
            summary = read_history(
                path, db, branch=branch, since=since, authors=authors, lock_timeout=lock_timeout,
                processes=cores(), progress=lambda commit: progress.advance(label=commit),
            )  # fmt: skip
        _report(summary, path)
        documents += summary.documents
    if documents:
        info("next: bench history")
    return FINE if documents else NOTHING_RECOGNISED


def _report(summary: HistorySummary, path: Path) -> None:
    if summary.restart_reason:
        info(f"{path}: read from the beginning, since {summary.restart_reason}")
    if summary.shallow:
        warn(f"{path}: the clone is shallow: earlier commits are not in it (git fetch --unshallow)")
    for reason, count in sorted(summary.skipped.items()):
        warn(f"{path}: not read: {count} x {reason}")
    kinds = ("added", "changed", "removed", "returned")
    changes = ", ".join(
        f"{summary.changes[kind]} {kind}" for kind in kinds if summary.changes[kind]
    )
    counts = [counted(summary.commits, "new commit"), counted(summary.documents, "document"),
              counted(summary.blobs, "blob")]  # fmt: skip
    info(f"{path}, branch {summary.branch}: {counts[0]} of {counts[1]}, {counts[2]} read;"
         f" rows: {changes or 'none changed'}")  # fmt: skip
    if not summary.documents:
        warn(f"{path}: no document with a benchmark table in this history")
