"""A fixed number of first bytes of a file, hashed, so that the file may grow meanwhile.

A small file is read into memory once, and hashed and parsed from there. A long one is a stream: it
is hashed while it is parsed, or before, if the hash decides whether it has to be parsed at all.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from ...records import reading as records
from ...schema.ledger import Ledger, Stamp
from .folders import is_packed_log
from .inputs import Input
from .streams import LONGEST_MAGIC, packing, require_bytes, unpacked

if TYPE_CHECKING:
    from .streams import Hashing

LONG_BYTES = 1 << 20  # a smaller file is read into memory
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # byte order marks
_CHUNK = 1 << 20
_BACK = 1 << 16  # bytes read at once to find the last line end
_HEAD = 1 << 20  # bytes that decide the kind of a file


class Changed(OSError):
    """The bytes are no longer those that were fingerprinted."""


@dataclass(slots=True)
class Content:
    """The first `size` bytes of a file, and their SHA-256; None until reading them computes it.

    Of a packed file they are the unpacked ones. `stamp` is the stat() of the file before they were
    hashed. `data` has those of a small file. `head` is the SHA-256 of the requested first bytes,
    `tail` of those after a requested offset.
    """

    path: Path
    size: int
    sha256: str | None = None
    stamp: Stamp | None = None
    data: bytes | None = None
    head: str | None = None
    tail: str | None = None

    def first_bytes(self) -> bytes:
        """The bytes that decide the kind of the file."""
        if self.data is not None:
            return self.data
        with self.path.open("rb") as stream:
            return stream.read(min(self.size, _HEAD))

    def packing(self) -> str | None:
        """The compression of the file, None if it is plain."""
        if self.data is not None:
            return None
        with self.path.open("rb") as stream:
            return packing(stream.read(LONGEST_MAGIC))

    def digest(self) -> Hashing | None:
        """Hashes the bytes while they are read; None if that is not needed.

        It is not if stat() would show any change since they were hashed.
        """
        known = self.sha256 is not None and self.stamp is not None and self.stamp.settled
        if known or self.data is not None:
            return None
        from .streams import Hashing  # few files are long

        return Hashing()

    def stream(self, start: int, end: int, digest: Hashing | None = None) -> BinaryIO:
        """The bytes from `start` to `end`, hashed while they are read. Raises OSError."""
        if self.data is not None:
            return io.BytesIO(self.data[start:end])
        from .streams import section

        return section(self.path, start, end, digest)

    def text(self) -> tuple[str, int]:
        """All of it as text, and the number of invalid characters."""
        data = self.data
        if data is None:
            with self.path.open("rb") as stream:
                data = stream.read(self.size)
            self.check(hashlib.sha256(data).hexdigest())
        if data.startswith(UTF_16):
            text = data.decode("utf-16", "replace")
        else:
            text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
        text = text.replace("\r\n", "\n").replace("\r", " ").replace("\x00", "")
        return text, text.count("\ufffd")

    def end_of_pieces(self) -> int:
        """The offset after the last line end or carriage return, which ends a bar's state."""
        return max(self.end_of_lines(), self.end_of_lines(mark=b"\r"))

    def end_of_lines(self, start: int = 0, mark: bytes = b"\n") -> int:
        """The offset after the last line end; `start` if none follows it. Raises OSError."""
        if self.data is not None:
            return max(start, self.data.rfind(mark, start) + 1)
        with self.path.open("rb") as stream:
            end = self.size
            while end > start:
                begin = max(start, end - _BACK)
                stream.seek(begin)
                found = stream.read(end - begin).rfind(mark)
                if found >= 0:
                    return begin + found + 1
                end = begin
        return start

    def cut(self, size: int) -> Content:
        """The first `size` bytes of a small file."""
        data = (self.data or b"")[:size]
        sha256 = hashlib.sha256(data).hexdigest()
        return replace(self, size=len(data), sha256=sha256, data=data)

    def with_head(self, size: int) -> Content:
        """A small file with the SHA-256 of its first `size` bytes, if it has so many."""
        if self.data is None or not 0 < size <= self.size:
            return self
        return replace(self, head=hashlib.sha256(self.data[:size]).hexdigest())

    def check(self, sha256: str) -> None:
        """Sets the SHA-256 of the bytes read; raises Changed if another one was set before."""
        if self.sha256 is None:
            self.sha256 = sha256
            self.confirm()
        elif sha256 != self.sha256:
            raise Changed(f"{self.path} changed while it was read")

    def check_read(self, digest: Hashing | None) -> None:
        """The same for all bytes, read by `stream` with this `digest`."""
        if digest is not None:
            if self.sha256 is None and digest.size != self.size:
                raise Changed(f"{self.path} changed while it was read")
            self.check(digest.hexdigest())
        # Hashed again, unless stat() shows no write since the bytes were hashed.
        elif self.data is None and not (self.stamp and self.stamp.same(stamp_of(self.path))):
            self.check(fingerprint_of(self.path, self.size).sha256 or "")  # a log may have grown

    def check_tail(self, digest: Hashing) -> None:
        """The same for the bytes of `tail`."""
        if digest.hexdigest() != self.tail:
            raise Changed(f"{self.path} changed while it was read")

    def confirm(self) -> None:
        """Raises Changed if the bytes read may never have been the content of the file.

        A program that overwrites them meanwhile leaves a mixture, which a second reading would not
        give.
        """
        untouched = self.stamp and self.stamp.settled and self.stamp.same(stamp_of(self.path))
        if not untouched and fingerprint_of(self.path, self.size).sha256 != self.sha256:
            raise Changed(f"{self.path} changed while it was read")


