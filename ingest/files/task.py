"""A file to read, and what reading it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...schema.incremental import Checkpoint
from ...schema.rows import Rows
from ..coverage import Coverage
from ..logs.dialect import Dialect
from ..logs.log import LogReader
from .content import Content

Sink = Callable[[Rows], None]


@dataclass(frozen=True, slots=True)
class Task:
    """A file to read: its bytes, its name in the warehouse, the id of its source.

    `formats` is a user's own folder of log formats. For a log that `may_grow`, the result may have
    a checkpoint; reading continues at the checkpoint `since`. `before` is how many bytes were
    stored of a file that a worker of a cluster hashes.
    """

    content: Content
    uri: str
    source_id: str
    formats: Path | None = None
    may_grow: bool = False
    since: Checkpoint | None = None
    before: int = 0


@dataclass(slots=True)
class ReadFile:
    """The rows of a file; `kind` is None when it is neither log nor benchmark table."""

    kind: str | None
    rows: Rows
    coverage: Coverage | None = None
    checkpoint: Checkpoint | None = None  # of a log that may grow: `rows` may change then
    resumed: bool = False  # only bytes after the given checkpoint were read


def finished_log(task: Task, reader: LogReader) -> ReadFile:
    """The result at the end of a log."""
    read = reader.finish()
    name = _dominant_format(read.formats, reader.formats)
    coverage = Coverage(
        "log", name, None, read.lines, read.lines_read, read.lines_known, read.lines_unread,
        lines_measuring=read.lines_measuring,
    )  # fmt: skip
    return with_source_row(
        "log" if read.runs else None, read.rows, coverage, task, read.encoding_errors
    )


def _dominant_format(formats: dict[str, int], known: Sequence[Dialect]) -> str | None:
    """The format of most lines: of a framework's steps, else of an engine's, else of any record."""
    declared = {dialect.name: dialect for dialect in known if dialect.name in formats}
    steps = [n for n, d in declared.items() if d.reads in ("iteration", "part")]
    own = [name for name in steps if not declared[name].secondary]
    others = [n for n, d in declared.items() if d.reads not in ("noise", "env", "command")]
    return max(sorted(own or steps or others), key=formats.__getitem__, default=None)


def with_source_row(
    kind: str | None, rows: Rows, coverage: Coverage, task: Task, encoding_errors: int = 0
) -> ReadFile:
    """A file with its row of `sources`, which only recognized files have."""
    if kind:
        rows.add(
            "sources", source_id=task.source_id, kind=coverage.kind, format=coverage.format,
            title=coverage.title, bytes=task.content.size, lines=coverage.lines,
            lines_read=coverage.lines_read, lines_known=coverage.lines_known,
            lines_unread=coverage.lines_unread, encoding_errors=encoding_errors,
            lines_measuring=coverage.lines_measuring,
        )  # fmt: skip
    return ReadFile(kind, rows, coverage)
