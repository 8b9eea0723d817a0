"""Printed text to typed value, by SQL type name: the number grammar of log lines."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

from ..vocabulary.cell_pieces import half_digit

# Possessive: what does not fit is looked at once, however long it is.
NUMBER = re.compile(r"[-+]?(?:\d++(?:(?:,\d{3})++(?:\.\d*+)?|\.?\d*+)|\.\d++)(?:[eE][-+]?\d++)?\Z")
# Printed words that are numbers to the program and no number to us.
ABSENT = frozenset({"", "-", "nan", "nan.0", "-nan", "inf", "-inf", "+inf", "none", "n/a", "null"})
FIRST = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?")
SUFFIXES = {"k": 3, "K": 3, "M": 6, "G": 9, "B": 9, "T": 12, "P": 15, "E": 18, "Z": 21}
LIMITS = {"integer": 2**31, "bigint": 2**63}
DTYPES = {
    "bf16": "bf16", "bfloat16": "bf16", "fp16": "fp16", "float16": "fp16", "half": "fp16",
    "fp32": "fp32", "float32": "fp32", "fp8": "fp8", "bf16-mixed": "bf16", "16-mixed": "fp16",
}  # fmt: skip
COARSE = 0.015  # of a rate: half of its last digit, from which on no time is computed
EXACT = 2**53  # below, a double is every whole number


def is_absent(text: str) -> bool:
    """Whether a printed value means no number (nan, inf, None, ...)."""
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
        if number is None or not number.is_integer() or abs(number) > limit:
            return None
        value = int(number)
        if abs(value) >= EXACT:
            exact = Decimal(text.replace(",", ""))
            value = int(exact)
            if value != exact:
                return None
    return value if -limit <= value < limit else None


def integer(text: str) -> int | None:
    """A whole number of 32 bits, or None."""
    return _whole(text, LIMITS["integer"])


def bigint(text: str) -> int | None:
    """A whole number of 64 bits, or None."""
    return _whole(text, LIMITS["bigint"])


def largest(text: str) -> int | None:
    """A whole number, or the largest of a list of them: [64, 64, 128]."""
    found = [integer(part.strip()) for part in text.strip("[]()").split(",")]
    known = [number for number in found if number is not None]
    return max(known) if len(known) == len(found) else None


def human(text: str) -> float | None:
    """A number with a suffix for a power of a thousand: 11.5K, 85.8G, 1.2B, 1.20k."""
    power = SUFFIXES.get(text[-1:])
    return double(text) if power is None else shifted(text[:-1], power)


def count(text: str) -> int | None:
    """A whole number that may be shortened with a suffix."""
    if (whole := bigint(text)) is not None:
        return whole
    value = human(text)
    return None if value is None or abs(value) >= LIMITS["bigint"] else round(value)


def first(text: str) -> float | None:
    """The first number of a pair, a list, or with its unit: `1460.8/1450.4`, `[1.0`, `66.9GiB`."""
    match = FIRST.match(text.lstrip("[("))
    return double(match.group()) if match else None


def of_total(text: str) -> int | None:
    """The whole number in front of a slash: 5/94."""
    return bigint(text.partition("/")[0])


def step_of(text: str) -> int | None:
    """The step of `[epoch, step]` or alone; of an epoch alone, or a step of a validation, none."""
    places = text.strip("[]() ").split(",")
    alone = not text.lstrip().startswith(("[", "("))
    return bigint(places[-1].strip()) if len(places) == (1 if alone else 2) else None


def instant(text: str) -> float | None:
    """A number, or the first of `of this interval/average`: 1460.8/1450.4."""
    own, _, average = text.partition("/")
    return double(own) if not average or double(average) is not None else None


def minutes(text: str) -> float | None:
    """Minutes as seconds."""
    value = double(text)
    return None if value is None else value * 60


def hours(text: str) -> float | None:
    """Hours as seconds."""
    value = double(text)
    return None if value is None else value * 3600


def inverse(text: str) -> float | None:
    """One over a number: iterations a second to seconds an iteration.

    None if it has too few digits: 0.0027 may be 364 or 377 seconds.
    """
    return _inverse(text)


def inverse_rounded(text: str) -> float | None:
    """The same of a number that the program rounds to three decimals: 0.5 is 0.500."""
    return _inverse(text, coarsest=0.5e-3)


def _inverse(text: str, coarsest: float = math.inf) -> float | None:
    value = double(text)
    known = value and min(half_digit(text), coarsest) < COARSE * abs(value)
    return 1 / value if value and known else None


def teraflops(text: str) -> float | None:
    """A speed with its unit, in TFLOP/s: 112.9TFLOPS, 1.2 GFLOPS."""
    number, _, _ = text.upper().replace(" ", "").partition("FLOPS")
    value = human(number)
    return None if value is None else shifted(repr(value), -12)


def percent(text: str) -> float | None:
    """A share printed in percent, with its sign or without: 13.99%, 45.12; none below zero."""
    value = shifted(text.removesuffix("%").rstrip(), -2)
    return value if value is None or value >= 0 or math.isnan(value) else None


def epoch_ms(text: str) -> datetime | None:
    """Milliseconds since 1970 as time of day in UTC, without zone."""
    value = bigint(text)
    if value is None or not 0 <= value < 2**42:
        return None
    return datetime.fromtimestamp(value / 1000, UTC).replace(tzinfo=None)


def clock(text: str) -> float | None:
    """A time of day or duration as seconds: 14:32, 1:02:03.5."""
    parts = [double(part) for part in text.split(":", 3)]
    if not 2 <= len(parts) <= 3 or None in parts:
        return None
    seconds = 0.0
    for part in parts:
        seconds = seconds * 60 + (part or 0.0)
    return seconds


def dtype(text: str) -> str | None:
    """A number format by any of its names: bfloat16, torch.float16, fp32."""
    return DTYPES.get(text.casefold().removeprefix("torch."))


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
    cast.__name__: cast
    for cast in (
        integer,
        largest,
        bigint,
        double,
        human,
        count,
        first,
        of_total,
        step_of,
        instant,
        inverse,
        inverse_rounded,
        minutes,
        hours,
        teraflops,
        percent,
        clock,
        epoch_ms,
        dtype,
        boolean,
        timestamp,
        varchar,
    )
}
