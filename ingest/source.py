"""One file: what it is, its bytes' identity, and its rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ..records import reading as records
from ..schema.growing import Checkpoint
from ..schema.ledger import Stamp
from ..schema.rows import Rows
from ..schema.shapes import shapes
from .accounting import LONGEST, may_be_jobs
from .checkpoint import freeze, thaw
from .companions.files import may_be_companion
from .content import Bounded, FileBytes, end_of_lines
from .content import Changed as Changed
from .content import fingerprint as fingerprint
from .coverage import Coverage
from .dialect import Dialect, dialects
from .lines import read_lines
from .log import LogReader
from .packed import unpacked
from .tensorboard import is_event_file

# What only some files need is imported where it is: most of a folder is known, or is logs.
if TYPE_CHECKING:
    from .scan import Section

_LOGS = frozenset((".log", ".out", ".err", ".stdout", ".stderr"))
_MARKDOWN = frozenset((".md", ".markdown", ".mdx", ".rst"))
_SEPARATED = {".csv": "csv", ".tsv": "tsv"}
LONG_BYTES = 1 << 20  # of a longer log it is kept how its reader stands, since it may grow
BULK_BYTES = 1 << 15  # a larger log is read in blocks
_COMPANION_LIMIT = 1 << 20  # a job script, a configuration: nothing larger is one
_DOCUMENT_LIMIT = 64 << 20  # a larger file is read as a log, line by line
_SEPARATOR_ROW = re.compile(
    # Possessive: a long line of blanks or dashes is looked at once.
    rb"^[ \t>]*+(?:\|[ \t]*+)?:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)++\|?[ \t]*+\r?$",
    re.M,
)


Sink = Callable[[Rows], None]


@dataclass(slots=True)
class ReadFile:
    """What a file gave; `kind` is None when it is neither log nor benchmark table."""

    kind: str | None
    rows: Rows
    coverage: Coverage | None = None
    checkpoint: Checkpoint | None = None  # of a log that may grow: `rows` may change then
    resumed: bool = False  # only what stands behind the checkpoint given was read
    sha256: str | None = None  # of the bytes, where they were hashed while they were read


@dataclass(frozen=True, slots=True)
class Growth:
    """That a log may grow: where its reader goes on, and the SHA-256 of what stands behind."""

    since: Checkpoint | None = None
    tail: str | None = None


def get_ready(formats: Path | None) -> None:
    """Make what reading a long log needs, once. Raises BenchError for a format that is wrong."""
    from . import bulk as bulk
    from .outline import outlines_of

    shapes()
    outlines_of(tuple(dialects(formats)))


def read_file(
    path: Path,
    sha256: str | None,
    size: int,
    source_id: str,
    formats: Path | None = None,
    sink: Sink | None = None,
    uri: str | None = None,
    growth: Growth | None = None,
    section: Section | None = None,
    stamp: Stamp | None = None,
) -> ReadFile:
    """The rows of the first `size` bytes of a file, whatever it is; `formats`: a user's own folder.

    A `sink` takes the rows of a long log as they come, and the result holds the last of them.
    `uri` is its name where the bytes lie elsewhere for now. With `growth` the result may tell where
    reading can go on when a log has grown; then the sink has the rows that no later line changes.
    A `section` holds all lines of the file, if it is a log: those of `sha256`. By the `stamp` that
    the file system gave the file before it was hashed, it tells whether it is still the same.
    Without a `sha256` the result tells it of a log; all else has Changed raised.

    Raises OSError when it cannot be read, Changed when the bytes are not those of `sha256`.
    """
    file = FileBytes(path, sha256, size, stamp)
    head = file.head()
    if records.is_marker(path) or records.looks_like_record(head):
        return _records(file, source_id)
    if how := file.packing():
        return _log(file, source_id, formats, sink, how=how)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ReadFile(None, Rows())  # UTF-16: no log or table is written so
    if is_event_file(uri or path.as_posix()):
        from .tensorboard import read_events

        rows, coverage = read_events(path, source_id)
        kind = "log" if rows.by_table.get("runs") else None
        return _read(kind, rows, coverage, size, 0, source_id)
    if b"\x00" in head[:8192] and not _looks_like_text(head):
        return ReadFile(None, Rows())
    name = uri or path.as_posix()
    read = _read_text(file, name, head, source_id, formats, sink, growth, section)
    if read.kind is None and size <= LONGEST and may_be_jobs(head):
        return _jobs(file, source_id)
    return read


def _read_text(
    file: FileBytes,
    name: str,
    head: bytes,
    source_id: str,
    formats: Path | None,
    sink: Sink | None,
    growth: Growth | None,
    section: Section | None,
) -> ReadFile:
    suffix = file.path.suffix.lower()
    if suffix not in _LOGS and file.size <= _COMPANION_LIMIT and may_be_companion(name, head):
        companion = _companion(file, source_id, name)
        if companion.kind:
            return companion
    if suffix in _SEPARATED:
        return _separated(file, source_id, _SEPARATED[suffix])
    if suffix in _LOGS:  # programs print tables with pipes into their logs
        log = _log(file, source_id, formats, sink, growth, section=section)
        if log.kind:
            return log
    if file.size <= _DOCUMENT_LIMIT and (suffix in _MARKDOWN or _SEPARATOR_ROW.search(head)):
        document = _document(file, source_id)
        if document.kind or suffix in _MARKDOWN:
            return document
    if suffix in _LOGS:
        return log
    return _log(file, source_id, formats, sink, growth, section=section)


def _looks_like_text(head: bytes) -> bool:
    # NUL bytes stand in logs after a crash; a binary file has many other control bytes too.
    control = sum(byte < 9 or 13 < byte < 27 for byte in head[:8192]) - head[:8192].count(0)
    return control * 50 < len(head[:8192])


def _records(file: FileBytes, source_id: str) -> ReadFile:
    rows, sha256 = records.read_records(file.path, source_id)
    file.check(sha256)
    return ReadFile("record" if rows.by_table.get("runs") else None, rows)


def _document(file: FileBytes, source_id: str) -> ReadFile:
    from .tables import read_markdown

    text, errors = file.text()
    rows, coverage = read_markdown(text, source_id)
    kind = "document" if coverage.tables or rows.by_table.get("runs") else None
    return _read(kind, rows, coverage, file.size, errors, source_id)


def _jobs(file: FileBytes, source_id: str) -> ReadFile:
    from .accounting import read_jobs, rows_of_jobs

    text, errors = file.text()
    form, jobs = read_jobs(text)
    lines, read = text.count("\n") + (not text.endswith("\n")), len({job.line for job in jobs})
    coverage = Coverage("jobs", form, None, lines, read, lines - read, 0)
    kind = "jobs" if jobs else None
    return _read(kind, rows_of_jobs(jobs), coverage, file.size, errors, source_id)


def _companion(file: FileBytes, source_id: str, path: str) -> ReadFile:
    from .companions.files import KIND, coverage, read_companion, rows_of

    text, errors = file.text()
    found = read_companion(path, text)
    if found is None:
        return ReadFile(None, Rows())
    return ReadFile(KIND, rows_of(found, source_id, text, file.size, errors), coverage(found))


def _separated(file: FileBytes, source_id: str, form: str) -> ReadFile:
    from .separated import read_separated

    text, errors = file.text()
    rows, coverage = read_separated(text, source_id, form)
    return _read(form if coverage.tables else None, rows, coverage, file.size, errors, source_id)


def _log(
    file: FileBytes,
    source_id: str,
    formats: Path | None,
    sink: Sink | None,
    growth: Growth | None = None,
    how: str | None = None,
    section: Section | None = None,
) -> ReadFile:
    if growth and sink:
        return _growing(file, source_id, formats, sink, growth)
    reader = LogReader(source_id, dialects(formats))
    if section is not None:
        from .bulk import feed_section

        feed_section(reader, section)
        return _finished(file, reader, source_id, formats)
    with file.path.open("rb") as stream:
        digest = file.digest
        plain = unpacked(stream, how, file.path.stat().st_size) if how else stream
        _feed(reader, Bounded(plain, file.size).buffered(digest), file.size, sink)
    sha256 = file.check_read(digest)
    return replace(_finished(file, reader, source_id, formats), sha256=sha256)


def _growing(
    file: FileBytes, source_id: str, formats: Path | None, sink: Sink, growth: Growth
) -> ReadFile:
    """A log whose whole lines are read for good, and what stands behind them for now."""
    since, checkpoint = growth.since, None
    reader = thaw(since.state, source_id, dialects(formats)) if since else None
    resumed, start = (True, since.offset) if since and reader else (False, 0)
    reader = reader or LogReader(source_id, dialects(formats))
    end = end_of_lines(file.path, file.size, start)
    with file.path.open("rb") as stream:
        stream.seek(start)
        digest = file.digest
        lines = Bounded(stream, end - start)
        _feed(reader, lines.buffered(digest), end - start, sink)
        if reader.has_begun:
            reader.end_line()
            sink(reader.take_rows())
            state = freeze(reader)
            checkpoint = Checkpoint(end, state) if state else None
        rest = Bounded(stream, file.size - end)
        _feed(reader, rest.buffered(digest), file.size - end, None)
    # The tail's alone is known of a log that goes on: its stamp tells of the whole.
    seen = replace(file, sha256=growth.tail or "", stamp=None) if resumed else file
    sha256 = seen.check_read(digest)
    read = _finished(file, reader, source_id, formats)
    return replace(read, checkpoint=checkpoint, resumed=resumed, sha256=sha256)


def _finished(file: FileBytes, reader: LogReader, source_id: str, formats: Path | None) -> ReadFile:
    """The end of a log: what it gave in all."""
    read = reader.finish()
    name = _most(read.formats, dialects(formats))
    coverage = Coverage(
        "log", name, None, read.lines, read.lines_read, read.lines_known, read.lines_unread,
        lines_measuring=read.lines_measuring,
    )  # fmt: skip
    kind = "log" if read.runs else None
    return _read(kind, read.rows, coverage, file.size, read.encoding_errors, source_id)


def _feed(reader: LogReader, stream: BinaryIO, size: int, sink: Sink | None) -> None:
    if size >= BULK_BYTES:
        from .bulk import feed

        feed(reader, stream, sink)
        return
    for line in read_lines(stream, reader.line):
        reader.feed(line)
        if sink and reader.holds_many():
            sink(reader.take_rows())


def _most(formats: dict[str, int], known: Sequence[Dialect]) -> str | None:
    """The format of most lines: of a framework's steps, else of an engine's, else of any record."""
    declared = {dialect.name: dialect for dialect in known if dialect.name in formats}
    steps = [n for n, d in declared.items() if d.reads in ("iteration", "part")]
    own = [name for name in steps if not declared[name].secondary]
    told = [n for n, d in declared.items() if d.reads not in ("noise", "env", "command")]
    return max(sorted(own or steps or told), key=formats.__getitem__, default=None)


def _read(
    kind: str | None, rows: Rows, coverage: Coverage, size: int, errors: int, source_id: str
) -> ReadFile:
    if kind:
        rows.add(
            "sources", source_id=source_id, kind=coverage.kind, format=coverage.format,
            title=coverage.title, bytes=size, lines=coverage.lines, lines_read=coverage.lines_read,
            lines_known=coverage.lines_known, lines_unread=coverage.lines_unread,
            encoding_errors=errors, lines_measuring=coverage.lines_measuring,
        )  # fmt: skip
    return ReadFile(kind, rows, coverage)
