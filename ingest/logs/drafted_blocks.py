"""Formats drafted for steps of several lines: one with its number, and others with its values.

`Step 10:` with its metrics below, one a line, and an object in JSON over several lines.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from .dialect import Dialect
from .lines import Line
from .named_numbers import OTHER_WORK
from .number_names import UNNAMED, Number, name_before, numbers_on
from .pattern_safety import LONGEST

NAME = "drafted"
FARTHEST = 60  # lines from the number of a step to its last value
LEAST_BLOCKS = 2
LEAST_EVIDENCE = 4  # blocks, and columns beside step and loss
REGULAR = 0.8  # of the blocks have the line


def named_format(numbers: Sequence[Number], line: str, reads: str = "iteration") -> Dialect:
    """The format of lines with these numbers of one of them.

    A line of a step has its count and its loss, if it has any; another line one of the names.
    """
    typed = {n.column: n.type for n in numbers if n.column in ("mfu", "loss")}
    own = {"epoch": "bigint"} | typed
    keys = {n.name: {"column": n.column, "type": own.get(n.column, "varchar")} for n in numbers}
    step = next((n for n in numbers if n.column == "iteration"), None)
    first = step or numbers[0]
    needed = [[n.name] for n in numbers if n is step or (step and n.column == "loss")]
    printed = name_before(line[: first.start], False).split()
    hint = printed[-1] if printed and first.name not in UNNAMED else ""
    declaration: dict[str, object] = {
        "anchor": re.escape(hint), "form": "named", "keys": keys, "reads": reads,
        "requires": needed or [[n.name for n in numbers]],
    }  # fmt: skip
    name = NAME if step else f"{NAME}_{first.name or 'value'}"
    return Dialect(name, Path(name), declaration, reads, (hint,), longest=LONGEST)


def drafted_blocks(
    shapes: Mapping[str, Sequence[Line]], braces: Sequence[int]
) -> tuple[list[Dialect], str] | None:
    """The formats of such lines by their shapes, and the shape of those with the number.

    `braces` are the lines where objects begin and end.
    """
    own = {shape: _values(lines[0].text) for shape, lines in shapes.items()}
    if not any(n.column == "loss" for numbers in own.values() for n in numbers):
        return None
    steps = [shape for shape in shapes if [n.column for n in own[shape]] == ["iteration"]]
    for shape in sorted(steps, key=lambda shape: -len(shapes[shape])):
        heads = shapes[shape]
        if len(heads) < LEAST_BLOCKS or not _grow(heads, own[shape][0]):
            continue
        parts = dict(_parts(heads, shapes, own, braces))
        columns = {n.column for numbers in parts.values() for n in numbers}
        evidence = len(heads) + len(columns - {"loss"})
        if "loss" in columns and evidence >= LEAST_EVIDENCE:
            made = [named_format(own[shape], heads[0].text)]
            made += [named_format(numbers, shapes[part][0].text, "part")
                     for part, numbers in parts.items()]  # fmt: skip
            return made, shape
    return None


def _values(text: str) -> list[Number]:
    """The numbers of a line that have a column and no second meaning; none of other work."""
    if OTHER_WORK.search(text):
        return []
    found = numbers_on(text)
    return [n for n in found if not n.column.startswith("more.") and not n.is_vague
            and n.name not in UNNAMED]  # fmt: skip


def _grow(heads: Sequence[Line], step: Number) -> bool:
    counts = [n for line in heads for n in numbers_on(line.text) if n.name == step.name]
    texts = [line.text[n.start : n.end] for line, n in zip(heads, counts, strict=False)]
    steps = [int(text) for text in texts if text.isdecimal()]
    return len(steps) == len(heads) and all(a < b for a, b in pairwise(steps))


def _parts(
    heads: Sequence[Line],
    shapes: Mapping[str, Sequence[Line]],
    own: Mapping[str, Sequence[Number]],
    braces: Sequence[int],
) -> Iterator[tuple[str, Sequence[Number]]]:
    """The shapes of which each block has one line, below its number; a column once."""
    starts = [line.number for line in heads]
    in_objects = heads[0].text.lstrip().startswith('"')
    taken: set[str] = set()
    for shape, lines in shapes.items():
        columns = {n.column for n in own[shape]}
        if not columns or "iteration" in columns or columns & taken:
            continue
        places = [bisect_left(starts, line.number) - 1 for line in lines]
        near = [(place, line.number) for place, line in zip(places, lines, strict=True)
                if place >= 0 and line.number - starts[place] <= FARTHEST]  # fmt: skip
        if in_objects:  # their members may stand in any order
            near = [
                (place, number)
                for place, number in near
                if bisect_left(braces, starts[place]) == bisect_left(braces, number)
            ]
        elif places[0] < 0 or 2 * sum(_is_of_next(starts, *pair) for pair in near) > len(near):
            continue
        if len({place for place, _ in near}) == len(near) >= REGULAR * len(heads):
            taken |= columns
            yield shape, own[shape]


def _is_of_next(starts: Sequence[int], place: int, line: int) -> bool:
    """Whether the next number is right below a line, and its own further above."""
    following = starts[place + 1] if place + 1 < len(starts) else None
    return following is not None and following - line == 1 < line - starts[place]
