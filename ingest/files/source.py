"""One file -> its kind and its rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from ...records import reading as records
from ...schema.incremental import Checkpoint
from ...schema.rows import Rows
from ...vocabulary.own_pages import is_own
from ..coverage import Coverage
from ..kinds import are_samples, is_event_file, may_be_jobs, may_be_sidecar
from ..logs.checkpoint import freeze, thaw
from ..logs.dialect import dialects
from ..logs.log import LogReader
from .containers import wrapping
from .content import UTF_16
from .streams import ended_early
from .task import ReadFile, Sink, Task, finished_log, with_source_row

# Readers of rare kinds are imported late: most files of a folder are known, or are logs.
_LOGS = frozenset((".log", ".out", ".err", ".stdout", ".stderr"))
_MARKDOWN = frozenset((".md", ".markdown", ".mdx", ".rst", ".tex", ".html", ".htm"))
_SEPARATED = {".csv": "csv", ".tsv": "tsv"}
_COMPANION_LIMIT = 1 << 20  # of a job script, a configuration
_SAMPLES_LIMIT = 64 << 20  # of power: a day of eight devices, each second
_JOBS_LIMIT = 64 << 20  # of an accounting file
_DOCUMENT_LIMIT = 64 << 20  # a larger file is read line by line, for steps alone
_SEPARATOR_ROW = re.compile(
    # Possessive: a long line of blanks or dashes is scanned once.
    rb"^[ \t>]*+(?:\|[ \t]*+)?:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)++\|?[ \t]*+\r?$",
    re.M,
)


def read_file(task: Task, sink: Sink | None = None) -> ReadFile:
    """The rows of a file of any kind.

    A `sink` takes the rows of a long log as they are read, and the result has the last of them; of
    a log that may grow, the sink takes those that no later line changes. If the SHA-256 of the
    bytes was unknown, it is in `task.content` afterwards, except for event files.

    Raises OSError when it cannot be read, Changed when the bytes are not those that were hashed.
    """
    content = task.content
    head = content.first_bytes()
    if records.is_marker(content.path) or records.looks_like_record(head):
        rows, sha256 = records.read_records(content.path, task.source_id)
        content.check(sha256)
        return ReadFile("record" if rows.by_table.get("runs") else None, rows)
    if content.packing():
        return _read_log(task, sink)
    if head.startswith(UTF_16):
        return _in_utf_16(task)
    if is_event_file(task.uri):
        from .tensorboard import read_events

        rows, coverage = read_events(content.path, task.source_id)
        return with_source_row("log" if rows.by_table.get("runs") else None, rows, coverage, task)
    if b"\x00" in head[:8192] and not _looks_like_text(head):
        return ReadFile(None, Rows())
    read = _read_text(task, head, sink)
    if read.kind is None and content.size <= _JOBS_LIMIT and may_be_jobs(head):
        return _jobs(task)
    return read


def _read_text(task: Task, head: bytes, sink: Sink | None) -> ReadFile:
    suffix, size = task.content.path.suffix.lower(), task.content.size
    if suffix in _MARKDOWN and is_own(head):
        return ReadFile(None, Rows())
    limit = _SAMPLES_LIMIT if are_samples(head) else _COMPANION_LIMIT
    if suffix not in _LOGS and size <= limit and may_be_sidecar(task.uri, head):
        sidecar = _sidecar(task)
        if sidecar.kind:
            return sidecar
    if suffix in _SEPARATED:
        from .unknown_trainer import steps_in_table

        is_table = size <= _DOCUMENT_LIMIT
        table = _separated(task, _SEPARATED[suffix]) if is_table else ReadFile(None, Rows())
        return table if table.kind else steps_in_table(task, sink) or table
    if suffix in _LOGS:  # programs print tables with pipes into their logs
        log = _read_log(task, sink)
        if log.kind:
            return log
    if size <= _DOCUMENT_LIMIT and (suffix in _MARKDOWN or _SEPARATOR_ROW.search(head)):
        document = _document(task)
        if document.kind or suffix in _MARKDOWN:
            return document
    if suffix in _LOGS:
        return log
    return _read_log(task, sink)


def _in_utf_16(task: Task) -> ReadFile:
    """A file in UTF-16, as spreadsheets save tables and PowerShell writes logs."""
    suffix = task.content.path.suffix.lower()
    if task.content.size > _DOCUMENT_LIMIT:
        return ReadFile(None, Rows())
    if suffix in _SEPARATED:
        return _separated(task, _SEPARATED[suffix])
    from .containers import recoded

    log = _read_log(task, None, recoded) if suffix in _LOGS else None
    if log is not None and log.kind:
        return log
    document = _document(task)
    return document if document.kind or log is not None else _read_log(task, None, recoded)


def _looks_like_text(head: bytes) -> bool:
    # Logs have NUL bytes after a crash; a binary file has many other control bytes too.
    control = sum(byte < 9 or 13 < byte < 27 for byte in head[:8192]) - head[:8192].count(0)
    return control * 50 < len(head[:8192])


def _document(task: Task) -> ReadFile:
    from ..documents.tables import read_markdown

    text, errors = task.content.text()
    rows, coverage = read_markdown(text, task.source_id)
    is_one = coverage.tables or rows.by_table.get("runs") or _exceeds_rows(rows)
    return with_source_row("document" if is_one else None, rows, coverage, task, errors)


def _jobs(task: Task) -> ReadFile:
    from .accounting import read_jobs, rows_of_jobs

    text, errors = task.content.text()
    form, jobs = read_jobs(text)
    lines, read = text.count("\n") + (not text.endswith("\n")), len({job.line for job in jobs})
    coverage = Coverage("jobs", form, None, lines, read, lines - read, 0)
    return with_source_row("jobs" if jobs else None, rows_of_jobs(jobs), coverage, task, errors)


def _sidecar(task: Task) -> ReadFile:
    from ..sidecars.files import KIND, coverage, read_sidecar, rows_of

    text, errors = task.content.text()
    sidecar = read_sidecar(task.uri, text)
    if sidecar is None:
        return ReadFile(None, Rows())
    rows = rows_of(sidecar, task.source_id, text, task.content.size, errors)
    return ReadFile(KIND, rows, coverage(sidecar))


def _separated(task: Task, form: str) -> ReadFile:
    from ..documents.csv_files import read_separated

    text, errors = task.content.text()
    rows, coverage = read_separated(text, task.source_id, form)
    kind = form if coverage.tables or _exceeds_rows(rows) else None
    return with_source_row(kind, rows, coverage, task, errors)


def _exceeds_rows(rows: Rows) -> bool:
    """Whether a table of runs is left out for its length, which the file's warning reports."""
    return any(one["code"] == "endless_table" for one in rows.by_table.get("warnings", ()))


