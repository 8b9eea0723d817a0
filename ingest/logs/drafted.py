"""Formats drafted for unknown lines of steps, as far as their own names and numbers show them.

Names alone are guesses. An equation proves a line: clocks grow by its time, or rates times it are
the same batch in every step. Without one, a line counts as a step if its count grows and it has a
finite loss, in several lines or next to what only a training prints; of its times those with an
unmistakable name are read.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from ...vocabulary.measurement_lines import LONGEST, METRIC, NUMBER
from .consistency import proof, quantities
from .dialect import Dialect
from .drafted_blocks import NAME, drafted_blocks, named_format
from .drafted_tables import drafted_table
from .equations import COLUMNS, FirstSteps, Sizes
from .lines import Line, printed_at
from .number_names import Number, columns, kept, name_before, numbers_of, numbers_on
from .pattern_safety import LONGEST as LONGEST_READ
from .record import Fields
from .step import members_of

RANKED_DIGITS = re.compile(
    r"(?<=\brank)\d+\b|(?<=\bgpu)\d+\b|(?<=\bnode)\d+\b|(?<=\bworker)\d+\b", re.I
)
LEAST_LINES = 4
MOST_LINES = 20_000
MOST_EXAMPLES = 200
BRACES = frozenset(("{", "}", "}, {", "},{"))  # a line of an object's begin or end
MOST_FAMILIES = 8  # those with most lines
LEAST_EVIDENCE = 3  # steps, and columns that only a training has
OF_TRAINING = frozenset((
    "lr", "grad_norm", "loss_scale", "mfu", "consumed_tokens", "consumed_samples",
))  # fmt: skip
PACE = frozenset(("loss", "step_time_s", "tokens_per_s"))
BY_NAMES = "no equation shows it: a count that grows, and losses, by their names"
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
    """Formats for lines of some shapes, one of them, and what shows that they are steps."""

    dialects: tuple[Dialect, ...]
    shape: str
    proof: str


@dataclass(slots=True)
class _Family:
    """The lines with one name of the step and one of the loss, in the order of the log."""

    lines: list[Line] = field(default_factory=list)
    shapes: dict[str, list[Line]] = field(default_factory=lambda: defaultdict(list))


def drafted(lines: Iterable[Line]) -> Draft | None:
    """The format of the steps among these lines; None if nothing shows that there are any."""
    families: dict[tuple[str, ...], _Family] = defaultdict(_Family)
    names: dict[str, tuple[str, ...]] = {}
    braces: list[int] = []
    every_line: list[Line] = []
    for _, line in zip(range(MOST_LINES), lines, strict=False):
        every_line.append(line)
        if line.text.strip(" ,[]") in BRACES:
            braces.append(line.number)
        if len(line.text) > LONGEST or not (METRIC.search(line.text) and NUMBER.search(line.text)):
            continue
        shape = _shape(line.text)
        if shape not in names:
            numbers = numbers_on(line.text)
            names[shape] = tuple(n.name for n in numbers if n.column in ("iteration", "loss"))
        family = families[names[shape]]
        if len(family.lines) < MOST_EXAMPLES:
            family.lines.append(line)
            family.shapes[shape].append(line)
    often = sorted(families.values(), key=lambda family: -len(family.lines))[:MOST_FAMILIES]
    found = next(filter(None, map(_proved, often)), None)
    if found is None:
        every = {s: own for family in families.values() for s, own in family.shapes.items()}
        blocks = drafted_blocks(every, braces)
        found = Draft(tuple(blocks[0]), blocks[1], BY_NAMES) if blocks else None
    if found is None and (table := drafted_table(every_line)):
        found = Draft((table[0],), table[1], BY_NAMES)
    return found


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


def _proved(family: _Family) -> Draft | None:
    """The format of a family's lines, checked on those of its commonest shape."""
    shape, lines = max(family.shapes.items(), key=lambda item: len(item[1]))
    texts = [line.text for line in lines]
    numbers = numbers_of(texts)
    if not {number.column for number in numbers} & {*COLUMNS, "loss"}:
        return None
    dates = [printed_at(line.prefixes).get("printed_at") for line in lines]
    found = checked(texts, [at if isinstance(at, datetime) else None for at in dates], numbers)
    known = {number.column for number in found.numbers}
    if len(lines) >= LEAST_LINES and found.proof and known & {*COLUMNS}:
        return Draft((_format(found, texts),), shape, found.proof)
    if not {"iteration", "loss"} <= known:
        return None
    made = _format(found, texts)
    return Draft((made,), shape, BY_NAMES) if _is_training(made, family.lines) else None


def _format(found: Checked, lines: Sequence[str]) -> Dialect:
    """The format of the lines with these names; of vague times those that an equation shows."""
    timed = found.proof is not None and "step time" in found.proof
    own = [n for n in found.numbers if n.column in columns() and (timed or not n.is_vague)]
    made = named_format(own, lines[0])
    epoch = next((n for n in found.numbers if n.name == "epoch"), None)
    if epoch is None or not any(n.column == "train_iters" for n in own):
        return made
    places = [_place(record.fields) for line in lines if (record := made.read(line))]
    again = [after[0] > before[0] for before, after in pairwise(places)]
    falls = [after[1] < before[1] for before, after in pairwise(places)]
    # Where steps begin again with each epoch, they are counted within it.
    if any(falls) and falls == again:
        made = named_format([*own, replace(epoch, column="epoch")], lines[0])
    return made


def _place(fields: Fields) -> tuple[float, float]:
    """The epoch and the step of a line; an epoch that it does not print is -1."""
    more, step = members_of(fields.get("more")), fields.get("iteration")
    epoch = fields.get("epoch", more.get("epoch"))
    return float(str(epoch or -1)), step if isinstance(step, int) else -1


def _is_training(made: Dialect, lines: Sequence[Line]) -> bool:
    """Whether lines are those of a training without an equation that shows it.

    Steps grow, but for a new epoch, some losses are finite, and there are enough steps, or columns
    that only a training has.
    """
    rows = [record.fields for line in lines if (record := made.read(line.text))]
    steps = [step for row in rows if isinstance(step := row.get("iteration"), int)]
    losses = [loss for row in rows if isinstance(loss := row.get("loss"), float)]
    places = [_place(row) for row in rows]
    falls = sum(a[1] > b[1] and a[0] >= b[0] for a, b in pairwise(places))
    every = frozenset.intersection(*(frozenset(row) for row in rows)) if rows else frozenset()
    # Evaluations print losses and times, servers times and tokens/s; all three are of a training.
    own = (every & OF_TRAINING) | ({"pace"} if every >= PACE else set())
    unnamed = made.hints == ("",)
    least = LEAST_EVIDENCE + unnamed
    return (
        len(set(steps)) + len(own) >= least
        and (not unnamed or bool(own))
        and (3 if own or "train_iters" in every else 10) * falls <= len(steps)
        and len(losses) >= min(2, len(rows))
    )


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
