"""What a worker of a cluster does: it reads a batch of files that it sees, and stores nothing.

It gives what the plain command reads of each file, with the hash by which that decides whether it
is new; so a batch may be read twice, or for nothing.

Few rows come with the result; more are staged in a file, called by the SHA-256 of its bytes, so
that equal rows are staged once, and a truncated file is not read. Each command has a separate
folder, which it removes at its end.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TypeAlias
from uuid import uuid4

import psutil
import pyarrow as pa

from ...schema.arrow import divided
from ...schema.errors import BenchError
from ...schema.spill import Spill
from ..kinds import is_event_file
from ..version import parser_version
from .content import is_long, read_content, read_small, stamp_of, unhashed
from .parsed import Parsed, parse, parse_together
from .task import Task


@dataclass(frozen=True, slots=True)
class Batch:
    """Files to read, the version of the code that has to read them, and where rows are staged."""

    tasks: Sequence[Task]
    version: int
    staging: Path | None = None


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file that was read: how, what it gave, and whether by itself."""

    task: Task
    parsed: Parsed
    alone: bool


@dataclass(frozen=True, slots=True)
class BatchRead:
    """What became of the files in their order, None of one that could not be read; their rows.

    The first group of rows is that of small files together, which `lengths` divide; two more are
    those of each file read by itself.
    """

    files: Sequence[FileRead | None]
    lengths: Sequence[Mapping[str, int]]
    rows: PackedStreams


def read_batch(batch: Batch) -> BatchRead:
    """Read a batch, on any machine. Raises BenchError where another version of bench reads."""
    for formats in {task.formats for task in batch.tasks}:
        if (own := parser_version(formats)) != batch.version:
            raise BenchError(
                "a worker reads by other code than this machine",
                why=f"its version is {own}, not {batch.version}",
                hint="the same version of bench and the same formats on every machine",
            )
    tasks = [_looked_at(task) for task in batch.tasks]
    together = parse_together([task for task in tasks if task and _is_small(task)])
    small = iter(together.files)
    files: list[FileRead | None] = []
    groups: list[Iterable[tuple[str, Source]]] = [together.tables.items()]
    for task in tasks:
        parsed = None
        if task is not None:
            parsed = next(small) if _is_small(task) else _alone(task, groups)
        files.append(_file_read(task, parsed) if task and parsed else None)
    return BatchRead(files, together.lengths, pack(groups, batch.staging))


def files_of(read: BatchRead, staging: Path | None) -> Sequence[FileRead | None]:
    """The files with their rows again. Raises OSError where these are lost or damaged."""
    with unpacked(read.rows, staging) as groups:
        tables = {name: rows.read_all() for name, rows in next(groups)}
        small = divided(tables, read.lengths)
        for file in filter(None, read.files):
            if not file.alone:
                file.parsed.tables.keep_in_memory(next(small))
                continue
            _fill(file.parsed.tables, next(groups))
            _fill(file.parsed.part.rows if file.parsed.part else Spill(), next(groups))
    return read.files


def _looked_at(task: Task) -> Task | None:
    """A file as it is now, hashed as far as that is needed before it is read; None if unreadable.

    `task.may_grow` already where it is there with other bytes; a long one may grow, too.
    """
    path = task.content.path
    try:
        stamp = stamp_of(path)
        content = read_small(path, stamp)
        if content is None and not (task.before or is_event_file(task.uri)):
            content = unhashed(path, stamp)
        if content is None:
            content = read_content(path, task.before or None)
    except OSError:
        return None
    may_grow = task.may_grow or is_long(content.size)
    return replace(task, content=content.with_head(task.before), may_grow=may_grow)


def _is_small(task: Task) -> bool:
    """Whether it is read with others, as the plain command reads ahead."""
    return task.content.data is not None and not task.may_grow


def _alone(task: Task, groups: list[Iterable[tuple[str, Source]]]) -> Parsed | None:
    """A file by itself; its rows become two groups, those of its part last."""
    try:
        parsed = parse(task)
    except OSError:
        return None
    groups.append(parsed.tables.sources())
    groups.append(parsed.part.rows.sources() if parsed.part else ())
    parsed.tables = Spill()
    if parsed.part:
        parsed.part = replace(parsed.part, rows=Spill())
    return parsed


def _file_read(task: Task, parsed: Parsed) -> FileRead:
    """Without the bytes of the file, which only its reader needs."""
    bare = replace(task, content=replace(task.content, data=None))
    return FileRead(bare, parsed, alone=not _is_small(task))


