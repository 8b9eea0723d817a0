"""Lines that differ in their numbers alone have one shape, whose names are worked out once.

What a number is depends on the text around it, and of its own digits on no more than whether it is
whole and has one digit or more: a clock, a total, a share.
"""

from __future__ import annotations

import re
from collections.abc import Sized
from dataclasses import dataclass
from itertools import islice

from ...vocabulary.measurement_lines import NUMBER
from .number_names import Number, numbers_on

MOST_NUMBERS = 200  # of a line
_MOST_KEPT = 1 << 16  # numbers of all shapes: some 40 MB
_FEWEST = 16  # numbers that a shape counts as at least
_FRACTION = re.compile(r"(?<=\.)\d+")
_POWER = re.compile(r"(?<=[eE])([-+]?)\d+")
_GROUPS = re.compile(r"(?<!\d)\d++(?:,\d{3})++")
_RUN = re.compile(r"\d+")
_shapes: dict[str, Shape] = {}


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The named numbers of such lines, as they stand on `text`, the line with short numbers.

    `suffixes` are the letters behind each (`1.2K`), in characters.
    """

    text: str
    numbers: tuple[Number, ...]
    suffixes: tuple[int, ...]


def is_full(kept: Sized, numbers: int) -> bool:
    """Whether no more shapes of so many numbers may be kept beside these."""
    return len(kept) * max(numbers, _FEWEST) >= _MOST_KEPT


def shape_of(line: str) -> tuple[Shape, list[re.Match[str]]]:
    """The shape of a line up to its 200th number, and these numbers."""
    found = list(islice(NUMBER.finditer(line), MOST_NUMBERS + 1))
    if len(found) > MOST_NUMBERS:
        line = line[: found.pop().start()]
    parts: list[str] = []
    end = 0
    for match in found:
        start = match.start()
        parts += line[end:start], _short(match[0])
        end = match.end()
    text = "".join((*parts, line[end:]))
    shape = _shapes.get(text)
    if shape is None:
        if is_full(_shapes, len(found)):
            _shapes.clear()
        shape = _shapes[text] = _shaped(text)
    return shape, found


def _shaped(text: str) -> Shape:
    numbers = tuple(numbers_on(text))
    ends = [match.end() for match in NUMBER.finditer(text)]
    return Shape(text, numbers, tuple(number.end - ends[number.place] for number in numbers))


def _short(number: str) -> str:
    """A number of the same kind, with at most three digits in front and one behind the point."""
    if number.isdecimal():
        return "000"[: len(number)]
    if not number[-1].isdecimal() and number[-1] != ".":
        return number  # nan, inf
    whole, point, rest = number.partition(".")
    if point and whole.lstrip("+-").isdecimal() and rest.isdecimal():
        return f"{'0' if whole[0].isdecimal() else whole[0] + '0'}.0"
    text = _GROUPS.sub("0,000", number)
    return _RUN.sub(_zeros, _POWER.sub(r"\g<1>0", _FRACTION.sub("0", text)))


def _zeros(match: re.Match[str]) -> str:
    return "000"[: len(match[0])]
