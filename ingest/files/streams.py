"""Files as streams: a part of a long one, hashed while it is read; packed logs, within bounds."""

from __future__ import annotations

import bz2
import hashlib
import io
import lzma
import os
import zlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, cast

_CHUNK = 1 << 20
_WORTH_A_THREAD, _MOST_WAITING = 1 << 16, 1  # bytes hashed at once; pieces of them


class Hashing:
    """SHA-256 of bytes as they are read, computed in another thread than their parser's."""

    def __init__(self) -> None:
        self.size = 0
        self._sha256 = hashlib.sha256()
        self._thread = ThreadPoolExecutor(1)  # its thread starts with the first large piece
        self._waiting: deque[Future[None]] = deque()

    def update(self, data: bytes) -> None:
        """The next bytes."""
        self.size += len(data)
        if len(data) < _WORTH_A_THREAD and not self._waiting:
            self._sha256.update(data)
            return
        self._waiting.append(self._thread.submit(self._sha256.update, data))
        # Waiting pieces are in memory, so the reader waits where hashing is slower.
        if len(self._waiting) > _MOST_WAITING:
            self._waiting.popleft().result()

    def hexdigest(self) -> str:
        """The SHA-256 of all bytes."""
        while self._waiting:
            self._waiting.popleft().result()
        return self._sha256.hexdigest()


def section(path: Path, start: int, end: int, digest: Hashing | None) -> BinaryIO:
    """The bytes from `start` to `end` of a file, unpacked, and hashed by `digest`.

    A packed one is read from its first byte. Raises OSError.
    """
    stream: BinaryIO = path.open("rb")
    if how := packing(stream.read(LONGEST_MAGIC)):
        stream.seek(0)
        stream = unpacked(stream, how, path.stat().st_size, whole=False)
    else:
        stream.seek(start)
    part = BoundedStream(stream, end - start)
    return cast(BinaryIO, _Hashed(part, digest) if digest else io.BufferedReader(part, _CHUNK))


class BoundedStream(io.RawIOBase):
    """The next `size` bytes of a stream, which it closes: a log may grow while it is read."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self.beneath, self._left = cast(io.BufferedIOBase, stream), size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))[: self._left]
        count = self.beneath.readinto(view)
        self._left -= count
        return count

    def close(self) -> None:  # the raw one would leave the file beneath it open
        self.beneath.close()
        super().close()


class _Hashed(io.BufferedReader):
    """A stream whose bytes are hashed as they are read."""

    def __init__(self, raw: io.RawIOBase, digest: Hashing) -> None:
        super().__init__(raw, _CHUNK)
        self._digest = digest

    # Blocks are read with read(), lines longer than a block with readline().
    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self._digest.update(data)
        return data

    def readline(self, size: int | None = -1, /) -> bytes:
        data = super().readline(size)
        self._digest.update(data)
        return data


# More than any log shrinks: a small file that unpacks to more is made to fill a disk.
MOST_TIMES = 2000
LEAST_BYTES = 64 << 20
MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_GZIP, _PIECE = 31, 1 << 16  # zlib's window with gzip's headers; bytes
LONGEST_MAGIC = max(map(len, MAGIC))


def require_bytes(path: str | Path, found: os.stat_result) -> None:
    """Raises OSError for a file whose size is far larger than its written blocks.

    It takes no room, and to read its zeros takes days.
    """
    written = found.st_blocks * 512
    if found.st_size <= max(written * MOST_TIMES, LEAST_BYTES):
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        # Some file systems do not report written blocks; those that do report the hole.
        if os.lseek(descriptor, 0, os.SEEK_HOLE) < found.st_size:
            raise OSError(f"{found.st_size:,} bytes, of which {written:,} were written")
    finally:
        os.close(descriptor)


def packing(head: bytes) -> str | None:
    """How a file is packed, by its first bytes."""
    return next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)


def unpacked(stream: BinaryIO, how: str, size: int, *, whole: bool = True) -> BinaryIO:
    """The bytes of a packed stream of `size` bytes; unless it has to be `whole`, as far as it goes.

    Raises OSError, also while it is read, when it is damaged or grows without bound.
    """
    match how:
        case "gzip":
            inner: object = _Gzip(stream)
        case "bzip2":
            inner = bz2.BZ2File(stream)
        case "xz":
            inner = lzma.LZMAFile(stream)  # noqa: SIM115 - it lives as long as its reader
        case _:
            import pyarrow  # few logs are packed so

            inner = pyarrow.CompressedInputStream(stream, "zstd")
    limit = max(size * MOST_TIMES, LEAST_BYTES)
    limited = _Limited(cast(io.BufferedReader, inner), limit, stream, whole=whole)
    return cast(BinaryIO, io.BufferedReader(limited, 1 << 20))


class _Gzip:
    """The members of a gzip file in order, with zeros in between.

    Their headers are read by zlib: Python's own `gzip` takes a name in one letter by letter, of
    which there may be 200 MiB.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._packed, self._between = stream, b"", True
        self._member = zlib.decompressobj(_GZIP)

    def read(self, size: int) -> bytes:
        """Some bytes, at the end none; raises zlib.error, and EOFError where it breaks off."""
        while True:
            given = self._packed or self._stream.read(_PIECE)
            self._packed = b""
            if self._between:
                if not given:
                    return b""
                if not (given := given.lstrip(b"\0")):
                    continue
                self._member, self._between = zlib.decompressobj(_GZIP), False
            found = self._member.decompress(given, size)
            self._between = self._member.eof
            self._packed = self._member.unused_data or self._member.unconsumed_tail
            if found:
                return found
            if not given:
                raise EOFError("it breaks off")

    read1 = read

    def close(self) -> None:
        """Does nothing: the stream is closed by its owner."""


class _Limited(io.RawIOBase):
    """A stream that raises OSError after `limit` bytes, and for any damage.

    It closes the `packed` one with itself.
    """

    def __init__(
        self, inner: io.BufferedReader, limit: int, packed: BinaryIO, *, whole: bool
    ) -> None:
        self._inner, self._left, self._packed = inner, limit, packed
        # A larger read would lose the bytes unpacked before the stream breaks off.
        self._read = inner.read if whole else getattr(inner, "read1", inner.read)
        self._whole, self._has_any = whole, False
        self.ended_early = False

    def close(self) -> None:
        self._inner.close()
        self._packed.close()
        super().close()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))
        try:
            chunk = self._read(len(view))
        except (OSError, EOFError, lzma.LZMAError, zlib.error, ValueError) as error:
            # Its program was stopped, or the disk was full: what is there is as it was.
            if isinstance(error, EOFError) and self._has_any and not self._whole:
                self.ended_early = True
                return 0
            if isinstance(error, OSError) and error.errno is not None:
                raise  # of the file system
            raise OSError(f"the packed file is damaged: {error}") from error
        self._left -= len(chunk)
        self._has_any = self._has_any or bool(chunk)
        if self._left < 0:
            raise OSError("the packed file unpacks to more than a log can be")
        view[: len(chunk)] = chunk
        return len(chunk)


def ended_early(stream: object) -> bool:
    """Whether a packed stream, which others may wrap and have read, breaks off before its end."""
    while stream is not None:
        if isinstance(stream, _Limited):
            stream.read(1)
            return stream.ended_early
        stream = getattr(stream, "raw", None) or getattr(stream, "beneath", None)
    return False
