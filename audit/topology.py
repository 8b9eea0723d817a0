"""Topology and batch arithmetic of one row, and the single changes that would fix it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from ..vocabulary.fields import axes
from .formula_detection import fits
from .formula_fixes import with_value
from .input import Detected, Document, Row, Table, title

SIZES = axes()


@dataclass(frozen=True, slots=True)
class Change:
    """One cell with another value."""

    name: str
    value: int

    def __str__(self) -> str:
        return f"{title(self.name)}={self.value}"


def contradicts(row: Row) -> bool:
    """Whether DP x TP x PP differs from the number of processes, if all are stated."""
    product = row.product
    if product is None or row.world is None or row.sharded or not product:
        return False
    return product != row.world and any((row.nodes, row.devices, row.ranks))


def counts_otherwise(table: Table) -> bool:
    """Whether most rows disagree: such a table counts differently (TP within DP, sub-jobs)."""
    found: bool | None = table.counted.get("counts_otherwise")
    if found is None:
        tested = [row for row in table.rows if row.product and not row.sharded]
        off = sum(map(contradicts, tested))
        found = table.counted["counts_otherwise"] = 2 * off > len(tested) and off > 1
    return found


def broken(row: Row) -> bool:
    """Whether its batch or heads do not divide evenly, by the equations of R2b."""
    gbs, mbs, dp, tp, heads, hidden = (
        row.gbs, row.mbs, row.data_parallel, row.tp, row.heads, row.hidden
    )  # fmt: skip
    return bool(
        (gbs and mbs and dp and gbs % (mbs * dp))
        or (heads and tp and heads % tp)
        or (heads and hidden and hidden % heads)
    )


def topology_fixes(
    row: Row, document: Document, detected: Detected | None, consistent: Callable[[str, int], bool]
) -> list[Change]:
    """Changes of one cell that satisfy all equations; those seen in other rows go first.

    `consistent` tests whether the other numbers of the row agree with the new value.
    """
    changes = [
        change
        for change in _candidates(row)
        if not broken(with_value(row, change.name, change.value))
        and _layers_split(row, change)
        and not _duplicates(row, document, change)
        and consistent(change.name, change.value)
    ]
    changes = _arbitrated(row, detected, changes)
    seen = _other_topologies(document, row)
    borne_out = [change for change in changes if _topology(row, change) in seen]
    if borne_out:
        return borne_out
    varied = {
        name for name in ("nodes", "devices", *SIZES) if len(document.counted["topology"][name]) > 1
    }
    return [change for change in changes if change.name in varied] or changes


def _other_topologies(document: Document, row: Row) -> set[tuple[int | None, ...]]:
    """The topologies of the other rows of the document."""
    count = document.counted.get("topologies")
    if count is None:
        count = document.counted["topologies"] = Counter(
            _topology(row, None) for row in document.rows
        )
        document.counted["topology"] = {
            name: {getattr(row, name) for row in document.rows}
            for name in ("nodes", "devices", *SIZES)
        }
    mine = _topology(row, None)
    return {key for key, number in count.items() if key != mine or number > 1}


def product_changes(row: Row, factors: Sequence[str]) -> Iterator[Change]:
    """The changes of one factor, or of the devices, that make the product match the processes."""
    world = row.world or 0
    values = {name: value for name in factors if (value := getattr(row, name) or 1) > 1}
    for name, value in values.items():
        rest = prod(values.values()) // value
        if world % rest == 0 and world // rest:
            yield Change(name, world // rest)
    if row.devices:
        yield Change("devices", prod(values.values()))


def _candidates(row: Row) -> Iterator[Change]:
    product, world = row.product or 0, row.world or 0
    for name in SIZES:
        value = getattr(row, name)
        rest = product // value if value else 0
        if rest and world % rest == 0:
            yield Change(name, world // rest)
    if row.nodes and world % row.nodes == 0 and product % (world // row.nodes) == 0:
        yield Change("nodes", product // (world // row.nodes))
    elif row.devices:
        yield Change("devices", product)


def _arbitrated(row: Row, detected: Detected | None, changes: list[Change]) -> list[Change]:
    """If TFLOPs imply the number of processes, only the changes consistent with it."""
    if detected is None or row.time is None or row.tflops is None:
        return changes
    stated = fits(row, detected.reading)
    if stated:
        return [change for change in changes if change.name in SIZES]
    # TFLOPs are per process: if they fit the product instead, the process count is wrong.
    kept, row.world = row.world, row.product
    other = fits(row, detected.reading)
    row.world = kept
    return [change for change in changes if change.name not in SIZES] if other else changes


def _layers_split(row: Row, change: Change) -> bool:
    return not (change.name == "pp" and row.layers and row.layers % change.value)


def _topology(row: Row, change: Change | None) -> tuple[int | None, ...]:
    names = ("nodes", "devices", *SIZES)
    return tuple(
        change.value if change and change.name == name else getattr(row, name) for name in names
    )


def _duplicates(row: Row, document: Document, change: Change) -> bool:
    """Whether the change would duplicate a row of its table."""
    keys = document.counted.get("keys")
    if keys is None:
        keys = document.counted["keys"] = Counter(_key(other, None) for other in document.rows)
    return bool(keys[_key(row, change)])


def _key(row: Row, change: Change | None) -> tuple[object, ...]:
    return (row.table_id, *_topology(row, change), row.mbs, row.gbs, row.env)
