"""Groups of columns under one heading: `Without-CP` and `With-CP`, each over `TFLOPS / GPU`.

If several groups measure the same and differ in unknown words, each group of a row is a separate
run, with the heading of its group as a setting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...vocabulary.headings import column_of, is_result
from .compound_columns import with_settings_apart
from .crosstab import with_axis_a_row
from .framework_columns import with_framework_a_row
from .grid import Table, TableRow
from .runs_in_cells import with_remarks_apart
from .value_pairs import with_pairs_apart
from .wide_tables import UNNAMED, unfolded

VARIANT = "Variant"  # the column for the headings of groups
_FEWEST = 2  # groups that measure the same
_NOT_MEASURED = frozenset(("", "-", "–", "—", "n/a", "na"))


def one_run_a_row(table: Table, quantity: str) -> Table:
    """The table with one run per row; `quantity`: the heading for results without one."""
    if quantity != UNNAMED:
        table = with_axis_a_row(table, quantity)
    apart = with_settings_apart(with_pairs_apart(with_remarks_apart(table, VARIANT)))
    apart = with_framework_a_row(apart, quantity, UNNAMED)
    found = unfolded(apart, quantity)
    return with_groups_apart(found) if found is apart else found


def with_groups_apart(table: Table) -> Table:
    """The table with one group per row; unchanged if its headings are known without the groups."""
    groups = _groups(table)
    results = Counter(leaf for leaves in groups.values() for leaf in leaves if is_result(leaf))
    if len(groups) < _FEWEST or max(results.values(), default=0) < _FEWEST:
        return table
    places = {at for leaves in groups.values() for at in leaves.values()}
    shared = [at for at in range(len(table.header.cells)) if at not in places]
    leaves = list(dict.fromkeys(leaf for of in groups.values() for leaf in of))
    header = (*(_shared_heading(table, at) for at in shared), VARIANT, *leaves)
    rows = tuple(
        TableRow(row.line, cells)
        for row in table.rows
        for cells in _runs(row, shared, groups, leaves)
    )
    return replace(
        table,
        header=TableRow(table.header.line, header),
        alignment=("none",) * len(header),
        rows=rows,
        groups=(),
    )


def _groups(table: Table) -> dict[str, dict[str, int]]:
    """The column of each heading, by group, for groups with results.

    None if a full heading of theirs is a known column; groups without results are shared.
    """
    found: dict[str, dict[str, int]] = {}
    if len(table.groups) != len(table.header.cells):
        return {}
    for at, (group, whole) in enumerate(zip(table.groups, table.header.cells, strict=True)):
        if not group:
            continue
        leaf = whole.removeprefix(group).strip()
        if leaf in found.get(group, {}):
            return {}
        found.setdefault(group, {})[leaf] = at
    measured = {group: of for group, of in found.items() if any(map(is_result, of))}
    wholes = [table.header.cells[at] for of in measured.values() for at in of.values()]
    return {} if any(map(column_of, (*measured, *wholes))) else measured


def _shared_heading(table: Table, at: int) -> str:
    """The heading of a shared column: `TP` of `Parallelism TP`, if only that is known."""
    whole = table.header.cells[at]
    leaf = whole.removeprefix(table.groups[at]).strip()
    return leaf if column_of(leaf) and not column_of(whole) else whole


def _runs(
    row: TableRow, shared: list[int], groups: Mapping[str, Mapping[str, int]], leaves: list[str]
) -> Iterator[tuple[str, ...]]:
    """The cells of each group of a row; a group without results is skipped."""
    cells = dict(enumerate(row.cells))
    if row.is_filler:
        yield ("",) * (len(shared) + 1 + len(leaves))
        return
    for group, places in groups.items():
        own = [cells.get(places.get(leaf, -1), "") for leaf in leaves]
        measured = (cell for leaf, cell in zip(leaves, own, strict=True) if is_result(leaf))
        if any(cell.strip().casefold() not in _NOT_MEASURED for cell in measured):
            yield (*(cells.get(at, "") for at in shared), group, *own)
