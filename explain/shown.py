"""Whether a value of an answer prints like the number to explain."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..schema.warehouse import Row
from ..vocabulary.format import days_words, number, percent, range_text, significant, times
from ..vocabulary.format import tokens as as_tokens
from .number import PrintedNumber

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