def _fill(spill: Spill, tables: Iterable[tuple[str, Source]]) -> None:
    for name, rows in tables:
        for batch in rows:
            spill.add({name: pa.Table.from_batches([batch])})


NAME = f".bench-staging-{os.geteuid()}"
_FEW = 1 << 20  # bytes of rows that Dask carries
_TRIES = 5
_DAY_S = 86_400
_Stream = tuple[str, pa.RecordBatchReader]
Source: TypeAlias = pa.Table | pa.RecordBatchReader


@dataclass(frozen=True, slots=True)
class PackedStreams:
    """Groups of Arrow streams, concatenated; table and size in bytes of each."""

    groups: Sequence[Sequence[tuple[str, int]]]
    sha256: str
    data: bytes | None = None  # None: in the staged file


def pack(groups: Iterable[Iterable[tuple[str, Source]]], folder: Path | None) -> PackedStreams:
    """Groups of tables, packed; without a folder that is visible here all are in the result.

    Raises OSError when a disk is full.
    """
    with tempfile.SpooledTemporaryFile(_FEW, prefix="bench-") as file:
        sizes = [[(name, _written(file, rows)) for name, rows in group] for group in groups]
        size = file.tell()
        file.seek(0)
        if size <= _FEW or folder is None or not folder.is_dir():
            data = file.read()
            return PackedStreams(sizes, hashlib.sha256(data).hexdigest(), data)
        draft = folder / f"{uuid4().hex}.draft"
        with draft.open("xb+") as staged:
            shutil.copyfileobj(file, staged, _FEW)
            staged.seek(0)
            sha256 = hashlib.file_digest(staged, "sha256").hexdigest()
        draft.replace(folder / sha256)
        return PackedStreams(sizes, sha256)


@contextmanager
def unpacked(packed: PackedStreams, folder: Path | None) -> Iterator[Iterator[Iterator[_Stream]]]:
    """The groups in their order, each to be read to its end; a staged file is removed afterwards.

    Raises OSError when it is not there, or is not what was written.
    """
    staged = None if packed.data is not None or folder is None else folder / packed.sha256
    with pa.OSFile(str(staged)) if staged else pa.BufferReader(packed.data or b"") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != packed.sha256:
            raise OSError(f"{staged or 'what was sent'} is damaged")
        yield _groups(file, packed.groups)
    if staged:
        staged.unlink(missing_ok=True)


def _groups(
    file: pa.NativeFile, groups: Sequence[Sequence[tuple[str, int]]]
) -> Iterator[Iterator[_Stream]]:
    start = 0
    for group in groups:
        yield _streams(file, group, start)
        start += sum(size for _, size in group)


def _streams(
    file: pa.NativeFile, group: Sequence[tuple[str, int]], start: int
) -> Iterator[_Stream]:
    for name, size in group:
        file.seek(start)
        yield name, pa.ipc.open_stream(file)
        start += size


def _written(file: IO[bytes], rows: Source) -> int:
    """Bytes of a table, written as a stream."""
    start = file.tell()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(pa.PythonFile(file, mode="w"), rows.schema, options=options) as writer:
        for batch in rows.to_batches() if isinstance(rows, pa.Table) else rows:
            writer.write_batch(batch)
    return file.tell() - start


@contextmanager
def staging(base: Path | None) -> Iterator[Path | None]:
    """A folder of this process below one that workers see, too; those of killed ones are removed.

    A process that lost its folder all the same reads again. None where there is no such place.
    """
    host = socket.gethostname()
    folder = _made(base / NAME, f"{host}-{psutil.Process().pid}") if base else None
    if folder is None:
        yield None
        return
    home = folder.parent
    now = folder.stat().st_mtime  # by the clock of the file system
    for other in home.iterdir():
        name, _, pid = other.name.rpartition("-")
        ended = name == host and pid.isdigit() and not psutil.pid_exists(int(pid))
        with suppress(FileNotFoundError):  # another process clears, too
            if pid.isdigit() and (ended or other.stat().st_mtime < now - _DAY_S):
                shutil.rmtree(other, ignore_errors=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # others have theirs
            home.rmdir()


def _made(home: Path, name: str) -> Path | None:
    """A folder of this name in one's own; None where `_own` gives none."""
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):  # who ends takes the empty home along
            own = _own(home)
            if own is not None:
                (own / name).mkdir(exist_ok=True)
            return own and own / name
    return None


def _own(folder: Path) -> Path | None:
    """The folder, made if it is not there; None where it is a link or another's.

    Its content is removed at some time, and a repository may contain a link of its name.
    """
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
    found = folder.lstat()
    return folder if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() else None
