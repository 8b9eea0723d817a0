"""Printed text to typed value, by SQL type name: the number grammar of log lines."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal

NUMBER = re.compile(r"[-+]?(?:\d+(?:,\d{3})+(?:\.\d*)?|\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\Z")
# Printed words that are numbers to the program and no number to us.
ABSENT = frozenset({"", "-", "nan", "nan.0", "-nan", "inf", "-inf", "+inf", "none", "n/a", "null"})
LIMITS = {"integer": 2**31, "bigint": 2**63}


def is_absent(text: str) -> bool:
    """Whether a printed value says that there is no number (nan, inf, None, ...)."""
    return text.lower() in ABSENT


def double(text: str) -> float | None:
    """A finite number, or None."""
    if NUMBER.match(text) is None:
        return None
    value = float(text.replace(",", ""))
    return value if math.isfinite(value) else None


def shifted(text: str, shift: int) -> float | None:
    """A number in a unit 10**shift as large: the double nearest to the printed digits moved."""
    # 612.4 / 1000 is not 0.6124, and 612.4 * 0.001 neither.
    if "e" in text or "E" in text:
        value = double(text)
        return None if value is None else float(Decimal(text.replace(",", "")).scaleb(shift))
    return double(f"{text}e{shift}") if text else None


def _whole(text: str, limit: int) -> int | None:
    # Most integers are printed as such; int() itself would also take "1_0" and any length.
    if text.isascii() and text.isdigit() and len(text) < 19:
        value = int(text)
    else:
        number = double(text)
        if number is None or not number.is_integer():
            return None
        value = int(number)
    return value if -limit <= value < limit else None


def integer(text: str) -> int | None:
    """A whole number of 32 bits, or None."""
    return _whole(text, LIMITS["integer"])


def bigint(text: str) -> int | None:
    """A whole number of 64 bits, or None."""
    return _whole(text, LIMITS["bigint"])


def boolean(text: str) -> bool | None:
    """True and False as Python prints them, or None."""
    return {"true": True, "false": False}.get(text.lower())


def timestamp(text: str) -> datetime | None:
    """A date and time of day without zone, or None."""
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        return None
    return value.replace(tzinfo=None)


def varchar(text: str) -> str:
    """The text itself."""
    return text


CASTS: dict[str, Callable[[str], object]] = {
    cast.__name__: cast for cast in (integer, bigint, double, boolean, timestamp, varchar)
}