def stamp_of(path: str | Path) -> Stamp:
    """The stat() of a file now. Raises OSError when it is gone, or mostly a hole."""
    found = os.stat(path)
    require_bytes(path, found)
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, time.time_ns())


def is_untouched(item: Input, ledger: Ledger, version: int) -> bool:
    """Whether a file is known, and unchanged by its stat().

    A packed log may have been renamed, which takes a closer look.
    """
    known = ledger.newest(item.uri)
    if known is None or known.parser_version != version:
        return False
    try:
        stamp = stamp_of(item.file)
    except OSError:
        return False
    return ledger.unchanged(item.uri, stamp) is not None and not is_packed_log(item.file)


def is_long(size: int) -> bool:
    """Whether a file of this size, in bytes, is read piece by piece."""
    return size >= LONG_BYTES


def read_content(path: Path, head: int | None = None) -> Content:
    """The current bytes of a file, hashed; those of a small one are kept.

    For the marker of a folder of records, the bytes of all records. Also the SHA-256 of the first
    `head` bytes. Raises OSError when it cannot be read, Changed.
    """
    if records.is_marker(path):
        sha256, size = records.fingerprint_of_folder(path)
        return Content(path, size, sha256)
    stamp = stamp_of(path)
    if content := read_small(path, stamp):
        return content.with_head(head or 0)
    content = fingerprint_of(path, head=head)
    content.stamp = stamp
    return content


def read_small(path: Path, stamp: Stamp) -> Content | None:
    """The bytes of a small file, in memory; None for a long or packed one.

    Raises OSError, Changed.
    """
    if is_long(stamp.bytes):
        return None
    with path.open("rb", buffering=0) as file:
        data = file.read(stamp.bytes)  # not more: a log may grow, and its hash is of these
    if packing(data[:LONGEST_MAGIC]):
        return None
    content = Content(path, len(data), hashlib.sha256(data).hexdigest(), stamp, data)
    content.confirm()
    return content


def unhashed(path: Path, stamp: Stamp) -> Content | None:
    """The bytes of a file, to be hashed while they are read; None for a packed one."""
    content = Content(path, stamp.bytes, None, stamp)
    return None if content.packing() else content


def fingerprint_of(
    path: Path, size: int | None = None, head: int | None = None, since: int | None = None
) -> Content:
    """The first `size` bytes of a file, by default its current size, hashed and not kept.

    Of a packed file, the unpacked bytes: it is the same log when packed. Also hashed are the first
    `head` of them, and those after byte `since`. Raises OSError.
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
    of_tail = None if since is None else tail.hexdigest()
    return Content(path, at, whole.hexdigest(), head=of_head, tail=of_tail)


def _plain(file: BinaryIO) -> tuple[io.BufferedIOBase, int]:
    """The bytes of an open file, unpacked, and their greatest possible number."""
    size = os.fstat(file.fileno()).st_size
    how = packing(file.read(LONGEST_MAGIC))
    file.seek(0)
    plain = unpacked(file, how, size, whole=False) if how else file
    return cast(io.BufferedIOBase, plain), sys.maxsize if how else size
