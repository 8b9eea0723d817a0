"""The orientation of a table: headings on top, in its first row, or in its first column.

In each orientation some cells fit their headings: a number under a quantity, a device under a
device. The one with the most such cells wins, at a tie the table as written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...vocabulary.cell import Cell
from ...vocabulary.cells import parse_cell
from ...vocabulary.hardware import device_pattern
from ...vocabulary.headings import Column, column_of, columns_of
from ...vocabulary.sizes import find_size
from .context import dtype_of
from .frameworks import heading_of
from .grid import Table, TableRow
from .wide_tables import settings_of

_NUMERIC = ("number", "pair", "settings", "range")
_WORDED = ("text", "label", "flag", "notes")
_DIGITS = re.compile(r"\d")
# Columns next to runs that compare these, or are targets: no runs.
_NO_RUN = re.compile(
    r"(?<!\w)(?:change|delta|diff(?:erence)?|speed-?up|improvement|gains?|ratio|relative|reduction|"
    r"savings?|vs\.?|overhead|expected|limit|ideal|theoretical|projected|"
    r"notes?|comments?|remarks?|units?|descriptions?|sources?|status|reference|definition|meaning|"
    r"std|stdev|min(?:imum)?|max(?:imum)?|p\d\d|scaling|efficiency)(?!\w)|Δ|提升|加速比?|变化|说明|单位",
    re.I,
)
# A table of targets, not of runs.
_PLAN = re.compile(r"(?<!\w)(?:targets?|goals?|thresholds?|acceptance|budget)(?!\w)|目标", re.I)
_METRIC = re.compile(r"\W*(?:metrics?|measure(?:ment)?s?|指标|项目)?\W*", re.I)
_OF_VALUES = re.compile(
    r"\W*(?:values?|results?|avg|average|mean|measured|measurement|值|数值|结果)?\W*", re.I
)
_REST = "Configuration"  # heading of a column for the rest of headings with settings
_FEWEST = 2  # known headings needed in a first row or first column


def oriented(table: Table) -> Table:
    """The table with its headings on top and one run per row."""
    table = _with_headings(table)
    turned = _turned(table)
    if turned is None or _results(turned) == 0 or _results(table) > 0:
        return table
    return turned if typed_cells(turned) > typed_cells(table) else table


def typed_cells(table: Table) -> int:
    """The number of cells that fit their headings."""
    columns = columns_of(table.header.cells)
    return sum(
        fits(parse_cell(raw, column), column)
        for row in table.rows
        for raw, column in zip(row.cells, columns, strict=False)
        if column
    )


def fits(cell: Cell, column: Column) -> bool:
    """Whether a cell fits its heading."""
    if cell.invalid or cell.kind == "missing":
        return False
    if column.type not in _WORDED:
        return cell.kind in _NUMERIC or cell.kind == "failure"
    if column.name == "device":
        return bool(device_pattern().search(cell.raw))
    if column.name == "dtype":
        return dtype_of(cell.raw) is not None
    return cell.value is not None


def lists_features(table: Table) -> bool:
    """Whether all cells under sizes are marks and words, as in a table of supported features."""
    columns = columns_of(table.header.cells)
    if any(column and column.role == "result" for column in columns):
        return False
    sized = [
        cell
        for row in table.rows
        for raw, column in zip(row.cells, columns, strict=False)
        if column and column.role in ("topology", "batch")
        and (cell := parse_cell(raw, column)).kind != "missing"
    ]  # fmt: skip
    return bool(sized) and all(cell.invalid and not _DIGITS.search(cell.raw) for cell in sized)


def _results(table: Table) -> int:
    """The measured cells of a table."""
    columns = columns_of(table.header.cells)
    return sum(
        fits(parse_cell(raw, column), column)
        for row in table.rows
        for raw, column in zip(row.cells, columns, strict=False)
        if column and column.role == "result"
    )


def _with_headings(table: Table) -> Table:
    """A table with an empty header, whose first row has the headings."""
    if any(cell for cell in table.header.cells) or not table.rows:
        return table
    first, *rows = table.rows
    known = [column for column in columns_of(first.cells) if column]
    return replace(table, header=first, rows=tuple(rows)) if len(known) >= _FEWEST else table


def _turned(table: Table) -> Table | None:
    """The table with its columns as rows; None if its first column has no two known headings."""
    rows = [row for row in table.rows if not row.is_filler]
    width = len(table.header.cells)
    side = [column_of(row.cells[0]) for row in rows if row.cells]
    if any(_PLAN.search(heading) for heading in table.header.cells):
        return None
    if (
        len({column.name for column in side if column})
        < _fewest(rows, width, table.header.cells[0])
        or width < _FEWEST
    ):
        return None
    labels = _labels(table, rows)
    groups = list(dict.fromkeys(row.cells[1:labels] for row in rows))
    heads = list(dict.fromkeys(row.cells[0] for row in rows))
    places = [n for n in range(labels, width) if not _NO_RUN.search(table.header.cells[n])]
    named, names = _names_of_runs(table, labels, places)
    header = (*named, *table.header.cells[1:labels], *heads)
    runs = tuple(
        run
        for group in groups
        for place in places
        if _measures(run := _run(table, rows, names[place], (labels, group, heads, place)), header)
    )
    if not runs:
        return None
    head = TableRow(table.header.line, header)
    return replace(table, header=head, alignment=("none",) * len(header), rows=runs, groups=())


def _fewest(rows: Sequence[TableRow], width: int, corner: str) -> int:
    """Known headings needed in the first column: one if every row has it, or by the corner."""
    repeated = len({row.cells[:1] for row in rows}) == 1 and width > _FEWEST
    return 1 if repeated or _METRIC.fullmatch(corner) else _FEWEST


def _labels(table: Table, rows: Sequence[TableRow]) -> int:
    """How many columns name rows: the first, and those of words under a known heading."""
    place = 1
    while place < len(table.header.cells) - 1:
        column = column_of(table.header.cells[place])
        words = not any(_DIGITS.match(row.cells[place]) for row in rows if place < len(row.cells))
        if column is None or column.role == "result" or not words:
            break
        place += 1
    return place


def _label_heading(table: Table, labels: int) -> str:
    """What the headings on top are: by the corner, or sizes, devices, number formats."""
    corner, named = table.header.cells[0], table.header.cells[labels:]
    if column_of(corner):
        return corner
    if all(find_size(name.replace("-", " ")) for name in named):
        return "Model"
    if all(device_pattern().search(name) for name in named):
        return "GPU"
    return "Dtype" if all(dtype_of(name) for name in named) else corner


def _names_of_runs(
    table: Table, labels: int, places: Sequence[int]
) -> tuple[tuple[str, ...], dict[int, tuple[str, ...]]]:
    """What the headings on top are, with their values: `64x H100 (GBS=128)` is three settings.

    The rest is another column if it differs: `baseline 8x H100`, `fused kernels 8x H100`.
    """
    cells = table.header.cells
    if column_of(cells[0]) is None:
        read = {place: settings_of(cells[place]) for place in places}
        settings = {place: dict(found) for place, (found, _) in read.items()}
        kinds = [frozenset(setting) for setting in settings.values()]
        named = tuple(sorted(frozenset().union(*kinds)))
        # A heading without a run may have fewer settings: `Gaudi | Gaudi2 (BS=1)`.
        several = len(named) > 1 or named == ("GPUs",)
        if several and kinds and frozenset.intersection(*kinds):
            names = {n: tuple(found.get(kind, "") for kind in named)
                     for n, found in settings.items()}  # fmt: skip
            parts = [
                setting["Framework"] for setting in settings.values() if "Framework" in setting
            ]
            named = tuple(heading_of(parts) if one == "Framework" else one for one in named)
            if len({rest for _, rest in read.values()}) == 1:
                return named, names
            return (*named, _REST), {n: (*one, read[n][1]) for n, one in names.items()}
    if all(_OF_VALUES.fullmatch(cells[place]) for place in places):  # of one run, without a name
        return (), dict.fromkeys(places, ())
    return (_label_heading(table, labels),), {place: (cells[place],) for place in places}


def _run(
    table: Table,
    rows: Sequence[TableRow],
    names: tuple[str, ...],
    where: tuple[int, tuple[str, ...], Sequence[str], int],
) -> TableRow:
    """The run of one column, in the rows of one group of labels.

    `where`: the number of label columns, the group, the headings in the first column, the column.
    """
    labels, group, heads, place = where
    of_group = {row.cells[0]: row for row in rows if row.cells[1:labels] == group}
    found = [of_group.get(head) for head in heads]
    own = [row.cells[place] if row and place < len(row.cells) else "" for row in found]
    line = table.header.line
    first = next((row.line for row in found if row), line)
    above = [line] * len(names) + [first] * len(group)
    lines = (*above, *(row.line_of(place) if row else line for row in found))
    return TableRow(line, (*names, *group, *own), lines)


def _measures(run: TableRow, header: Sequence[str]) -> bool:
    return any(_measured(run, header))


def _measured(run: TableRow, header: Sequence[str]) -> Iterator[bool]:
    for raw, column in zip(run.cells, columns_of(header), strict=False):
        yield bool(column and column.role == "result" and fits(parse_cell(raw, column), column))
