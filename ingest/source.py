"""One file: what it is, its bytes' identity, and its rows."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from ..records import reading as records
from ..schema.rows import Rows
from .coverage import Coverage
from .dialect import Dialect, dialects, version_of
from .lines import read_lines
from .log import LogReader
from .packed import is_packed_log, packing, unpacked
from .separated import read_separated
from .tables import read_markdown

PARSER_VERSION = 7  # a new one reads known files again
_LOGS = frozenset((".log", ".out", ".err", ".stdout", ".stderr"))
_MARKDOWN = frozenset((".md", ".markdown", ".mdx", ".rst"))
_SEPARATED = {".csv": "csv", ".tsv": "tsv"}
_NEVER = frozenset(
    f".{suffix}"
    for group in (
        "png jpg jpeg gif svg pdf ico mp4 woff woff2 ttf zip gz xz bz2 zst tar whl",
        "pt pth bin safetensors npy npz duckdb wal db sqlite parquet pyc so o a exe",
    )
    for suffix in group.split(" ")
)
_HEAD = 1 << 20  # bytes looked at to tell what a file is
_DOCUMENT_LIMIT = 64 << 20  # a larger file is read as a log, line by line
_SEPARATOR_ROW = re.compile(
    # Possessive: a long line of blanks or dashes is looked at once.
    rb"^[ \t>]*+(?:\|[ \t]*+)?:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)++\|?[ \t]*+\r?$",
    re.M,
)


@dataclass(slots=True)
class ReadFile:
    """What a file gave; `kind` is None when it is neither log nor benchmark table."""

    kind: str | None
    rows: Rows
    coverage: Coverage | None = None


class Changed(OSError):
    """The bytes are no longer those that were fingerprinted."""


@dataclass(frozen=True, slots=True)
class _Bytes:
    """The bytes of a file that count: the first `size`, whose SHA-256 is `sha256`."""

    path: Path
    sha256: str
    size: int

    def head(self) -> bytes:
        with self.path.open("rb") as stream:
            return stream.read(min(self.size, _HEAD))

    def text(self) -> tuple[str, int]:
        """All of it as text, and how many characters are no UTF-8."""
        with self.path.open("rb") as stream:
            content = stream.read(self.size)
        self.check(hashlib.sha256(content).hexdigest())
        text = content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
        text = text.replace("\r\n", "\n").replace("\r", " ").replace("\x00", "")
        return text, text.count("\ufffd")

    def check(self, sha256: str) -> None:
        if sha256 != self.sha256:
            raise Changed(f"{self.path} changed while it was read")


class _Bounded(io.RawIOBase):
    """The first `size` bytes of a stream, hashed as they pass: a log may grow while it is read."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream, self._left, self.digest = stream, size, hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))
        chunk = self._stream.read(min(len(view), self._left))
        view[: len(chunk)] = chunk
        self._left -= len(chunk)
        self.digest.update(chunk)
        return len(chunk)


def parser_version(formats: Path | None) -> int:
    """The version of the reading code and of a user's own formats."""
    return PARSER_VERSION + 1000 * version_of(formats)


def is_candidate(path: Path) -> bool:
    """Whether a file of a folder is worth opening, by its name."""
    if path.name.startswith("."):
        return False
    if path.suffix.lower() in _NEVER and not is_packed_log(path):
        return False
    return not records.is_read_with_folder(path)


def fingerprint(path: Path) -> tuple[str, int]:
    """SHA-256 and size of a file's bytes, as far as they reach when it is opened.

    Of a folder of records, which its marker stands for, those of all of them. Raises OSError when
    it cannot be read.
    """
    if records.is_marker(path):
        return records.fingerprint_of_folder(path)
    with path.open("rb") as stream:
        bounded = _Bounded(stream, os.fstat(stream.fileno()).st_size)
        buffer = bytearray(1 << 20)
        size = 0
        while count := bounded.readinto(buffer):
            size += count
        return bounded.digest.hexdigest(), size


def read_file(
    path: Path, sha256: str, size: int, source_id: str, formats: Path | None = None
) -> ReadFile:
    """The rows of the first `size` bytes of a file, whatever it is; `formats`: a user's own folder.

    Raises OSError when it cannot be read, Changed when the bytes are not those of `sha256`.
    """
    file = _Bytes(path, sha256, size)
    head = file.head()
    if records.is_marker(path) or records.looks_like_record(head):
        return _records(file, source_id)
    if how := packing(head):
        return _log(file, source_id, formats, how)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ReadFile(None, Rows())  # UTF-16: no log or table is written so
    if b"\x00" in head[:8192] and not _looks_like_text(head):
        return ReadFile(None, Rows())
    suffix = path.suffix.lower()
    if suffix in _SEPARATED:
        return _separated(file, source_id, _SEPARATED[suffix])
    if suffix in _LOGS:  # programs print tables with pipes into their logs
        log = _log(file, source_id, formats)
        if log.kind:
            return log
    if size <= _DOCUMENT_LIMIT and (suffix in _MARKDOWN or _SEPARATOR_ROW.search(head)):
        document = _document(file, source_id)
        if document.kind or suffix in _MARKDOWN:
            return document
    return log if suffix in _LOGS else _log(file, source_id, formats)


def _looks_like_text(head: bytes) -> bool:
    # NUL bytes stand in logs after a crash; a binary file has many other control bytes too.
    control = sum(byte < 9 or 13 < byte < 27 for byte in head[:8192]) - head[:8192].count(0)
    return control * 50 < len(head[:8192])


def _records(file: _Bytes, source_id: str) -> ReadFile:
    rows, sha256 = records.read_records(file.path, source_id)
    file.check(sha256)
    return ReadFile("record" if rows.by_table.get("runs") else None, rows)


def _document(file: _Bytes, source_id: str) -> ReadFile:
    text, errors = file.text()
    rows, coverage = read_markdown(text, source_id)
    kind = "document" if coverage.tables or rows.by_table.get("runs") else None
    return _read(kind, rows, coverage, file.size, errors, source_id)


def _separated(file: _Bytes, source_id: str, form: str) -> ReadFile:
    text, errors = file.text()
    rows, coverage = read_separated(text, source_id, form)
    return _read(form if coverage.tables else None, rows, coverage, file.size, errors, source_id)


def _log(file: _Bytes, source_id: str, formats: Path | None, how: str | None = None) -> ReadFile:
    reader = LogReader(source_id, dialects(formats))
    with file.path.open("rb") as stream:
        bounded = _Bounded(stream, file.size)
        whole = cast(BinaryIO, io.BufferedReader(bounded, 1 << 20))
        for line in read_lines(unpacked(whole, how, file.size) if how else whole):
            reader.feed(line)
        while how and whole.read(1 << 20):  # what stands behind the packed bytes counts too
            pass
    file.check(bounded.digest.hexdigest())
    read = reader.finish()
    name = _most(read.formats, dialects(formats))
    coverage = Coverage(
        "log", name, None, read.lines, read.lines_read, read.lines_known, read.lines_unread
    )
    kind = "log" if read.rows.by_table.get("runs") else None
    return _read(kind, read.rows, coverage, file.size, read.encoding_errors, source_id)


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
            encoding_errors=errors,
        )  # fmt: skip
    return ReadFile(kind, rows, coverage)
