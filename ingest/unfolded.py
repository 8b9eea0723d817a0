"""Tables brought to one run a row: headings that hold a setting, and headings one row too low.

Under `16B MFU | 32B MFU` or `MFU (BF16) | MFU (FP8)` a row holds several runs. Each becomes a row
of its own, on the same line, with the setting in a column that is headed with its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..vocabulary.headings import column_of, columns_of
from .grid import Table, TableRow

_SIZE = r"\d{1,4}(?:\.\d{1,3})?[BM]"
_DTYPE = r"(?:MX|NV)?FP(?:4|8|16|32|64)|BF16|TF32|mixed precision|float(?:8|16|32)|bfloat16"
_SETTING = re.compile(rf"(?<![\w.])(?:(?P<Size>{_SIZE})|(?P<Dtype>{_DTYPE}))(?![\w.])", re.I)
_EDGES = re.compile(r"^[\s\-–:,/|]+|[\s\-–:,/|]+$|[(\[]\s*[)\]]|[\s\-–:,|]+(?=[(\[])")
_FEWEST = 2  # runs of one row


@dataclass(frozen=True, slots=True)
class _Result:
    """A heading that holds a setting: where it stands, what it is without, and the setting."""

    at: int
    heading: str
    kind: str
    setting: str


def unfolded(table: Table) -> Table:
    """The table with one run a row; the same one where it has that already."""
    table = _with_headings(table)
    found = list(_results(table.header.cells))
    settings = list(dict.fromkeys(one.setting for one in found))
    kinds = {one.kind for one in found}
    if len(settings) < _FEWEST or len(kinds) > 1:
        return table
    heads = list(dict.fromkeys(one.heading for one in found))
    places = {one.at for one in found}
    kind = kinds.pop()
    if kind.casefold() in (name.name for name in columns_of(table.header.cells) if name):
        return table
    shared = [at for at in range(len(table.header.cells)) if at not in places]
    header = (*(table.header.cells[at] for at in shared), kind, *heads)
    by_place = {(one.setting, one.heading): one.at for one in found}
    rows = tuple(
        TableRow(row.line, cells)
        for row in table.rows
        for cells in _runs(row, shared, settings, heads, by_place)
    )
    return replace(
        table,
        header=TableRow(table.header.line, header),
        alignment=("none",) * len(header),
        rows=rows,
    )


def _results(headings: Sequence[str]) -> Iterator[_Result]:
    for at, heading in enumerate(headings):
        found = list(_SETTING.finditer(heading))
        if len(found) != 1:
            continue
        rest = heading[: found[0].start()] + heading[found[0].end() :]
        rest = _EDGES.sub(" ", _EDGES.sub(" ", rest)).strip()
        column, whole = column_of(rest) if rest else None, column_of(heading)
        # `MFU (FP8)` is one MFU of several; another column of its own is none.
        if column and column.role == "result" and whole in (None, column):
            yield _Result(at, rest, str(found[0].lastgroup), found[0][0])


def _runs(
    row: TableRow,
    shared: Sequence[int],
    settings: Sequence[str],
    heads: Sequence[str],
    by_place: dict[tuple[str, str], int],
) -> Iterator[tuple[str, ...]]:
    """The cells of each run of a row; a filler stays one row, what is not measured gives none."""
    cells = dict(enumerate(row.cells))
    if row.is_filler:
        yield ("",) * (len(shared) + 1 + len(heads))
        return
    for setting in settings:
        places = [by_place.get((setting, head), -1) for head in heads]
        own = [cells.get(at, "") for at in places]
        if any(own):
            yield (*(cells.get(at, "") for at in shared), setting, *own)


def _with_headings(table: Table) -> Table:
    """A table with an empty header, whose first row has the headings."""
    if any(cell for cell in table.header.cells) or not table.rows:
        return table
    first, *rows = table.rows
    known = [column for column in columns_of(first.cells) if column]
    return replace(table, header=first, rows=tuple(rows)) if len(known) >= _FEWEST else table
