"""A number as printed, and the texts that contain its digits."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
