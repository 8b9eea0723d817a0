"""Groups of rows: `| GPT3-6.7B | | | |` above the rows that measured it.

The name of a group is that of a model or a device; another word tells its rows apart from equal
ones of another group, which would count as its repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ...vocabulary.hardware import device_pattern
from ...vocabulary.headings import column_of, columns_of
from ...vocabulary.sizes import find_size
from .grid import Table, TableRow
from .model_families import families_in

_VARIANT = "Variant"
_MOST = 500  # rows of a table with groups


def with_group_a_row(table: Table) -> Table:
    """The table with the name of its group in each row, under a heading of its own.

    Unchanged if it has no groups, or if a column says the same.
    """
    names = [_name(row) for row in table.rows]
    if not any(names) or len(table.rows) > _MOST:
        return table
    grouped = list(_grouped(table.rows, names))
    heading = _heading(table, list(filter(None, names)), grouped)
    if heading is None:
        return table
    width = len(table.header.cells)
    return replace(
        table,
        header=replace(table.header, cells=(*table.header.cells, heading)),
        alignment=(*table.alignment, "none"),
        rows=tuple(_row(row, above, width) for row, above in grouped),
        groups=(*table.groups, "") if table.groups else (),
    )


def _name(row: TableRow) -> str:
    return row.cells[0].strip(" *_`:") if row.is_filler and row.cells else ""


def _grouped(
    rows: Sequence[TableRow], names: Sequence[str]
) -> Iterator[tuple[TableRow, TableRow | None]]:
    """Each row with the one that names its group."""
    above = None
    for row, name in zip(rows, names, strict=True):
        above = row if name else above
        yield row, above


def _heading(
    table: Table, names: Sequence[str], grouped: Sequence[tuple[TableRow, TableRow | None]]
) -> str | None:
    columns = columns_of(table.header.cells)
    known = {column.name for column in columns if column}
    kinds: dict[str, Callable[[str], object]] = {
        "Model": lambda name: find_size(name) or families_in(name),
        "Device": device_pattern().search,
    }
    for heading, is_one in kinds.items():
        if all(map(is_one, names)):
            column = column_of(heading)
            return None if column and column.name in known else heading
    results = {at for at, column in enumerate(columns) if column and column.role == "result"}
    seen: dict[tuple[str, ...], TableRow | None] = {}
    for row, above in grouped:
        if not row.is_filler:
            said = tuple(cell for at, cell in enumerate(row.cells) if at not in results)
            if seen.setdefault(said, above) is not above:
                return _VARIANT
    return None


def _row(row: TableRow, above: TableRow | None, width: int) -> TableRow:
    if row.is_filler or len(row.cells) > width:
        return row
    cells = (*row.cells, *("" for _ in range(width - len(row.cells))))
    lines = tuple(row.line_of(at) for at in range(width))
    name, line = (_name(above), above.line) if above else ("", row.line)
    return replace(row, cells=(*cells, name), lines=(*lines, line), described=row.described + 1)
