"""A stream in pieces of whole lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from .arrays import Places
from .block_lines import line_ends
from .lines import BOM, PIECE_LIMIT

FIRST = 1 << 18  # bytes of the first piece: it shows the shape that most lines of the others have
# Where lines are short it is what is known of each of them that takes memory.
MOST = 1 << 18  # lines of a piece


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole lines, without the last line's end, if there are any; and one without its end."""

    whole: bytes | None
    rest: bytes = b""
    ends: Places | None = None  # of lines in `whole`

    @property
    def goes_on(self) -> bool:
        """Whether the line without its end is longer than a line can be, and not yet at its end."""
        return len(self.rest) >= PIECE_LIMIT - len(BOM)


@dataclass(slots=True)
class Pieces:
    """A stream, piece by piece."""

    stream: BinaryIO
    size: int
    first: bool
    waits: bool = False  # for somebody to read a long line to its end
    _rest: bytes = b""  # a line whose end is still to come
    _data: bytes = b""  # what was read last,
    _at: int = 0  # and how far it was given

    def next(self) -> Piece | None:
        """The next piece; None at the end, and within a long line. Raises OSError."""
        while not self.waits and (data := self._read()):
            ends = line_ends(np.frombuffer(data, np.uint8), MOST)
            # After a line's end, so that a long line is never begun in what is kept.
            data = data[: ends[-1] + 1] if len(ends) == MOST else data
            self._at += len(data)
            piece = self._piece(data, ends)
            if piece.goes_on:
                self.waits, self._rest = True, b""
                return piece
            self._rest = piece.rest
            if piece.whole is not None:
                return Piece(piece.whole, ends=piece.ends)
        rest, self._rest = self._rest, b""
        return Piece(None, rest) if rest else None

    def _read(self) -> memoryview:
        """What is read and not yet given."""
        if self._at == len(self._data):
            size = min(FIRST, self.size) if self.first else self.size
            self._data, self._at = self.stream.read(size), 0
            if self.first and self._data.startswith(BOM):
                self._at = len(BOM)
            self.first = False
        return memoryview(self._data)[self._at :]

    def _piece(self, data: memoryview, ends: Places) -> Piece:
        if not len(ends):
            return Piece(None, self._rest + data)
        end = int(ends[-1])
        whole = b"".join((self._rest, data[:end]))
        return Piece(whole, bytes(data[end + 1 :]), ends[:-1] + len(self._rest))
