"""The only place that formats numbers: one function per unit, each a Jinja filter."""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from functools import wraps
from typing import Concatenate, ParamSpec

P = ParamSpec("P")
DAYS_A_YEAR = 365.25
YEARS_FROM = 1000
SUFFIXES = ("", "K", "M", "B", "T")


def _filter(
    function: Callable[Concatenate[float, P], str],
) -> Callable[Concatenate[float | None, P], str]:
    """Return '' for a missing number and a word for NaN or infinity."""

    @wraps(function)
    def text(x: float | None, /, *args: P.args, **kwargs: P.kwargs) -> str:
        if x is None:
            return ""
        if not isinstance(x, int):
            x = float(x)
            if not math.isfinite(x):
                return str(x)
        return function(x, *args, **kwargs)

    return text


def _exponent(x: float, digits: int) -> int:
    """The exponent of the first digit, after rounding to this many digits."""
    return int(f"{x:.{digits - 1}e}".split("e")[1])


def _fixed(x: float, decimals: int) -> str:
    """This many decimals, more only if a small number would print as zero."""
    text = f"{x:,.{decimals}f}"
    if re.search("[1-9]", text):
        return text
    return text.removeprefix("-") if x == 0 else significant(x, 1)


def _at_least(x: float, digits: int, decimals: int) -> str:
    """This many significant digits and this many decimals, whichever shows more."""
    exponent = _exponent(x, digits)
    if not x:
        return "0"
    if exponent < -3:
        return scientific(x, digits)
    return _fixed(x, max(decimals, digits - 1 - exponent))


@_filter
def number(x: float, digits: int | None = None) -> str:
    """A number with thousands commas; all its digits, or this many decimals."""
    if digits is not None and (digits or not isinstance(x, int)):
        return _fixed(x, digits)
    if isinstance(x, int) or (x.is_integer() and abs(x) < 1e15):
        return f"{int(x):,}"
    if 1e-3 <= abs(x) < 1e15:
        return f"{x:,}"
    return f"{Decimal(repr(x)).normalize():e}".replace("e+", "e")


@_filter
def significant(x: float, digits: int = 3) -> str:
    """This many significant digits: 2,530 or 0.41; very small or large ones as 3.5e-4."""
    exponent = _exponent(x, digits)
    if not x:
        return "0"
    if not -3 <= exponent < 15:
        return scientific(x, digits)
    decimals = digits - 1 - exponent
    return f"{round(x, decimals) if decimals < 0 else x:,.{max(decimals, 0)}f}"


@_filter
def scientific(x: float, digits: int = 2) -> str:
    """A mantissa of this many digits and an unpadded exponent: 3.5e-3."""
    mantissa, exponent = f"{x or 0.0:.{digits - 1}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


@_filter
def as_printed(x: float, decimals: int | None = None) -> str:
    """A number as logs print it: fixed decimals and no commas."""
    return number(x, decimals).replace(",", "")


@_filter
def days(x: float, like: float | None = None) -> str:
    """Days as a bare number up to 1,000, then with the word years; `like` sets the scale."""
    if round(abs(like or x), 1) >= YEARS_FROM:
        return f"{_at_least(x / DAYS_A_YEAR, 2, 0)} years"
    return _at_least(x, 3, 1)


@_filter
def days_words(x: float) -> str:
    """Days with their unit, for a sentence or a bar: 96.4 days, 29 years."""
    text = days(x)
    return text if text.endswith("years") else f"{text} days"


@_filter
def seconds(x: float) -> str:
    """Seconds without their unit, to three digits or a tenth: 162.5, 0.0123."""
    return _at_least(x, 3, 1)


@_filter
def times(x: float) -> str:
    """A speed-up: 1.30x, and below a percent with a significant digit: 1.004x."""
    return f"{_fixed(x, 3 if abs(x - 1) < 0.00995 else 2)}x"


