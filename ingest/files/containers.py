"""Logs wrapped or encoded otherwise: Docker's JSON lines, UTF-16, and JSON with a value a line."""

from __future__ import annotations

import io
import json
from abc import abstractmethod
from collections.abc import Callable
from typing import BinaryIO, cast

from ..kinds import is_of_docker, is_trainer_state

_CHUNK = 1 << 20
_MOST_LINES = 400  # of an object that is read as one line


def wrapping(head: bytes) -> Callable[[BinaryIO], BinaryIO] | None:
    """What makes the lines of a log of a file with this beginning; None where they are its own."""
    if is_of_docker(head):
        return unwrapped
    return joined if is_trainer_state(head) else None


def joined(stream: BinaryIO) -> BinaryIO:
    """A file of JSON with each innermost object on its first line, and blank lines below it."""
    return cast(BinaryIO, io.BufferedReader(_Joined(stream), _CHUNK))


def unwrapped(stream: BinaryIO) -> BinaryIO:
    """The lines of a file of Docker's json-file driver as printed, with Docker's time in front."""
    return cast(BinaryIO, io.BufferedReader(_Unwrapped(stream), _CHUNK))


def recoded(stream: BinaryIO) -> BinaryIO:
    """UTF-16 with a byte order mark as UTF-8. Invalid code units become U+FFFD."""
    return io.BytesIO(stream.read().decode("utf-16", "replace").encode("utf-8", "replace"))


class _Lines(io.RawIOBase):
    """A file whose lines are others."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._rest = stream, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))
        while not self._rest and (line := self._stream.readline(_CHUNK)):
            self._rest = self._printed(line)
        if not self._rest:
            self._rest = self._left()
        chunk, self._rest = self._rest[: len(view)], self._rest[len(view) :]
        view[: len(chunk)] = chunk
        return len(chunk)

    @abstractmethod
    def _printed(self, line: bytes) -> bytes:
        """The lines that are known with this one."""

    def _left(self) -> bytes:
        """At the end of the file: the lines that wait for another."""
        return b""


class _Joined(_Lines):
    """JSON of one value a line, with objects as one line."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        self._object: list[bytes] = []  # the lines of one that has begun

    def _printed(self, line: bytes) -> bytes:
        text = line.strip()
        if text.endswith(b"{") or not self._object or len(self._object) >= _MOST_LINES:
            before = self._left()
            if not text.endswith(b"{"):
                return before + line
            self._object = [line]
            return before
        self._object.append(line)
        if not text.startswith(b"}"):
            return b""
        members = [one.strip() for one in self._object]
        self._object.clear()
        whole = members[0] + b" ".join(members[1:-1]) + members[-1]
        return whole + b"\n" * len(members)

    def _left(self) -> bytes:
        left = b"".join(self._object)
        self._object.clear()
        return left


class _Unwrapped(_Lines):
    """Docker's file, line by line: a long line, which Docker splits, comes where it ends."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        self._begun: list[str] = []  # of a line that Docker has split
        self._size = 0

    def _printed(self, line: bytes) -> bytes:
        try:
            entry = json.loads(line)
            text, at = str(entry["log"]), str(entry.get("time", ""))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return line if line.endswith(b"\n") else line + b"\n"
        self._begun.append(text)
        self._size += len(text)
        if not text.endswith("\n") and self._size < _CHUNK:
            return b"\n"
        text, self._size = "".join(self._begun), 0
        self._begun.clear()
        body = text.removesuffix("\n").replace("\n", " ")
        return f"{at} {body}\n".encode("utf-8", "replace")
