"""What a worker of a cluster does: it reads a batch of files that it sees, and stores nothing.

It gives what the plain command reads of each file, with the hash by which that decides whether it
is new; so a batch may be read twice, or for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from ...schema.arrow import divided
from ...schema.errors import BenchError
from ...schema.spill import Spill
from ..version import parser_version
from .content import is_long, read_content, read_small, stamp_of, unhashed
from .parsed import Parsed, parse, parse_together
from .staging import Packed, Source, pack, unpacked
from .task import Task
from .tensorboard import NoReader, is_event_file


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
    rows: Packed


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
    except (OSError, NoReader):
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
