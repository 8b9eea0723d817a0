"""Reads paths into a warehouse in memory, including the post-processing of an ingest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..schema.errors import BenchError, NothingRecognised
from ..vocabulary.format import counted

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
