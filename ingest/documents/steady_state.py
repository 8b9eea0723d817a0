"""Times of a step under headings that do not call them so: `Steady-state | 2768 ms`."""

from __future__ import annotations

import re
from dataclasses import replace

from ...vocabulary.headings import columns_of
from .grid import Table, TableRow

_NAME = "Step time"
_STEADY = re.compile(
    r"\W*(?:steady[ -]?state"
    r"|(?:steady[ -]?state|full[ -]rate|warm(?:ed[ -]up)?|typical|stable|normal)[ -]"
    r"(?:steps?|iter(?:ation)?s?))\W*",
    re.I,
)
_TIME = re.compile(
    r"[\W_]{0,4}\d{1,9}(?:[.,]\d{1,9})?\s?(?:m?s|secs?|seconds?|msecs?)\b[\W_]{0,4}(?:\([^()]{0,40}\)\W{0,4})?",
    re.I,
)
_LONGEST = 60


def with_step_times(table: Table) -> Table:
    """The table with `Step time` over a column of what steps took once they were steady.

    A third of its cells or more are times with their unit, others failed or have words.
    """
    places = [
        at for at, heading in enumerate(table.header.cells)
        if _STEADY.fullmatch(heading) and _are_times(table, at)
    ]  # fmt: skip
    known = {column.name for column in columns_of(table.header.cells) if column}
    if len(places) != 1 or known & {"step_time", "steps_per_s", "speed"}:
        return table
    cells = tuple(
        _NAME if at in places else heading for at, heading in enumerate(table.header.cells)
    )
    return replace(table, header=TableRow(table.header.line, cells, table.header.lines))


def _are_times(table: Table, at: int) -> bool:
    cells = [row.cells[at] for row in table.rows if at < len(row.cells) and row.cells[at]]
    times = [len(cell) <= _LONGEST and bool(_TIME.fullmatch(cell)) for cell in cells]
    others = [cell for cell, timed in zip(cells, times, strict=True) if not timed]
    return 3 * sum(times) >= len(cells) > 0 and not any(re.match(r"\W*\d", cell) for cell in others)
