"""Logs wrapped or encoded by another program: Docker's JSON lines, and UTF-16."""

from __future__ import annotations

import io
import json
from typing import BinaryIO, cast

_CHUNK = 1 << 20


def unwrapped(stream: BinaryIO) -> BinaryIO:
    """The lines of a file of Docker's json-file driver as printed, with Docker's time in front."""
    return cast(BinaryIO, io.BufferedReader(_Unwrapped(stream), _CHUNK))


def recoded(stream: BinaryIO) -> BinaryIO:
    """UTF-16 with a byte order mark as UTF-8. Invalid code units become U+FFFD."""
    return io.BytesIO(stream.read().decode("utf-16", "replace").encode("utf-8", "replace"))


class _Unwrapped(io.RawIOBase):
    """Docker's file, line by line: a long line, which Docker splits, comes where it ends."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._rest = stream, b""
        self._begun = ""  # of a line that Docker has split

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))
        while not self._rest and (line := self._stream.readline(_CHUNK)):
            self._rest = self._printed(line)
        chunk, self._rest = self._rest[: len(view)], self._rest[len(view) :]
        view[: len(chunk)] = chunk
        return len(chunk)

    def _printed(self, line: bytes) -> bytes:
        try:
            entry = json.loads(line)
            text, at = str(entry["log"]), str(entry.get("time", ""))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return line if line.endswith(b"\n") else line + b"\n"
        text = self._begun + text
        if not text.endswith("\n") and len(text) < _CHUNK:
            self._begun = text
            return b"\n"
        self._begun = ""
        body = text.removesuffix("\n").replace("\n", " ")
        return f"{at} {body}\n".encode("utf-8", "replace")
