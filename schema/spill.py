"""Rows of one file on their way into the warehouse: few lie in memory, many on disk."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

import pyarrow as pa

from .arrow import Tables, joined
from .shapes import shapes

HELD_BYTES = 150 << 20


@dataclass(slots=True)
class _File:
    """Record batches in a file without a name, which a crash leaves nothing of."""

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
    """Tables that grow piece by piece; `sources` gives each as DuckDB can read it."""

    counts: Counter[str] = field(default_factory=Counter)  # rows by table
    _held: dict[str, list[pa.Table]] = field(default_factory=lambda: defaultdict(list))
    _bytes: int = 0
    _files: dict[str, _File] = field(default_factory=dict)

    def add(self, tables: Tables) -> None:
        """One more piece. Raises OSError when the disk is full."""
        for name, table in tables.items():
            self._held[name].append(table)
            self._bytes += table.nbytes
            self.counts[name] += table.num_rows
        if self._bytes > HELD_BYTES:
            self._put_away()

    def hold(self, tables: Tables) -> None:
        """What a small file gave: it stays in memory."""
        for name, table in tables.items():
            self._held[name].append(table)
            self.counts[name] += table.num_rows

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.counts.total()

    def holds(self, name: str) -> bool:
        """Whether there are rows of a table."""
        return self.counts[name] > 0

    def sources(self) -> Iterator[tuple[str, pa.Table | pa.RecordBatchReader]]:
        """Every table by name; of one on disk a reader, good for once."""
        if self._files:  # the last rows follow the others, in their order
            self._put_away()
        for name, file in self._files.items():
            yield name, file.reader()
        for name, tables in self._held.items():
            yield name, joined(tables)

    def _put_away(self) -> None:
        for name in list(self._held):
            self._write(name, self._held.pop(name))
        self._bytes = 0
        pa.default_memory_pool().release_unused()  # what stays is asked for elsewhere soon

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
