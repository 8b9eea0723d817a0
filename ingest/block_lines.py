"""The lines of a block of a log, and their outlines: a line with every digit a zero."""

from __future__ import annotations

import io
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

CACHED = 1 << 17  # bytes that stay in the processor's cache
SEPARATOR = b"\x01"
ZEROS = bytes(ord("0") if ord("0") <= byte <= ord("9") else byte for byte in range(256))
Places = npt.NDArray[np.int64]


def split(data: bytes, count: int) -> pl.Series:
    """The lines of a block; raises UnicodeDecodeError."""
    if not data.isascii():
        data.decode("utf-8")
    # A reader of CSV is fastest; what it would treat as its own is left to Python.
    if data[:1] not in (b"\n", b"\xef", b"") and SEPARATOR not in data and b"\r" not in data:
        table = pl.read_csv(
            io.BytesIO(data), separator=SEPARATOR.decode(), has_header=False, quote_char=None,
            infer_schema=False, new_columns=["line"],
        )  # fmt: skip
        if table.height == count and table.width == 1:
            return table["line"].fill_null("")
    return pl.Series("line", data.decode("utf-8").split("\n"), pl.String)


def outline(text: str) -> str:
    """A text with every digit a zero."""
    return text.encode().translate(ZEROS).decode()


def outlines_of(data: bytes) -> bytes:
    """Lines with every digit a zero, as `outline` has it, and without holding up other threads."""
    letters = np.frombuffer(data, np.uint8)
    found = np.empty_like(letters)
    for start in range(0, len(letters), CACHED):
        part = letters[start : start + CACHED]
        digits = part - np.uint8(ord("0"))
        digits *= digits < 10
        np.subtract(part, digits, out=found[start : start + CACHED])
    return found.tobytes()


class Lines:
    """The lines of a block; which of texts and outlines are wanted for all of them comes first.

    `whole`: the texts of most lines will be asked for, else the outlines of all. Raises
    UnicodeDecodeError.
    """

    def __init__(self, data: bytes, count: int, *, whole: bool) -> None:
        self._data, self._bytes, self.whole = data, np.frombuffer(data, np.uint8), whole
        if whole:
            if not data.isascii():
                data.decode("utf-8")
            self._ends = self._line_ends(count)
        else:
            self._outlines = split(outlines_of(data), count)
            self._ends = np.cumsum(self._outlines.str.len_bytes().to_numpy().astype(np.int64) + 1)

    def _line_ends(self, count: int) -> Places:
        """Where the lines behind each begin."""
        width = self._data.find(b"\n") + 1
        if len(self._data) + 1 == count * width and (self._bytes[width - 1 :: width] == 10).all():
            return np.arange(1, count + 1) * width
        return np.append(np.flatnonzero(self._bytes == 10), len(self._data)) + 1

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, place: int) -> str:
        start = self._ends[place - 1] if place else 0
        return self._data[start : self._ends[place] - 1].decode()

    @cached_property
    def lengths(self) -> Places:
        """The bytes of each line."""
        return np.diff(self._ends, prepend=0) - 1

    def table(self, places: Places, length: int) -> npt.NDArray[np.uint8]:
        """Lines of one length, a row of bytes each."""
        starts = self._ends[places] - length - 1
        rows = np.lib.stride_tricks.sliding_window_view(self._bytes, length)
        return rows[starts]

    @cached_property
    def _texts(self) -> pl.Series:
        return split(self._data, len(self))

    def gather(self, places: Places) -> pl.Series:
        """The lines at some places."""
        if 4 * len(places) < len(self):
            return self._cut_out(places)
        return _at(self._texts, places)

    def outlines(self, places: Places) -> pl.Series:
        """The outlines of the lines at some places."""
        if not self.whole:
            return _at(self._outlines, places)
        text = "\n".join(self._cut_out(places).to_list())
        return pl.Series("line", outline(text).split("\n") if len(places) else [], pl.String)

    def _cut_out(self, places: Places) -> pl.Series:
        return pl.Series("line", [self[place] for place in places.tolist()], pl.String)


def _at(lines: pl.Series, places: Places) -> pl.Series:
    return lines if len(places) == len(lines) else lines.gather(places)
