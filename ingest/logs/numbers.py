"""Numbers at the same places of many lines, read at once, as columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

import numpy as np
import pyarrow as pa

from ..cast import double, shifted, timestamp
from .blocks import Bytes, Double, Marks, Places, Times, Whole
from .line_layouts import Span, Value

# Below 2**53, and by a power of ten that is a double itself, one operation rounds to the nearest
# double (W. D. Clinger, How to Read Floating Point Numbers Accurately, 1990).
DOUBLE_DIGITS, DOUBLE_POWER = 15, 22
WHOLE_DIGITS = 18
POWERS = np.array([10.0**power for power in range(DOUBLE_POWER + 1)])
NUMBER = re.compile(r"([-+]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([-+]?)([0-9]+))?")
TOGETHER = 512  # lines that are turned together: so many stay in the processor's cache
ZERO = np.uint8(ord("0"))


class Numbers:
    """The numbers of lines of one mask; `fits` marks the lines whose numbers are all of a type."""

    def __init__(
        self, letters: Bytes, starts: Places, mask: str, values: Sequence[Value],
        literals: Sequence[Span],
    ) -> None:  # fmt: skip
        """The lines begin at some places of the letters.

        Lines with other digits at the places of `literals` than the first line do not fit.
        """
        self._letters, self._starts, self._mask = letters, starts, mask
        wanted = np.zeros(len(mask), bool)
        for start, end in (*(value.span for value in values), *literals):
            wanted[start:end] = True
        self._row = np.cumsum(wanted) - 1  # of the columns, by the place within a line
        places = np.flatnonzero(wanted)
        self._columns = np.empty((len(places), len(starts)), np.uint8)
        lines = np.lib.stride_tricks.sliding_window_view(letters, len(mask))
        for at in range(0, len(starts), TOGETHER):
            some = slice(at, at + TOGETHER)
            self._columns[:, some] = lines[starts[some]][:, places].T
        self._columns -= ZERO
        self.fits: Marks = np.ones(len(starts), bool)
        for start, _ in literals:
            column = self._columns[self._row[start]]
            self.fits &= column == column[0]

    def table(self, values: Iterable[Value]) -> pa.Table:
        """A column for each value; what does not fit is of no meaning."""
        return pa.table({value.column: self._column(value) for value in values})

    def _column(self, value: Value) -> pa.Array:
        if value.kind == "time":
            return pa.array(self._times(*value.span))
        if value.kind == "kept":
            return pa.array(self._texts(value.span))
        if value.kind == "whole":
            return pa.array(self._whole(value))
        return pa.array(self._double(value))

    def _texts(self, span: Span) -> list[str]:
        start, end = span
        lines = np.lib.stride_tricks.sliding_window_view(self._letters, end - start)
        cut = lines[self._starts + start].tobytes().decode("ascii", "replace")
        width = end - start
        return [cut[at : at + width] for at in range(0, len(cut), width)]

    def _digits(self, start: int, end: int) -> Whole:
        """Digits as a whole number, at most 18 of them."""
        kind = np.int32 if end - start <= 9 else np.int64
        value: Whole = np.zeros(self._columns.shape[1], kind)
        for place in range(start, end):
            value *= 10
            value += self._columns[self._row[place]]
        return value.astype(np.int64, copy=False)

    def _whole(self, value: Value) -> Whole:
        start, end = value.span
        sign = self._mask[start] if self._mask[start] in "+-" else ""
        if end - start - len(sign) > WHOLE_DIGITS:
            found = [int(text) for text in self._texts(value.span)]
            self.fits &= [-value.limit <= one < value.limit for one in found]
            return np.array([one if abs(one) < value.limit else 0 for one in found], np.int64)
        numbers = self._digits(start + len(sign), end)
        numbers = -numbers if sign == "-" else numbers
        self.fits &= (numbers >= -value.limit) & (numbers < value.limit)
        return numbers

    def _double(self, value: Value) -> Double:
        """The doubles nearest to the printed digits, `shift` powers of ten larger."""
        match = NUMBER.fullmatch(self._mask, *value.span)
        assert match is not None
        decimals, power_sign = match[3] or "", match[4]
        power = len(match[5] or "")
        if len(match[2]) + len(decimals) > DOUBLE_DIGITS or power > 4:
            return self._one_by_one(value)
        digits = self._digits(*match.span(2))
        if decimals:
            digits = digits * 10 ** len(decimals) + self._digits(*match.span(3))
        numbers = digits.astype(np.float64)
        if match[1] == "-":
            numbers = -numbers  # a zero too
        scale = value.shift - len(decimals)
        if not power:
            if abs(scale) > DOUBLE_POWER:
                return self._one_by_one(value)
            moved: Double = numbers * POWERS[scale] if scale >= 0 else numbers / POWERS[-scale]
            return moved
        powers = self._digits(*match.span(5))
        powers = scale + (-powers if power_sign == "-" else powers)
        if (np.abs(powers) > DOUBLE_POWER).any():
            return self._one_by_one(value)
        size = POWERS[np.abs(powers)]
        by_power: Double = np.where(powers >= 0, numbers * size, numbers / size)
        return by_power

    def _one_by_one(self, value: Value) -> Double:
        """The same of numbers that one operation does not round."""
        texts = self._texts(value.span)
        found = [shifted(text, value.shift) if value.shift else double(text) for text in texts]
        self.fits &= [one is not None for one in found]
        return np.array([0.0 if one is None else one for one in found])

    def _times(self, start: int, end: int) -> Times:
        """Times as they are printed, no time zone."""
        found = list(map(timestamp, self._texts((start, end))))
        self.fits &= [one is not None for one in found]
        return np.array([one or datetime.min for one in found], "datetime64[us]")