@_filter
def percent(x: float, digits: int = 0) -> str:
    """A share (1 is all) in percent."""
    return f"{_fixed(x * 100, digits)}%"


@_filter
def chance(x: float) -> str:
    """A probability in whole percent; one that rounds to a certainty is a bound."""
    return "< 1%" if 0 <= x < 0.005 else "> 99%" if 0.995 <= x <= 1 else percent(x)


def _scaled(x: float, digits: int) -> str:
    """A count with K, M, B or T, exact ones without trailing zeros."""
    steps = 0
    while steps < len(SUFFIXES) - 1 and float(f"{abs(x):.{digits}g}") / 1000**steps >= 1000:
        steps += 1
    if not steps:
        return number(x)
    value = x / 1000**steps
    text = _at_least(value, digits, 1)
    if "." in text and float(text.replace(",", "")) == value:
        text = text.rstrip("0").rstrip(".")
    return text + SUFFIXES[steps]


@_filter
def tokens(x: float) -> str:
    """Tokens to three digits or a tenth of their unit: 379.6B, 1.05M."""
    return _scaled(x, 3)


@_filter
def params(x: float) -> str:
    """Parameters to four digits: 1.314B, 124.4M."""
    return _scaled(x, 4)


@_filter
def within(x: float, low: float | None = None, high: float | None = None) -> str:
    """A value with as many digits as its range justifies."""
    gaps = [abs(x - end) for end in (low, high) if end is not None and math.isfinite(end)]
    gap = min((gap for gap in gaps if gap), default=0.0)
    if not gap:
        return number(x) if gaps else significant(x, 3)
    decimals = -_exponent(gap, 2)
    rounded = round(x, decimals)
    return _fixed(rounded if rounded else x, max(decimals, 0))


def counted(x: float, noun: str, several: str = "") -> str:
    """A count with its noun, inflected: 1 run, 2,000 runs, 2 processes."""
    return f"{number(x)} {noun if x == 1 else several or noun + 's'}"


def range_text(low: float | None, high: float | None, unit: Callable[..., str] | str) -> str:
    """A range in one unit: 94.3-98.5, one value if both print the same."""
    function = FILTERS[unit] if isinstance(unit, str) else unit
    if low is None or high is None:
        end = function(high) if low is None else function(low)
        return f"{'≤' if low is None else '≥'} {end}" if end else ""
    if math.isnan(low) or math.isnan(high):
        return ""
    low, high = sorted((low, high))
    if function is days and math.isfinite(high):  # else 990-2.8 years
        return _joined(days(low, high), days(high))
    return _joined(function(low), function(high))


def days_range(low: float | None, high: float | None, value: float) -> str:
    """A range of days in the unit of its value, for comparison at a glance."""
    if low is None or high is None or high < YEARS_FROM or value >= YEARS_FROM:
        return range_text(low, high, days)
    return f"{range_text(low, high, lambda x: number(x, 0))} days"


def difference(share: float) -> str:
    """A relative difference: 7.3%, and from twice on a factor: a factor of 118."""
    return percent(share, 1) if share < 1 else f"a factor of {significant(1 + share, 3)}"


def _joined(low: str, high: str) -> str:
    """Two texts as a range, their common unit once."""
    if low == high:
        return low
    (start, unit), (end, other) = (re.findall(r"^(.*?)([^\d]*)$", text)[0] for text in (low, high))
    if unit != other:
        return f"{low} to {high}"
    # A hyphen next to a minus sign or an exponent is ambiguous.
    return f"{start}{' to ' if '-' in start + end or 'e' in start + end else '-'}{end}{unit}"


FILTERS: dict[str, Callable[..., str]] = {
    function.__name__: function
    for function in (
        number,
        significant,
        scientific,
        as_printed,
        days,
        days_words,
        seconds,
        times,
        percent,
        chance,
        tokens,
        params,
        within,
        range_text,
    )
}
