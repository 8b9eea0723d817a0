"""A number as printed, the texts that contain its digits, and the values that print like it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..schema.warehouse import Row
from ..vocabulary.format import days_words, number, percent, range_text, significant, times
from ..vocabulary.format import tokens as as_tokens

_NUMBER = re.compile(r"(\d[\d,]*(?:\.\d+)?|\.\d+)(e[+-]?\d+)?", re.I)
_WITH_SUFFIX = re.compile(
    rf"[*^~≈]*({_NUMBER.pattern})\s*(%|[KMBT]|years|days|s|s/it|tokens)?[*^]*", re.I
)
_DAYS_A_YEAR = 365.25
_SCALES = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12, "%": 0.01, "years": _DAYS_A_YEAR}


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """The number to explain: its digits without commas, and its suffix."""

    digits: str
    suffix: str

    @property
    def value(self) -> float:
        """The number in the unit of its suffix."""
        return float(self.digits)

    def is_in(self, text: str) -> bool:
        """Whether a text contains these digits as a separate number."""
        # Tested first, since finding the numbers of a text takes 40 times as long.
        if self.digits not in plain_digits(text):
            return False
        return any(
            plain_digits(match[0]) == self.digits and self._suffixed(text[match.end() :])
            for match in _NUMBER.finditer(text)
            # The 5 of .5 or of 1.5 is not a separate number.
            if not text[: match.start()].endswith(".")
        )

    def rounds_from(self, value: float) -> bool:
        """Whether a value, rounded to these digits (three or more), prints the same."""
        _, _, decimals = self.digits.partition(".")
        # Too many values round to the same two digits: these are found only in texts of pages.
        if "e" in self.digits or len(self.digits.replace(".", "").lstrip("0")) < 3:
            return False
        return f"{value / _SCALES.get(self.suffix, 1.0):.{len(decimals)}f}" == self.digits

    def limits(self) -> list[tuple[float, float]]:
        """The ranges of values that may print so: as they are, and in the suffix's unit."""
        # Pages also print years, and round to two digits or more.
        scales = {1.0, _SCALES["years"], _SCALES.get(self.suffix, 1.0)}
        return [(0.94 * self.value * scale, 1.06 * self.value * scale) for scale in sorted(scales)]

    def _suffixed(self, rest: str) -> bool:
        if self.suffix not in ("k", "m", "b", "t", "%", "years"):
            return True
        return rest.lstrip().casefold().startswith(self.suffix)


def parse_number(text: str) -> PrintedNumber | None:
    """Parse a number with its suffix; None for other text."""
    match = _WITH_SUFFIX.fullmatch(text.strip())
    if match is None:
        return None
    return PrintedNumber(plain_digits(match[1]), (match[4] or "").casefold())


def plain_digits(text: str) -> str:
    """Digits without thousands separators and trailing commas."""
    return text.rstrip(",").replace(",", "").casefold()


Limits = Sequence[tuple[float, float]]
SMALL = 0.05  # smaller values lose more in rounding to few digits


def shows(row: Row, name: str, target: PrintedNumber, near: Limits) -> bool:
    """Whether a value or an end of its range prints like the target; tested before deriving it."""
    _, low, high = ends = ends_of(row, name)
    close = [value for value in ends if is_near(value, near)]
    if any(prints(target, value) for value in close):
        return True
    ways = ("days", significant) if name == "days" and close else ()
    return any(target.is_in(range_text(low, high, way)) for way in ways)


def limits_of(target: PrintedNumber) -> Limits:
    """The ranges of values that may print like the target; percent as fractions."""
    return [*target.limits(), (0.0094 * target.value, 0.0106 * target.value)]


def ends_of(row: Row, name: str) -> tuple[Any, Any, Any]:
    """A row's value and the ends of its range."""
    low, high = (f"{name.removesuffix('_s')}_{end}" for end in ("low", "high"))
    return row.get(name), row.get(low), row.get(high)


def is_number(value: Any) -> bool:
    """Whether a value is a number other than NaN, which cannot be sorted."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def is_near(value: Any, near: Limits) -> bool:
    """Whether a value is within the ranges."""
    if not is_number(value):
        return False
    return abs(value) <= SMALL or any(low <= value <= high for low, high in near)


def prints(target: PrintedNumber, value: Any) -> bool:
    """Whether one of the number formats of answers gives these digits."""
    return any(target.is_in(text) for text in _texts(value))


@lru_cache(maxsize=1 << 14, typed=True)  # equal as keys but printed differently: 1, 1.0
def _texts(value: Any) -> tuple[str, ...]:
    texts = [number(value), number(value, 0), number(value, 1), times(value)]
    texts += [significant(value, digits) for digits in (2, 3, 4)]
    texts += [percent(value, places) for places in (0, 1, 2)]
    texts += [f"{value:.2g}%", f"{value:.1f}%", f"{number(value, 0)}%"]  # for columns in percent
    texts += [days_words(value)] if value > 0 else []
    texts += [as_tokens(int(value))] if isinstance(value, int) and value > 0 else []
    return tuple(filter(None, dict.fromkeys(texts)))
