"""Formats drafted for tables of steps: a heading that names the columns, and rows of numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from ...vocabulary.measurement_lines import NUMBER
from .dialect import Dialect
from .drafted_blocks import NAME
from .lines import RULE, Line
from .named_numbers import cells_of, row_of
from .number_names import columns, numbers_of, numbers_on
from .pattern_safety import LONGEST

LEAST_ROWS = 3
MOST_COLUMNS = 20
LONGEST_HEADING = 300
ROW = r"^[\s|│┃,]*\d"


def drafted_table(lines: Sequence[Line]) -> tuple[Dialect, str] | None:
    """The format of the rows of the first such table, and its heading."""
    for place, line in enumerate(lines):
        names = _heading(line.text)
        rows = _steps(names, lines, place + 1) if names else []
        if rows:
            return _format(names, rows), line.text.strip()
    return None


def _heading(text: str) -> Sequence[str]:
    """The names of columns; empty for any other line."""
    if len(text) > LONGEST_HEADING or "loss" not in text.casefold():
        return ()
    names = cells_of(text)
    numbered = names[:1] == [""]  # pandas numbers the rows in a column without a name
    if not 2 <= len(names) <= MOST_COLUMNS or any(map(_is_no_name, names[numbered:])):
        return ()
    found: dict[str, str] = {}
    for name in names:
        for number in numbers_on(f"{name}: 1"):
            found.setdefault(number.column, name)
    first = [found[column] for column in ("iteration", "loss") if column in found]
    return tuple(names) if len({*first}) == 2 and len({*names}) == len(names) else ()


def _is_no_name(cell: str) -> bool:
    return NUMBER.search(cell) is not None or re.search("[A-Za-z]", cell) is None


def _steps(names: Sequence[str], lines: Sequence[Line], first: int) -> list[list[str]]:
    """The first rows from a place on, if their step grows; rows without a loss are left out."""
    made, steps, rows = _format(names), list[int](), list[list[str]]()
    for place in range(first, len(lines)):
        line = lines[place]
        if RULE.issuperset(line.text) or not re.search(r"\w", line.text):
            continue
        cells = cells_of(line.text, len(names))
        record = made.read(line.text)
        if record is None and len(cells) == len(names) and "" in cells:
            continue  # of an evaluation, or of an epoch
        step = record.fields.get("iteration") if record else None
        if not isinstance(step, int) or len(steps) >= LEAST_ROWS:
            break
        steps.append(step)
        rows.append(cells)
    return rows if len(rows) >= LEAST_ROWS and all(a < b for a, b in pairwise(steps)) else []


def _format(names: Sequence[str], rows: Sequence[Sequence[str]] = ()) -> Dialect:
    lines = [row_of(names, [cell or "0" for cell in row]) for row in rows]
    numbers = numbers_of(lines or [row_of(names, ["1"] * len(names))])
    own = [n for n in numbers if n.column in columns()]
    keys = {n.name: {"column": n.column, "type": n.type if n.column == "mfu" else "varchar"}
            for n in own if not n.is_vague}  # fmt: skip
    needed = [[next(n.name for n in own if n.column == column)] for column in ("iteration", "loss")]
    declaration: dict[str, object] = {
        "anchor": ROW, "form": "named", "keys": keys, "reads": "iteration", "requires": needed,
        "columns": list(names),
    }  # fmt: skip
    return Dialect(NAME, Path(NAME), declaration, "iteration", ("",), longest=LONGEST)
