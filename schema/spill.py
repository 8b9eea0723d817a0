"""Rows of one file before they are stored: few in memory, many on disk."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

import pyarrow as pa

from .arrow import Tables, joined, shapes

MEMORY_BYTES = 150 << 20


@dataclass(slots=True)
class _File:
    """Record batches in an unnamed file, which disappears in a crash."""

    file: IO[bytes]
    writer: pa.RecordBatchStreamWriter
    schema: pa.Schema
    open: bool = True

    def write(self, table: pa.Table) -> None:
        self.writer.write_table(joined([self.schema.empty_table(), table]))

    def reader(self) -> pa.RecordBatchReader:
        if self.open:
            self.writer.close()
            self.open = False
        self.file.seek(0)
        return pa.ipc.open_stream(pa.PythonFile(self.file, mode="r"))


@dataclass(slots=True)
class Spill:
    """Tables that grow in pieces; `sources` returns each in a form that DuckDB can read."""

    counts: Counter[str] = field(default_factory=Counter)  # rows by table
    _in_memory: dict[str, list[pa.Table]] = field(default_factory=lambda: defaultdict(list))
    _bytes: int = 0
    _files: dict[str, _File] = field(default_factory=dict)

    def add(self, tables: Tables) -> None:
        """Add a piece. Raises OSError if the disk is full."""
        for name, table in tables.items():
            self._in_memory[name].append(table)
            self._bytes += table.nbytes
            self.counts[name] += table.num_rows
        if self._bytes > MEMORY_BYTES:
            self._put_away()

    def keep_in_memory(self, tables: Tables) -> None:
        """Add the rows of a small file, which stay in memory."""
        for name, table in tables.items():
            self._in_memory[name].append(table)
            self.counts[name] += table.num_rows

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.counts.total()

    def has_rows(self, name: str) -> bool:
        """Whether a table has rows."""
        return self.counts[name] > 0

    def sources(self) -> Iterator[tuple[str, pa.Table | pa.RecordBatchReader]]:
        """Every table by name; one on disk as a single-use reader."""
        if self._files:  # the last rows follow the others, in order
            self._put_away()
        for name, file in self._files.items():
            yield name, file.reader()
        for name, tables in self._in_memory.items():
            yield name, joined(tables)

    def _put_away(self) -> None:
        for name in list(self._in_memory):
            self._write(name, self._in_memory.pop(name))
        self._bytes = 0
        pa.default_memory_pool().release_unused()  # other allocators need the memory soon

    def _write(self, name: str, tables: list[pa.Table]) -> None:
        if name not in self._files:
            self._files[name] = _new_file(shapes()[name].schema)
        for table in tables:
            self._files[name].write(table)


def _new_file(schema: pa.Schema) -> _File:
    file = tempfile.TemporaryFile(prefix="bench-")  # noqa: SIM115 (lives as long as its rows)
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    writer = pa.ipc.new_stream(pa.PythonFile(file, mode="w"), schema, options=options)
    return _File(file, writer, schema)
