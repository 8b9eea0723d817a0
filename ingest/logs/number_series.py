"""The numbers at one place of lines of a shape: whether they are whole, grow, or rise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ...vocabulary.measurement_lines import NUMBER

_RISING = 4  # lines needed to distinguish a clock from a duration


def series_of(lines: Sequence[str]) -> list[list[float]]:
    """The numbers of all lines by their place; lines of one shape have as many."""
    rows = [[m[0].replace(",", "") for m in NUMBER.finditer(line)] for line in lines]
    width = min(map(len, rows))
    return [[_float(row[place]) for row in rows] for place in range(width)]


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def is_whole(values: Sequence[Sequence[float]], place: int) -> bool:
    """Whether a number is an integer on every line: a fractional epoch is no step."""
    own = values[place] if place < len(values) else []
    return all(value.is_integer() for value in own if value == value)


def grows(
    values: Sequence[Sequence[float]], place: int, again: frozenset[int] = frozenset()
) -> bool:
    """Whether a number grows, and never falls but behind the places `again`."""
    own = values[place] if place < len(values) else []
    pairs = [pair for at, pair in enumerate(pairwise(own)) if at not in again]
    return any(a < b for a, b in pairs) and all(a <= b for a, b in pairs)


def rises(values: Sequence[Sequence[float]], place: int, times: float = 1) -> bool:
    """Whether a number always grows, to at least `times` its first value."""
    own = values[place] if place < len(values) else []
    grows = len(own) >= _RISING and all(a < b for a, b in pairwise(own))
    return grows and own[-1] >= times * own[0]
