"""The bytes of a file that count: the first of them, hashed, so that growth does no harm."""

from __future__ import annotations

import hashlib
import io
import os
import sys
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from ..records import reading as records
from ..schema.ledger import Stamp
from .packed import LONGEST_MAGIC, packing, unpacked

_CHUNK = 1 << 20
_WORTH_A_THREAD, _MOST_WAITING = 1 << 16, 1  # bytes hashed at once; pieces of them
_BACK = 1 << 16  # bytes looked at at once for the last line end
_HEAD = 1 << 20  # bytes looked at to tell what a file is


class Changed(OSError):
    """The bytes are no longer those that were fingerprinted."""


class Hashing:
    """SHA-256 of bytes as they are read, made beside what is done with them."""

    def __init__(self) -> None:
        self.size = 0
        self._sha256 = hashlib.sha256()
        self._beside = ThreadPoolExecutor(1)  # its thread ends with it
        self._waiting: deque[Future[None]] = deque()

    def update(self, data: bytes) -> None:
        """The next bytes."""
        self.size += len(data)
        if len(data) < _WORTH_A_THREAD and not self._waiting:
            self._sha256.update(data)
            return
        self._waiting.append(self._beside.submit(self._sha256.update, data))
        if len(self._waiting) > _MOST_WAITING:
            self._waiting.popleft().result()

    def hexdigest(self) -> str:
        """That of all bytes."""
        while self._waiting:
            self._waiting.popleft().result()
        return self._sha256.hexdigest()


@dataclass(frozen=True, slots=True)
class Print:
    """What tells the first `size` bytes of a file from others, as SHA-256.

    `head` is that of the first bytes asked for, `tail` of those behind a place asked for.
    """

    sha256: str
    size: int
    head: str | None = None
    tail: str | None = None
    stamp: Stamp | None = None  # what the file system said of the file before


@dataclass(frozen=True, slots=True)
class FileBytes:
    """The first `size` bytes of a file, whose SHA-256 is `sha256`; None: reading has to tell it.

    They were hashed after the file system gave it this `stamp`; while it is the same, they are.
    """

    path: Path
    sha256: str | None
    size: int
    stamp: Stamp | None = None

    @property
    def digest(self) -> Hashing | None:
        """What hashes them while they are read; None where the file system tells of changes."""
        told = self.sha256 is not None and self.stamp is not None and self.stamp.settled
        return None if told else Hashing()

    def head(self) -> bytes:
        """What tells what the file is."""
        with self.path.open("rb") as stream:
            return stream.read(min(self.size, _HEAD))

    def packing(self) -> str | None:
        """How the file is packed, whose bytes are those that it holds."""
        with self.path.open("rb") as stream:
            return packing(stream.read(LONGEST_MAGIC))

    def text(self) -> tuple[str, int]:
        """All of it as text, and how many characters are no UTF-8."""
        with self.path.open("rb") as stream:
            content = stream.read(self.size)
        self.check(hashlib.sha256(content).hexdigest())
        text = content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
        text = text.replace("\r\n", "\n").replace("\r", " ").replace("\x00", "")
        return text, text.count("\ufffd")

    def check(self, sha256: str) -> None:
        """Raises Changed where these are not the bytes that were read."""
        if sha256 != self.sha256:
            raise Changed(f"{self.path} changed while it was read")

    def check_read(self, digest: Hashing | None) -> str | None:
        """The same of bytes that were hashed while they were read, or need not be; gives theirs."""
        if digest is not None:
            sha256 = digest.hexdigest()
            if self.sha256 is not None or digest.size != self.size:
                self.check(sha256)
            return sha256
        if self.stamp is None or not self.stamp.same(stamp_of(self.path)):
            self.check(print_of(self.path, self.size).sha256)  # a log may have grown
        return self.sha256


class Bounded(io.RawIOBase):
    """The next `size` bytes of a stream: a log may grow while it is read."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream, self._left = cast(io.BufferedIOBase, stream), size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))[: self._left]
        count = self._stream.readinto(view)
        self._left -= count
        return count

    def buffered(self, digest: Hashing | None) -> BinaryIO:
        """The same, read in large pieces, and hashed."""
        return cast(BinaryIO, _Hashed(self, digest) if digest else io.BufferedReader(self, _CHUNK))


class _Hashed(io.BufferedReader):
    """A stream whose bytes are hashed as they are read."""

    def __init__(self, raw: io.RawIOBase, digest: Hashing) -> None:
        super().__init__(raw, _CHUNK)
        self._digest = digest

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self._digest.update(data)
        return data

    def readline(self, size: int | None = -1, /) -> bytes:
        data = super().readline(size)
        self._digest.update(data)
        return data


def stamp_of(path: str | Path) -> Stamp:
    """What the file system says of a file now. Raises OSError when it is gone."""
    found = os.stat(path)
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, time.time_ns())


def fingerprint(path: Path) -> tuple[str, int]:
    """SHA-256 and size of a file's bytes, as far as they reach when it is opened.

    Of a folder of records, which its marker stands for, those of all of them. Raises OSError when
    it cannot be read.
    """
    if records.is_marker(path):
        return records.fingerprint_of_folder(path)
    found = print_of(path)
    return found.sha256, found.size


def print_of(
    path: Path, size: int | None = None, head: int | None = None, since: int | None = None
) -> Print:
    """The print of the first `size` bytes of a file, by default of all that are there.

    Of a packed file they are those that it holds: packing makes no other log of it. Also of the
    first `head` of them, and of those behind byte `since`. Raises OSError.
    """
    whole, tail, of_head, at = hashlib.sha256(), hashlib.sha256(), None, 0
    with path.open("rb", buffering=0) as file:
        stream, there = _plain(file)
        size = there if size is None else size
        buffer = memoryview(bytearray(min(_CHUNK, size)))
        for end in sorted({min(one, size) for one in (head, since, size) if one is not None}):
            while at < end and (count := stream.readinto(buffer[: end - at])):
                chunk = buffer[:count]
                whole.update(chunk)
                if since is not None and at >= since:
                    tail.update(chunk)
                at += count
            of_head = whole.hexdigest() if end == head == at else of_head
    return Print(whole.hexdigest(), at, of_head, None if since is None else tail.hexdigest())


def _plain(file: BinaryIO) -> tuple[io.BufferedIOBase, int]:
    """The bytes of an open file, unpacked, and how many there are at most."""
    size = os.fstat(file.fileno()).st_size
    how = packing(file.read(LONGEST_MAGIC))
    file.seek(0)
    plain = unpacked(file, how, size) if how else file
    return cast(io.BufferedIOBase, plain), sys.maxsize if how else size


def end_of_lines(path: Path, size: int | None = None, start: int = 0) -> int:
    """The place behind the last line end of the first `size` bytes; `start` where there is none.

    Raises OSError.
    """
    with path.open("rb") as stream:
        end = os.fstat(stream.fileno()).st_size if size is None else size
        while end > start:
            begin = max(start, end - _BACK)
            stream.seek(begin)
            found = stream.read(end - begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            end = begin
    return start
