"""A log in blocks of whole lines; the next blocks are read and scanned ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .lines import BOM, PIECE_LIMIT
from .masks import NINE, ZERO, ZEROS

# Arrays of one dimension, by their elements.
Bytes = npt.NDArray[np.uint8]
Double = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]  # a mask over lines or letters
Places = npt.NDArray[np.int64]  # of lines in a block, or of letters
Times = npt.NDArray[np.datetime64]
Whole = npt.NDArray[np.int64]

# Where lines are short, the results of their scan take most of the memory.
MOST_LINES = 1 << 18  # of a block
CACHED = 1 << 18  # bytes that stay in the processor's cache
LINE_END = 10
# Letters counted from the zero; 10 above the zero is a colon, and what is below it is far above.
ANY_DIGIT = np.full(CACHED, NINE - ZERO, np.uint8)
FROM_ZERO = bytes((byte + ZERO) % 256 for byte in range(256)).translate(ZEROS)


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole lines, without the last line's end, if any; and the beginning of the next line."""

    whole: bytes | None
    rest: bytes = b""

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
    waits: bool = False  # until a long line is read to its end
    _rest: bytes = b""  # the beginning of an incomplete line
    _data: bytes = b""  # the newest read,
    _at: int = 0  # and how much of it is consumed

    def next(self) -> Piece | None:
        """The next piece; None at the end, and within a long line. Raises OSError."""
        while not self.waits and (data := self._read()):
            ends = line_ends(np.frombuffer(data, np.uint8), MOST_LINES)
            # After a line's end, so that no long line begins in the bytes kept.
            data = data[: ends[-1] + 1] if len(ends) == MOST_LINES else data
            self._at += len(data)
            piece = self._piece(data, int(ends[-1]) if len(ends) else None)
            if piece.goes_on:
                self.waits, self._rest = True, b""
                return piece
            self._rest = piece.rest
            if piece.whole is not None:
                return Piece(piece.whole)
        rest, self._rest = self._rest, b""
        return Piece(None, rest) if rest else None

    def _read(self) -> memoryview:
        """The bytes read and not yet consumed."""
        if self._at == len(self._data):
            self._data, self._at = self.stream.read(self.size), 0
            if self.first and self._data.startswith(BOM):
                self._at = len(BOM)
            self.first = False
        return memoryview(self._data)[self._at :]

    def _piece(self, data: memoryview, end: int | None) -> Piece:
        if end is None:
            return Piece(None, self._rest + data)
        return Piece(b"".join((self._rest, data[:end])), bytes(data[end + 1 :]))


def line_ends(letters: Bytes, most: int | None = None) -> Places:
    """The places of line ends, of the first `most`."""
    found = [np.zeros(0, np.int64)]
    left = len(letters) if most is None else most
    for at in range(0, len(letters), CACHED):
        if left <= 0:
            break
        found.append(np.flatnonzero(letters[at : at + CACHED] == LINE_END) + at)
        left -= len(found[-1])
    return np.concatenate(found)[:most]


def with_plain_ends(data: bytes) -> bytes:
    """Line ends of Windows, if all lines have them, as plain line feeds."""
    if b"\r" in data and data.count(b"\r") == data.count(b"\r\n") + data.endswith(b"\r"):
        return data.replace(b"\r\n", b"\n").removesuffix(b"\r")
    return data


class Lines:
    """The lines of a block, whose last one is not ended. Raises UnicodeDecodeError."""

    def __init__(self, data: bytes) -> None:
        if not data.isascii():
            data.decode("utf-8")
        self._data, self.letters = data, np.frombuffer(data, np.uint8)
        self._ends = np.append(line_ends(self.letters), len(data)) + 1  # where the next ones begin

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, place: int) -> str:
        return self.body(place).decode()

    def body(self, place: int) -> bytes:
        """A line as its bytes."""
        start = self._ends[place - 1] if place else 0
        return self._data[start : self._ends[place] - 1]

    def starts(self, places: Places) -> Places:
        """Where lines begin among the letters."""
        starts: Places = np.where(places > 0, self._ends[places - 1], 0)
        return starts

    def masks(self) -> tuple[list[str], Whole]:
        """The masks of the lines, and which of them each line has.

        That of the last line, which is not ended, may be there twice.
        """
        offsets = np.zeros(len(self) + 1, np.int32)
        offsets[1:] = self._ends
        offsets[-1] -= 1
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(_masked(self.letters))]
        lines = pa.BinaryArray.from_buffers(pa.binary(), len(self), buffers)
        found = lines.dictionary_encode()
        masks = [mask.translate(FROM_ZERO).decode() for mask in found.dictionary.to_pylist()]
        which = found.indices.to_numpy().astype(np.int64)
        return [mask.removesuffix("\n") for mask in masks], which


def _masked(letters: Bytes) -> Bytes:
    """Letters counted from the zero, any digit as 9: by parts in numpy, which releases the GIL."""
    found = np.empty_like(letters)
    for at in range(0, len(letters), CACHED):
        part = found[at : at + CACHED]
        np.subtract(letters[at : at + CACHED], np.uint8(ZERO), out=part)
        np.maximum(part, ANY_DIGIT[: len(part)], out=part)
    return found
