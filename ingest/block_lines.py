"""The lines of a block of a log, and their outlines: a line with every digit a zero."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

CACHED = 1 << 17  # bytes that stay in the processor's cache
LINE_END = 10
ZEROS = bytes(ord("0") if ord("0") <= byte <= ord("9") else byte for byte in range(256))
Places = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


def outline(text: str) -> str:
    """A text with every digit a zero."""
    return text.encode().translate(ZEROS).decode()


def outlines_of(letters: Bytes) -> Bytes:
    """Lines with every digit a zero, as `outline` has it, and without holding up other threads."""
    found = np.empty_like(letters)
    for start in range(0, len(letters), CACHED):
        part = letters[start : start + CACHED]
        digits = part - np.uint8(ord("0"))
        digits *= digits < 10
        np.subtract(part, digits, out=found[start : start + CACHED])
    return found


def count_lines(letters: Bytes) -> int:
    """How many lines end, part by part, and without holding up other threads."""
    parts = range(0, len(letters), CACHED)
    return sum(int(np.count_nonzero(letters[at : at + CACHED] == LINE_END)) for at in parts)


def line_ends(letters: Bytes) -> Places:
    """The places of line ends, found part by part."""
    parts = range(0, len(letters), CACHED)
    ends = [np.flatnonzero(letters[at : at + CACHED] == LINE_END) + at for at in parts]
    return np.concatenate(ends) if ends else np.zeros(0, np.int64)


class Lines:
    """The lines of a block, whose last one is not ended. Raises UnicodeDecodeError."""

    def __init__(self, data: bytes) -> None:
        if not data.isascii():
            data.decode("utf-8")
        self._data, self.letters = data, np.frombuffer(data, np.uint8)
        self._ends = self._behind_each()  # where the lines behind each begin

    def _behind_each(self) -> Places:
        width = self._data.find(b"\n") + 1
        count = (len(self._data) + 1) // width if width else 1
        ends = count * width == len(self._data) + 1 and self.letters[width - 1 :: width] == LINE_END
        if np.all(ends) and np.count_nonzero(self.letters == LINE_END) == count - 1:
            return np.arange(1, count + 1) * width
        return np.append(line_ends(self.letters), len(self._data)) + 1

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, place: int) -> str:
        start = self._ends[place - 1] if place else 0
        return self._data[start : self._ends[place] - 1].decode()

    @cached_property
    def lengths(self) -> Places:
        """The bytes of each line."""
        return np.diff(self._ends, prepend=0) - 1

    def starts(self, places: Places) -> Places:
        """Where lines begin among the letters."""
        return self._ends[places] - self.lengths[places] - 1

    def gather(self, places: Places) -> pa.StringArray:
        """The lines at some places, with their ends or without."""
        if 4 * len(places) < len(self):
            return pa.array(self._cut_out(places), pa.string())
        whole = self._whole(self.letters)
        return whole if len(places) == len(self) else whole.take(pa.array(places))

    def outlines(self, places: Places) -> tuple[list[str], Places]:
        """The different outlines of the lines at some places, and which of them each line has."""
        if 4 * len(places) < len(self):
            text = outline("\n".join(self._cut_out(places)))
            lines = pa.array(text.split("\n") if len(places) else [], pa.string())
        else:
            lines = self._whole(outlines_of(self.letters))
        found = lines.dictionary_encode()
        which = found.indices.to_numpy()
        distinct = [line.removesuffix("\n") for line in found.dictionary.to_pylist()]
        return distinct, which[places] if len(which) > len(places) else which

    def _whole(self, letters: Bytes) -> pa.StringArray:
        """Each line with its end, where it has one, of a block that is as long."""
        offsets = np.zeros(len(self) + 1, np.int32)
        offsets[1:] = self._ends
        offsets[-1] -= 1
        return pa.StringArray.from_buffers(len(self), pa.py_buffer(offsets), pa.py_buffer(letters))

    def _cut_out(self, places: Places) -> list[str]:
        return [self[place] for place in places.tolist()]
