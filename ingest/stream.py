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
    _over: bytes = b""  # what was read of lines that are too many

    def next(self) -> Piece | None:
        """The next piece; None at the end, and within a long line."""
        size = min(FIRST, self.size) if self.first else self.size
        while not self.waits and (data := self._over or self.stream.read(size)):
            self._over = b""
            if self.first:
                data, self.first = data.removeprefix(BOM), False
            data, ends = self._bounded(data)
            piece = self._piece(data, ends)
            if piece.goes_on:
                self.waits, self._rest = True, b""
                return piece
            self._rest = piece.rest
            if piece.whole is not None:
                return Piece(piece.whole, ends=piece.ends)
        rest, self._rest = self._rest, b""
        return Piece(None, rest) if rest else None

    def _bounded(self, data: bytes) -> tuple[bytes, Places]:
        """What is not too many lines of it, and the places of their ends."""
        ends = line_ends(np.frombuffer(data, np.uint8))
        if len(ends) <= MOST:
            return data, ends
        # After a line's end, so that a long line is never begun in what is kept.
        cut = int(ends[MOST - 1]) + 1
        self._over = data[cut:]
        return data[:cut], ends[:MOST]

    def _piece(self, data: bytes, ends: Places) -> Piece:
        if not len(ends):
            return Piece(None, self._rest + data)
        end = int(ends[-1])
        whole = b"".join((self._rest, memoryview(data)[:end]))
        return Piece(whole, data[end + 1 :], ends[:-1] + len(self._rest))
