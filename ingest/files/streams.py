"""Long files as streams: a bounded part of one, hashed while it is read."""

from __future__ import annotations

import hashlib
import io
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, cast

from .packed import LONGEST_MAGIC, packing, unpacked

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
    part = Bounded(stream, end - start)
    return cast(BinaryIO, _Hashed(part, digest) if digest else io.BufferedReader(part, _CHUNK))


class Bounded(io.RawIOBase):
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