def _read_log(
    task: Task, sink: Sink | None, recode: Callable[[BinaryIO], BinaryIO] | None = None
) -> ReadFile:
    from ..logs.bulk import feed

    content = task.content
    recode = recode or wrapping(content.first_bytes())
    if task.may_grow and sink and recode is None and not content.packing():
        return _growing(task, sink)
    reader, digest = LogReader(task.source_id, dialects(task.formats)), content.digest()
    waiting = _Waiting(reader, sink) if sink else None
    with content.stream(0, content.size, digest) as stream:
        feed(reader, recode(stream) if recode else stream, waiting)
        cut = ended_early(stream)
    content.check_read(digest)
    read = finished_log(task, reader)
    unknown = _of_unknown_trainer(task, sink, reader, read) if recode is None else None
    if waiting is not None and unknown is None:
        waiting.flush()
    read = unknown or read
    if cut:
        message = "the packed file breaks off: it is read up to there"
        read.rows.warn("cut_file", message, read.coverage.lines if read.coverage else None)
    return read


@dataclass(slots=True)
class _Waiting:
    """The sink of a log, which gets no rows before a step: such a log may be read once more."""

    reader: LogReader
    sink: Sink
    kept: list[Rows] = field(default_factory=list)

    def __call__(self, rows: Rows) -> None:
        self.kept.append(rows)
        if self.reader.has_steps:
            self.flush()

    def flush(self) -> None:
        """The rows are final."""
        for rows in self.kept:
            self.sink(rows)
        self.kept.clear()


def _of_unknown_trainer(
    task: Task, sink: Sink | None, known: LogReader, read: ReadFile
) -> ReadFile | None:
    """A log without steps of a known format, by those that its own lines show, if any."""
    if known.has_steps:
        return None
    from .unknown_trainer import of_unknown_trainer

    return of_unknown_trainer(task, sink, known, read)


def _growing(task: Task, sink: Sink) -> ReadFile:
    """A log whose complete lines are read for good, and the rest of it until it grows."""
    from ..logs.bulk import feed

    content, since, known = task.content, task.since, dialects(task.formats)
    reader = thaw(since.state, task.source_id, known) if since else None
    resumed, start = (True, since.offset) if since and reader else (False, 0)
    reader, checkpoint = reader or LogReader(task.source_id, known), None
    waiting = _Waiting(reader, sink)
    end, digest = content.end_of_lines(start), content.digest()
    with content.stream(start, end, digest) as lines:
        feed(reader, lines, waiting)
    if reader.has_begun:
        reader.end_line()
        waiting(reader.take_rows())
        checkpoint = Checkpoint(end, state) if (state := freeze(reader)) else None
    with content.stream(end, content.size, digest) as rest:
        feed(reader, rest)
    if resumed and digest:  # the bytes before were not read
        content.check_tail(digest)
    else:
        content.check_read(digest)
    read = finished_log(task, reader)
    if unknown := _of_unknown_trainer(task, sink, reader, read):
        return unknown
    waiting.flush()
    return replace(read, checkpoint=checkpoint, resumed=resumed)
