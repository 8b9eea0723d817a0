"""Texts of one length as a table of bytes: numbers that stand at the same places, all at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .arrays import Bytes, Double, Marks, Places, Whole

# Below 2**53, and by a power of ten that is a double itself, one operation rounds to the nearest
# double (W. D. Clinger, How to Read Floating Point Numbers Accurately, 1990).
DOUBLE_DIGITS, DOUBLE_POWER = 15, 22
WHOLE_DIGITS = 18
POWERS = np.array([10.0**power for power in range(DOUBLE_POWER + 1)])
TOGETHER = 512  # lines that are turned together: so many stay in the processor's cache
BLANK, ZERO, PLUS, MINUS = (np.uint8(ord(letter)) for letter in " 0+-")


class ByteTable:
    """Lines as long as a sample, which may differ from it in some spans.

    `fits` marks those in which everything asked for stood so far.
    """

    def __init__(
        self, letters: Bytes, starts: Places, sample: bytes, spans: Iterable[tuple[int, int]]
    ) -> None:
        """The lines begin at some places of the letters."""
        self._letters, self._starts = letters, starts
        varies = np.zeros(len(sample), bool)
        for start, end in spans:
            varies[start:end] = True
        self._row = np.cumsum(varies) - 1  # of the columns, by the place within a line
        self._columns = np.empty((int(varies.sum()), len(starts)), np.uint8)
        self.fits: Marks = np.empty(len(starts), bool)
        wanted, places = np.frombuffer(sample, np.uint8), np.flatnonzero(varies)
        for start in range(0, len(starts), TOGETHER):
            some = slice(start, start + TOGETHER)
            lines = self._cut(some, 0, len(sample))
            same = lines == wanted
            same |= varies
            self.fits[some] = same.all(axis=1)
            self._columns[:, some] = lines[:, places].T

    def _cut(self, some: slice, start: int, end: int) -> Bytes:
        """What stands there on some of the lines, a row of bytes each."""
        texts = np.lib.stride_tricks.sliding_window_view(self._letters, end - start)
        return texts[self._starts[some] + start]

    def digits(self, start: int, end: int, *, padded: bool = False) -> Whole:
        """Digits as a whole number, where it is `padded` behind blanks."""
        columns = self._columns[self._row[start] : self._row[start] + end - start]
        marks = (columns - ZERO) < 10
        if padded:
            self.fits &= (marks | (columns == BLANK)).all(axis=0) & marks[-1]
            self.fits &= (marks[:-1] <= marks[1:]).all(axis=0)  # no blank behind a digit
        else:
            self.fits &= marks.all(axis=0)
        kind = np.int32 if end - start <= 9 else np.int64
        value: Whole = np.zeros(columns.shape[1], kind)
        for column in columns:
            value *= 10
            value += column & np.uint8(15)  # of a blank 0
        return value.astype(np.int64, copy=False)

    def signs(self, place: int) -> Marks:
        """Where a minus stands, and not a plus."""
        signs = self._columns[self._row[place]]
        minus: Marks = signs == MINUS
        self.fits &= minus | (signs == PLUS)
        return minus

    def texts(self, start: int, end: int) -> pa.StringArray:
        """What stands there without the blanks in front, ASCII where all is as it should be."""
        cut = self._cut(slice(None), start, end).view(f"S{end - start}").ravel()
        cut[~self.fits] = b""
        return pa.array(np.char.lstrip(cut, b" ").tolist(), pa.binary()).cast(pa.string())


@dataclass(frozen=True, slots=True)
class Number:
    """Where the parts of a number stand: `12.5E-03`, of a sign that is the same on each line."""

    start: int  # blanks in front of its digits, or these
    point: int  # behind its whole part
    end: int  # behind its decimals
    negative: bool = False
    power: tuple[int, int] | None = None  # from and to where the digits of its exponent stand
    power_sign: int | None = None

    @property
    def decimals(self) -> int:
        """How many there are."""
        return max(self.end - self.point - 1, 0)

    def spans(self) -> Iterator[tuple[int, int]]:
        """The places that vary."""
        yield self.start, self.point
        if self.decimals:
            yield self.point + 1, self.end
        if self.power_sign is not None:
            yield self.power_sign, self.power_sign + 1
        if self.power is not None:
            yield self.power

    def whole(self, table: ByteTable) -> Whole:
        """A number without decimals or exponent."""
        value = table.digits(self.start, self.point, padded=True)
        return -value if self.negative else value

    def double(self, table: ByteTable, shift: int) -> Double:
        """The double nearest to a number that is `shift` powers of ten larger."""
        digits = table.digits(self.start, self.point, padded=True)
        if self.decimals:
            digits = digits * 10**self.decimals + table.digits(self.point + 1, self.end)
        value = digits.astype(np.float64)
        if self.negative:
            value = -value  # a zero too
        scale = shift - self.decimals
        if self.power is None:
            moved: Double = value * POWERS[scale] if scale >= 0 else value / POWERS[-scale]
            return moved
        power = table.digits(*self.power)
        if self.power_sign is not None:
            power = np.where(table.signs(self.power_sign), -power, power)
        power += scale
        table.fits &= np.abs(power) <= DOUBLE_POWER
        size = POWERS[np.minimum(np.abs(power), DOUBLE_POWER)]
        moved = np.where(power >= 0, value * size, value / size)
        return moved
