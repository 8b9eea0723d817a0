"""Several small files read at once: lines of logs are looked at in one go, rows converted in one.

What it gives of a file is what `read_file` gives of it alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..schema.arrow import Tables, to_arrow_each
from ..schema.spill import Packed, pack
from .collect import Collected
from .dialect import dialects
from .lines import BOM
from .names import is_log_name
from .source import ReadFile, read_file
from .tensorboard import NoReader

if TYPE_CHECKING:
    from .scan import Section


@dataclass(frozen=True, slots=True)
class Task:
    """A file to read, and what `read_file` has to know of it."""

    path: Path
    uri: str
    sha256: str
    size: int
    source_id: str


@dataclass(slots=True)
class Result:
    """What a file gave."""

    kind: str | None
    tables_other: int
    collected: Collected


Results = list[Result | None]


def read_together(tasks: Sequence[Task], formats: Path | None = None) -> Results:
    """The files in their order; None for one that has to be read, or refused, by itself."""
    return with_tables(*_read_together(tasks, formats))


def read_packed(tasks: Sequence[Task], formats: Path | None) -> tuple[Results, Packed]:
    """The same for another process, which puts it together by `with_tables` and `unpack`."""
    results, tables = _read_together(tasks, formats)
    return results, pack(tables)


def with_tables(results: Results, files: Sequence[Tables]) -> Results:
    """The results with the tables of those that there are."""
    for result, tables in zip(filter(None, results), files, strict=True):
        result.collected.tables.hold(tables)
    return results


def _read_together(tasks: Sequence[Task], formats: Path | None) -> tuple[Results, Sequence[Tables]]:
    read = _read_each(tasks, formats)
    tables = to_arrow_each([each.rows for each in read if each])
    return [_result(each) if each else None for each in read], tables


def _result(read: ReadFile) -> Result:
    collected = Collected()
    collected.count(read.rows)
    return Result(read.kind, read.coverage.tables_other if read.coverage else 0, collected)


def _read_each(tasks: Sequence[Task], formats: Path | None) -> list[ReadFile | None]:
    from .block_lines import Lines
    from .blocks import with_plain_ends
    from .outline import outlines_of
    from .scan import Scan, Section

    contents = {task: with_plain_ends(content) for task in tasks if (content := _log_of(task))}
    # Between carriage returns a line has pieces: such a log is read by itself.
    contents = {task: data for task, data in contents.items() if b"\r" not in data}
    sections: dict[Task, Section] = {}
    if contents:
        known = dialects(formats)
        scan = Scan(Lines(b"\n".join(contents.values())), outlines_of(tuple(known)))
        start = 0
        for task, content in contents.items():
            end = start + content.count(b"\n") + 1
            sections[task] = Section(scan, start, end)
            start = end
    return [_read(task, formats, sections.get(task)) for task in tasks]


def _log_of(task: Task) -> bytes | None:
    """The lines of a log that can be looked at together with those of others."""
    if not is_log_name(task.path.name):
        return None
    try:
        content = task.path.read_bytes()
        content.decode()
    except (OSError, UnicodeDecodeError):
        return None
    if hashlib.sha256(content).hexdigest() != task.sha256:
        return None
    if content.startswith(BOM):
        return None
    return content.removesuffix(b"\n")


def _read(task: Task, formats: Path | None, section: Section | None) -> ReadFile | None:
    try:
        return read_file(
            task.path, task.sha256, task.size, task.source_id, formats,
            uri=task.uri, section=section,
        )  # fmt: skip
    except (OSError, NoReader):
        return None
