"""Models cut to fewer layers: the size of the whole model does not apply to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import replace

from ...vocabulary.headings import columns_of
from ..cast import integer
from .fact import Fact
from .sections import FoundTable

_SHAPED = frozenset(("size", "params", "hidden", "active_b"))


def without_whole_models(tables: Sequence[FoundTable]) -> None:
    """Remove the size that is stated for several tables from rows with other numbers of layers.

    A model has one depth: that of most rows, if none is deeper; else the size applies to no row.
    Tables that state widths or sizes are left alone.
    """
    cut = [(table, layers) for table in tables if table.number and (layers := _layers(table))]
    depths: dict[str | None, Counter[int]] = {}
    for found, layers in cut:
        for value in {fact.value for fact in found.facts if fact.field == "size"}:
            depths.setdefault(value, Counter()).update(layers)
    whole = {value: _whole(found) for value, found in depths.items() if len(found) > 1}
    for found, _ in cut:
        found.facts = [
            replace(fact, only_layers=whole[fact.value]) if _is_of(fact, whole) else fact
            for fact in found.facts
            if not _is_of(fact, whole) or whole[fact.value]
        ]


def _is_of(fact: Fact, sizes: Container[str | None]) -> bool:
    return fact.field == "size" and fact.value in sizes


def _whole(rows: Counter[int]) -> int | None:
    """The depth of most rows, if it is also the greatest."""
    (depth, most), (_, next_most) = rows.most_common(2)
    return depth if most > next_most and depth == max(rows) else None


def _layers(found_table: FoundTable) -> list[int]:
    """The depths that the rows of a table state; none if they state widths or sizes, too."""
    names = [column.name if column else "" for column in columns_of(found_table.table.header.cells)]
    if "layers" not in names or _SHAPED & set(names):
        return []
    at = names.index("layers")
    cells = (row.cells[at] for row in found_table.table.rows if at < len(row.cells))
    return [number for cell in cells if (number := integer(cell.strip(" *`")))]
