"""The lines of a block of a log, and their outlines: a line with every digit a zero."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt
import polars as pl

SEPARATOR = b"\x01"
ZEROS = bytes(ord("0") if ord("0") <= byte <= ord("9") else byte for byte in range(256))
Places = npt.NDArray[np.int64]


def split(data: bytes, count: int) -> pl.Series:
    """The lines of a block; raises UnicodeDecodeError."""
    text = data.decode("utf-8")
    # A reader of CSV is fastest; what it would treat as its own is left to Python.
    if data[:1] not in (b"\n", b"\xef", b"") and SEPARATOR not in data and b"\r" not in data:
        table = pl.read_csv(
            io.BytesIO(data), separator=SEPARATOR.decode(), has_header=False, quote_char=None,
            infer_schema=False, new_columns=["line"],
        )  # fmt: skip
        if table.height == count and table.width == 1:
            return table["line"].fill_null("")
    return pl.Series("line", text.split("\n"), pl.String)


def outline(text: str) -> str:
    """A text with every digit a zero."""
    return text.encode().translate(ZEROS).decode()


class Lines:
    """The lines of a block; which of texts and outlines are wanted for all of them comes first.

    `whole`: the texts of most lines will be asked for, else the outlines of all. Raises
    UnicodeDecodeError.
    """

    def __init__(self, data: bytes, count: int, *, whole: bool) -> None:
        self._data, self.whole = data, whole
        self._first = split(data if whole else data.translate(ZEROS), count)
        self._ends = np.cumsum(self._first.str.len_bytes().to_numpy().astype(np.int64) + 1)

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, place: int) -> str:
        start = self._ends[place - 1] if place else 0
        return self._data[start : self._ends[place] - 1].decode()

    def gather(self, places: Places) -> pl.Series:
        """The lines at some places."""
        if 4 * len(places) < len(self):
            return self._cut_out(places)
        return _at(self._first if self.whole else split(self._data, len(self)), places)

    def outlines(self, places: Places) -> pl.Series:
        """The outlines of the lines at some places."""
        if not self.whole:
            return _at(self._first, places)
        text = "\n".join(self._cut_out(places).to_list())
        return pl.Series("line", outline(text).split("\n") if len(places) else [], pl.String)

    def _cut_out(self, places: Places) -> pl.Series:
        return pl.Series("line", [self[place] for place in places.tolist()], pl.String)


def _at(lines: pl.Series, places: Places) -> pl.Series:
    return lines if len(places) == len(lines) else lines.gather(places)
