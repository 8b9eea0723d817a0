"""Logs that were packed with gzip, bzip2, xz or zstd: unpacked as they are read, within bounds."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from typing import BinaryIO, cast

# More than any log shrinks: a small file that unpacks to more is made to fill a disk.
MOST_TIMES = 2000
LEAST_BYTES = 64 << 20
MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
LONGEST_MAGIC = max(map(len, MAGIC))


def packing(head: bytes) -> str | None:
    """How a file is packed, by its first bytes."""
    return next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)


def unpacked(stream: BinaryIO, how: str, size: int) -> BinaryIO:
    """The bytes of a packed stream of `size` bytes.

    Raises OSError, also while it is read, when it is damaged or grows without bound.
    """
    match how:
        case "gzip":
            inner: object = gzip.GzipFile(fileobj=stream)
        case "bzip2":
            inner = bz2.BZ2File(stream)
        case "xz":
            inner = lzma.LZMAFile(stream)  # noqa: SIM115 - it lives as long as its reader
        case _:
            import pyarrow  # few logs are packed so

            inner = pyarrow.CompressedInputStream(stream, "zstd")
    limit = max(size * MOST_TIMES, LEAST_BYTES)
    limited = _Limited(cast(BinaryIO, inner), limit, stream)
    return cast(BinaryIO, io.BufferedReader(limited, 1 << 20))


class _Limited(io.RawIOBase):
    """A stream that ends in an error behind `limit` bytes; whatever is damaged is an OSError.

    It closes the `packed` one with itself.
    """

    def __init__(self, inner: BinaryIO, limit: int, packed: BinaryIO) -> None:
        self._inner, self._left, self._packed = inner, limit, packed

    def close(self) -> None:
        self._inner.close()
        self._packed.close()
        super().close()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))
        try:
            chunk = self._inner.read(len(view))
        except (OSError, EOFError, lzma.LZMAError, zlib.error, ValueError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # of the file system
            raise OSError(f"the packed file is damaged: {error}") from error
        self._left -= len(chunk)
        if self._left < 0:
            raise OSError("the packed file unpacks to more than a log can be")
        view[: len(chunk)] = chunk
        return len(chunk)
