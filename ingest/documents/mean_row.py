"""The row of the mean in a table of steps: the others are moments of one run, it is the run."""

from __future__ import annotations

import re
from dataclasses import replace

from .grid import Table

_MOMENTS = re.compile(
    r"\W*(?:(?:global |training )?steps?|epochs?|iter(?:ation)?s?|statistics?)\W*", re.I
)
_MEAN = re.compile(
    r"\W*(?:avg\.?|average|mean)(?:\s(?:of|over)\b[^|]{0,30})?(?:\s?[(\[][^()\[\]]{1,30}[)\]])?\W*",
    re.I,
)
_MOMENT = re.compile(r"[\W_]*\d[\d,.k-]*[\W_]*(?:\([^()]{1,30}\))?\W*", re.I)


def with_mean_alone(table: Table) -> Table:
    """The table with only the row of the mean below a column of steps; else unchanged."""
    if not _MOMENTS.fullmatch(table.header.cells[0]):
        return table
    rows = [row for row in table.rows if row.cells and not row.is_filler]
    means = [row for row in rows if _MEAN.fullmatch(row.cells[0])]
    others = [row for row in rows if not _MEAN.fullmatch(row.cells[0])]
    if len(means) != 1 or not others or not all(_MOMENT.fullmatch(row.cells[0]) for row in others):
        return table
    header = replace(table.header, cells=("Window", *table.header.cells[1:]))
    return replace(table, header=header, rows=tuple(means))
