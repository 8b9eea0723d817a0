"""Formats drafted for unknown lines of steps, each proved by an equation between its numbers.

Names alone are guesses. A line is read only if its numbers prove to be a step and its time: clocks
grow by it, or rates times it are the same batch in every step.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from ...vocabulary.dataclass import dataclass
from ...vocabulary.measuring import LONGEST, METRIC, NUMBER
from .closing import proof, quantities
from .dialect import Dialect
from .equations import COLUMNS, FirstSteps, Sizes
from .hostile import LONGEST as LONGEST_READ
from .lines import Line, printed_at
from .number_names import Number, kept, name_before, numbers_of

RANKED_DIGITS = re.compile(
    r"(?<=\brank)\d+\b|(?<=\bgpu)\d+\b|(?<=\bnode)\d+\b|(?<=\bworker)\d+\b", re.I
)
NAME = "drafted"
LEAST_LINES = 4
MOST_LINES = 20_000
MOST_EXAMPLES = 200
MOST_SHAPES = 8  # of those with most lines
_NUMBER = r"(?i:[-+]?(?:\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?[KMGBT]?|nan(?:\.0)?|inf))(?![.,]?\d)"


@dataclass(frozen=True, slots=True)
class Checked:
    """The numbers of lines, identified by their names and by equations.

    `proof` is the equation that they satisfy, None if none applies; a number that an equation
    refutes is kept in `numbers` as printed, not as a column.
    """

    numbers: tuple[Number, ...]
    proof: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A format for lines of one shape, and the equation that proves it."""

    dialect: Dialect
    shape: str
    proof: str


def drafted(lines: Iterable[Line]) -> Draft | None:
    """The format of the steps among these lines; None if none is proved."""
    shapes: dict[str, list[Line]] = defaultdict(list)
    for _, line in zip(range(MOST_LINES), lines, strict=False):
        if len(line.text) <= LONGEST and METRIC.search(line.text) and NUMBER.search(line.text):
            shape = shapes[_shape(line.text)]
            if len(shape) < MOST_EXAMPLES:
                shape.append(line)
    often = sorted(shapes, key=lambda name: (-len(shapes[name]), name))[:MOST_SHAPES]
    return next(filter(None, (_proved(name, shapes[name]) for name in often)), None)


def checked(
    lines: Sequence[str], dates: Sequence[datetime | None], numbers: Sequence[Number]
) -> Checked:
    """The numbers of lines of one shape, checked by their equations."""
    if not any(number.column == "iteration" for number in numbers):
        # A count without the name of a step is a step if an equation is then satisfied.
        guessed = _with_step(lines, numbers)
        found = checked(lines, dates, guessed) if guessed else None
        return found if found and found.proof else Checked(tuple(numbers))
    while True:
        first = _steps(made(lines, numbers), lines, dates)
        denied = {
            quantity.column for quantity in quantities(first, Sizes()) if not quantity.is_used
        }
        if not denied:
            return Checked(tuple(numbers), proof(first))
        numbers = [kept(number) if number.column in denied else number for number in numbers]


def made(lines: Sequence[str], numbers: Sequence[Number]) -> Dialect:
    """The format with these numbers of the first line as groups."""
    groups = {number.group: field_of(number) for number in numbers}
    pattern, hint = pattern_of(lines[0], numbers), hint_of(lines[0], numbers)
    declaration = {"pattern": pattern, "groups": groups, "hint": hint, "reads": "iteration"}
    return Dialect(NAME, Path(NAME), declaration, "iteration", (hint,), longest=LONGEST_READ)


def field_of(number: Number) -> dict[str, str | int]:
    """The declaration of a group."""
    field: dict[str, str | int] = {}
    if number.group != number.column:
        field["column"] = number.column
    if number.type != "varchar":
        field["type"] = number.type
    if number.shift:
        field |= {"shift": number.shift, "unit": {-3: "ms", -6: "us"}[number.shift]}
    return field


def pattern_of(line: str, numbers: Sequence[Number]) -> str:
    """From the name of the first number to the last one: groups, and the text between."""
    first = line[: numbers[0].start]
    name = name_before(first, False)
    start = first.rindex(name) if name else len(first)
    parts = ["(?x)"]
    for number in numbers:
        edge = r"\b" if len(parts) == 1 and line[start : start + 1].isalpha() else ""
        parts.append(f"{edge}{_literal(line[start : number.start])}(?P<{number.group}>{_NUMBER})")
        start = number.end
    return "\n  ".join(parts) + "\n"


def hint_of(line: str, numbers: Sequence[Number]) -> str:
    """The longest word on every line of the shape, within the pattern."""
    text = line[: numbers[-1].start]
    words = [part for piece in NUMBER.split(text) for word in piece.split()
             for part in re.split(RANKED_DIGITS, word)]  # fmt: skip
    return max(words, key=len, default="") or line[numbers[0].start - 1]


def _proved(shape: str, lines: Sequence[Line]) -> Draft | None:
    texts = [line.text for line in lines]
    numbers = numbers_of(texts) if len(texts) >= LEAST_LINES else []
    if not {number.column for number in numbers} & {*COLUMNS}:
        return None
    dates = [printed_at(line.prefixes).get("printed_at") for line in lines]
    found = checked(texts, [at if isinstance(at, datetime) else None for at in dates], numbers)
    if found.proof is None or not {number.column for number in found.numbers} & {*COLUMNS}:
        return None
    return Draft(made(texts, found.numbers), shape, found.proof)


def _steps(dialect: Dialect, lines: Sequence[str], dates: Sequence[datetime | None]) -> FirstSteps:
    """The lines as steps, up to the first that does not increase."""
    first, last = FirstSteps(), -1
    for text, at in zip(lines, dates, strict=False):
        record = dialect.read(text)
        step = record.fields.get("iteration") if record else None
        if record is None or not isinstance(step, int) or step <= last:
            break
        first.add(1, step, {"printed_at": at, **record.fields})
        last = step
    return first


def _with_step(lines: Sequence[str], numbers: Sequence[Number]) -> list[Number]:
    """The numbers, with the only integer that grows at a constant rate as their step, if any."""
    rows = [[match[0].replace(",", "") for match in NUMBER.finditer(line)] for line in lines]
    growing = [
        number
        for number in numbers
        if len(rows) >= LEAST_LINES
        and all(len(row) > number.place and row[number.place].isdecimal() for row in rows)
        and len({int(b[number.place]) - int(a[number.place]) for a, b in pairwise(rows)}) == 1
        and int(rows[1][number.place]) > int(rows[0][number.place])
    ]
    if len(growing) != 1:
        return []
    step = replace(growing[0], group="iteration", column="iteration", type="bigint", shift=0)
    return [step if number is growing[0] else number for number in numbers]


def _shape(text: str) -> str:
    return re.sub(r"\s+", " ", RANKED_DIGITS.sub("#", NUMBER.sub("#", text))).strip()


def _literal(text: str) -> str:
    """Text as a pattern: other numbers in it, and any run of blanks."""
    pieces = NUMBER.split(text)
    escaped = (r"\s+".join(map(_word, re.split(r"\s+", piece))) for piece in pieces)
    joined = f"(?:{_NUMBER})".join(escaped)
    return re.sub(r"(?<!\\)\\s\+$", r"\\s*", joined)


def _word(word: str) -> str:
    """A word as a pattern: ranks print the same line."""
    return r"\d+".join(re.escape(part) for part in re.split(RANKED_DIGITS, word))
