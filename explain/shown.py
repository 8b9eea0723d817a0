"""Whether a value of an answer prints as the number that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..decide.rows import Row
from ..vocabulary.format import days_words, number, percent, range_text, significant, times
from ..vocabulary.format import tokens as as_tokens
from .number import Number as Asked

Limits = Sequence[tuple[float, float]]
SMALL = 0.05  # below, few digits are far from their value


def shows(row: Row, name: str, target: Asked, near: Limits) -> bool:
    """Whether a value, or an end of its range, prints so; only then its tree is worth making."""
    _, low, high = ends = ends_of(row, name)
    close = [value for value in ends if is_near(value, near)]
    if any(prints(target, value) for value in close):
        return True
    ways = ("days", significant) if name == "days" and close else ()
    return any(target.stands_in(range_text(low, high, way)) for way in ways)


def limits_of(target: Asked) -> Limits:
    """Between which ends values print so; percent are shares."""
    return [*target.limits(), (0.0094 * target.value, 0.0106 * target.value)]


def ends_of(row: Row, name: str) -> tuple[Any, Any, Any]:
    """A value of a row and the ends of its range."""
    low, high = (f"{name.removesuffix('_s')}_{end}" for end in ("low", "high"))
    return row.get(name), row.get(low), row.get(high)


def is_number(value: Any) -> bool:
    """A nan, which equals nothing, has no place in an order."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def is_near(value: Any, near: Limits) -> bool:
    """Whether a number may print so."""
    if not is_number(value):
        return False
    return abs(value) <= SMALL or any(low <= value <= high for low, high in near)


def prints(target: Asked, value: Any) -> bool:
    """Whether one of the ways in which answers write a number gives these digits."""
    return any(target.stands_in(text) for text in _texts(value))


@lru_cache(maxsize=1 << 14, typed=True)  # one in the place of the other prints otherwise: 1, 1.0
def _texts(value: Any) -> tuple[str, ...]:
    texts = [number(value), number(value, 0), number(value, 1), times(value)]
    texts += [significant(value, digits) for digits in (2, 3, 4)]
    texts += [percent(value, places) for places in (0, 1, 2)]
    texts += [f"{value:.2g}%", f"{value:.1f}%", f"{number(value, 0)}%"]  # of columns in percent
    texts += [days_words(value)] if value > 0 else []
    texts += [as_tokens(int(value))] if isinstance(value, int) and value > 0 else []
    return tuple(filter(None, dict.fromkeys(texts)))
