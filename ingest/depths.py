"""Models cut to fewer layers: the size of the whole one is none of theirs."""

from __future__ import annotations

from collections.abc import Sequence

from ..vocabulary.headings import columns_of
from .cast import integer
from .sections import FoundTable

_SHAPED = frozenset(("size", "params", "hidden", "active_b"))


def without_whole_models(tables: Sequence[FoundTable]) -> None:
    """Take the size that is said of several tables from rows whose numbers of layers differ.

    A model has one depth; where rows say their width or size, these tell.
    """
    cut = [(found, layers) for found in tables if found.number and (layers := _layers(found))]
    depths: dict[str | None, set[int]] = {}
    for found, layers in cut:
        for value in {one.value for one in found.facts if one.field == "size"}:
            depths.setdefault(value, set()).update(layers)
    several = {value for value, found in depths.items() if len(found) > 1}
    for found, _ in cut:
        found.facts = [
            one for one in found.facts if one.field != "size" or one.value not in several
        ]


def _layers(found: FoundTable) -> set[int]:
    """The depths that the rows of a table state; none where they state widths or sizes, too."""
    names = [column.name if column else "" for column in columns_of(found.table.header.cells)]
    if "layers" not in names or _SHAPED & set(names):
        return set()
    at = names.index("layers")
    cells = (row.cells[at] for row in found.table.rows if at < len(row.cells))
    return {number for cell in cells if (number := integer(cell.strip(" *`")))}
