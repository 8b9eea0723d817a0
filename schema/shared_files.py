"""Files of a shared place: with the permissions of its folder; Parquet files are written once."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypedDict

import pyarrow as pa

from .errors import BenchError


@contextmanager
def permissions_of(folder: Path) -> Iterator[None]:
    """Within it, new files and folders are as a folder that a group shares (chmod 2770 or 2775).

    That is one with set-group-ID in which the group may write; if it is not there yet, the one
    above counts. Elsewhere the umask stays.
    """
    mode = _mode(folder.absolute())
    if not _is_shared(mode):
        yield
        return
    before = os.umask(stat.S_IWOTH | (~mode & (stat.S_IROTH | stat.S_IXOTH)))
    try:
        yield
    finally:
        os.umask(before)


def share(folder: Path, paths: Iterable[Path]) -> None:
    """Let the group of a folder that it shares write to these too, as far as this user made them.

    DuckDB and SQLite make folders and files that only their owner may write to.
    """
    if not _is_shared(_mode(folder.absolute())):
        return
    for path in paths:
        with suppress(FileNotFoundError):
            found = path.lstat()
            mode = stat.S_IMODE(found.st_mode) | stat.S_IRGRP | stat.S_IWGRP
            if stat.S_ISDIR(found.st_mode):
                mode |= stat.S_IXGRP
            elif not stat.S_ISREG(found.st_mode):
                continue
            if found.st_uid == os.geteuid() and mode != stat.S_IMODE(found.st_mode):
                path.chmod(mode)


def _is_shared(mode: int) -> bool:
    return bool(mode & stat.S_ISGID and mode & stat.S_IWGRP)


def _mode(folder: Path) -> int:
    for one in (folder, *folder.parents):
        try:
            return one.stat().st_mode
        except OSError:
            continue
    return 0


_SLICE = 1 << 20  # rows


class WrittenFile(TypedDict):
    """A file by its name in the folder, and its contents."""

    table: str
    name: str
    rows: int
    bytes: int
    sha256: str


def read(folder: Path, files: Sequence[WrittenFile]) -> Iterator[pa.Table]:
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


def write(folder: Path, table: str, slices: Iterator[pa.Table]) -> Iterator[WrittenFile]:
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
        yield WrittenFile(
            table=table, name=path.name, rows=len(rows), bytes=path.stat().st_size,
            sha256=sha256(path),
        )  # fmt: skip


def sha256(path: Path) -> str:
    """The digest of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
