"""Parquet files in a folder: each written once, and on disk before it is named."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

import pyarrow as pa

from .errors import BenchError

_SLICE = 1 << 20  # rows


class Written(TypedDict):
    """A file by its name in the folder, and its contents."""

    table: str
    name: str
    rows: int
    bytes: int
    sha256: str


def read(folder: Path, files: Sequence[Written]) -> Iterator[pa.Table]:
    """The rows of files, about a million at a time; raises BenchError."""
    import pyarrow.parquet as pq

    for file in files:
        path = folder / file["name"]
        try:
            if path.is_symlink() or not path.is_file():
                raise OSError("no regular file" if os.path.lexists(path) else "it is missing")
            with pq.ParquetFile(path) as opened:
                for batch in opened.iter_batches(_SLICE):
                    yield pa.Table.from_batches([batch])
        except (OSError, pa.ArrowInvalid) as error:
            raise BenchError(
                f"cannot read {path}", why=str(error).splitlines()[0],
                hint="try again; bench db check lists missing files",
            ) from error  # fmt: skip


def write(folder: Path, table: str, slices: Iterator[pa.Table]) -> Iterator[Written]:
    """Write a file for each slice of the rows of a table; raises OSError."""
    import pyarrow.parquet as pq

    for rows in slices:
        path = folder / f"{os.urandom(16).hex()}.parquet"
        try:
            pq.write_table(rows, path, compression="zstd")
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        yield Written(
            table=table, name=path.name, rows=len(rows), bytes=path.stat().st_size,
            sha256=sha256(path),
        )  # fmt: skip


def sha256(path: Path) -> str:
    """The digest of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
