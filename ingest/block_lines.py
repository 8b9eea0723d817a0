"""The lines of a block of a log, and their outlines, many at once."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from .arrays import Bytes, Places
from .digits import NINE, ZERO, ZEROS, outline

CACHED = 1 << 18  # bytes that stay in the processor's cache
LINE_END = 10
# Letters counted from the zero; 10 above the zero is a colon, and what is below it is far above.
ANY_DIGIT = np.full(CACHED, NINE - ZERO, np.uint8)
FROM_ZERO = bytes((byte + ZERO) % 256 for byte in range(256)).translate(ZEROS)


def _without_digits(letters: Bytes) -> Bytes:
    """Letters counted from the zero, any digit as 9: part by part, holding up no other threads."""
    found = np.empty_like(letters)
    for at in range(0, len(letters), CACHED):
        part = found[at : at + CACHED]
        np.subtract(letters[at : at + CACHED], np.uint8(ZERO), out=part)
        np.maximum(part, ANY_DIGIT[: len(part)], out=part)
    return found


def line_ends(letters: Bytes, most: int | None = None) -> Places:
    """The places of line ends, of the first `most`; not one by one in lines of one length."""
    first = np.flatnonzero(letters[:CACHED] == LINE_END)
    if len(first) > 1 and (np.diff(first, 2) == 0).all():
        start, width = int(first[0]), int(first[1] - first[0])
        end = len(letters) if most is None else start + (most - 1) * width + 1
        ends = np.arange(start, min(end, len(letters)), width)
        if _count(letters[:end], LINE_END) == len(ends) and (letters[ends] == LINE_END).all():
            return ends
    return _places(letters, LINE_END, most)


def _places(letters: Bytes, letter: int, most: int | None = None) -> Places:
    """Where a letter stands, part by part, until it was found so often."""
    found = [np.zeros(0, np.int64)]
    left = len(letters) if most is None else most
    for at in range(0, len(letters), CACHED):
        if left <= 0:
            break
        found.append(np.flatnonzero(letters[at : at + CACHED] == letter) + at)
        left -= len(found[-1])
    return np.concatenate(found)[:most]


def _count(letters: Bytes, letter: int) -> int:
    parts = range(0, len(letters), CACHED)
    return sum(int(np.count_nonzero(letters[at : at + CACHED] == letter)) for at in parts)


class Lines:
    """The lines of a block, whose last one is not ended. Raises UnicodeDecodeError."""

    def __init__(self, data: bytes, ends: Places | None = None) -> None:
        """`ends` are the places of line ends, where they are known."""
        if not data.isascii():
            data.decode("utf-8")
        self._data, self.letters = data, np.frombuffer(data, np.uint8)
        ends = line_ends(self.letters) if ends is None else ends
        self._ends = np.append(ends, len(data)) + 1  # where the lines behind each begin

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, place: int) -> str:
        return self.body(place).decode()

    def body(self, place: int) -> bytes:
        """A line as its bytes."""
        start = self._ends[place - 1] if place else 0
        return self._data[start : self._ends[place] - 1]

    @cached_property
    def lengths(self) -> Places:
        """The bytes of each line."""
        return np.diff(self._ends, prepend=0) - 1

    def starts(self, places: Places) -> Places:
        """Where lines begin among the letters."""
        return self._ends[places] - self.lengths[places] - 1

    def count(self, letter: str, places: Places) -> Places:
        """How often an ASCII letter stands on the lines at some places."""
        if 4 * len(places) < len(self):
            return np.array([line.count(letter) for line in self.texts(places)], np.int64)
        found = _places(self.letters, ord(letter))
        starts = self.starts(places)
        return np.searchsorted(found, self._ends[places]) - np.searchsorted(found, starts)

    def gather(self, places: Places) -> pa.StringArray:
        """The lines at some places, with their ends or without."""
        if 4 * len(places) < len(self):
            return pa.array(self.texts(places), pa.string())
        whole = pa.StringArray.from_buffers(len(self), *self._whole(self.letters))
        return whole if len(places) == len(self) else whole.take(pa.array(places))

    def outlines(self, places: Places) -> tuple[list[str], Places]:
        """The outlines of the lines at some places, and which of them each line has.

        That of a last line, which is not ended, may be there twice.
        """
        if 4 * len(places) < len(self):
            text = outline("\n".join(self.texts(places)))
            found = pa.array(text.split("\n") if len(places) else [], pa.string())
            found = found.dictionary_encode()
            return found.dictionary.to_pylist(), found.indices.to_numpy().astype(np.int64)
        letters = self._whole(_without_digits(self.letters))
        found = pa.BinaryArray.from_buffers(pa.binary(), len(self), [None, *letters])
        found = found.dictionary_encode()
        which, lines = found.indices.to_numpy().astype(np.int64), found.dictionary
        if len(places) < len(self):
            used, which = np.unique(which[places], return_inverse=True)
            lines = lines.take(pa.array(used))
        told = [line.translate(FROM_ZERO).decode() for line in lines.to_pylist()]
        return [line.removesuffix("\n") for line in told], which

    def _whole(self, letters: Bytes) -> tuple[pa.Buffer, pa.Buffer]:
        """Each line with its end, where it has one, of a block that is as long."""
        offsets = np.zeros(len(self) + 1, np.int32)
        offsets[1:] = self._ends
        offsets[-1] -= 1
        return pa.py_buffer(offsets), pa.py_buffer(letters)

    def texts(self, places: Places) -> list[str]:
        """The lines at some places."""
        starts, data = self.starts(places).tolist(), self._data
        ends = (self._ends[places] - 1).tolist()
        return [data[start:end].decode() for start, end in zip(starts, ends, strict=True)]
