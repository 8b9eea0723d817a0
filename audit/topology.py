"""Topology and batch arithmetic of one row, and the single changes that would mend it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .book import Document, Row
from .detect import fits
from .reading import Detected
from .titles import TITLES

SIZES = ("dp", "tp", "pp", "cp")


@dataclass(frozen=True, slots=True)
class Change:
    """One cell with another value."""

    name: str
    value: int

    def __str__(self) -> str:
        return f"{TITLES.get(self.name, self.name)}={self.value}"


def contradicts(row: Row) -> bool:
    """Whether DP x TP x PP is not the number of processes, all of them stated."""
    product = row.product
    if product is None or row.world is None or row.sharded or not product:
        return False
    return product != row.world and any((row.nodes, row.devices, row.ranks))


def broken(row: Row, **changed: int) -> list[tuple[str, tuple[str, ...]]]:
    """Divisions that leave a rest, each with the cells in it."""

    def of(name: str) -> int | None:
        value: int | None = changed.get(name, getattr(row, name))
        return value

    dp = of("dp") if "dp" in changed or row.dp is not None else row.data_parallel
    mbs, gbs, tp, heads, hidden = of("mbs"), of("gbs"), of("tp"), of("heads"), of("hidden")
    found: list[tuple[str, tuple[str, ...]]] = []
    if gbs and mbs and dp and gbs % (mbs * dp):
        found.append((f"GBS {gbs} is no multiple of MBS x DP = {mbs} x {dp}", ("gbs", "mbs", "dp")))
    if heads and tp and heads % tp:
        found.append((f"{heads} heads do not divide by TP {tp}", ("heads", "tp")))
    if heads and hidden and hidden % heads:
        found.append(
            (f"hidden size {hidden} does not divide by {heads} heads", ("hidden", "heads"))
        )
    return found


def uneven_stages(row: Row) -> bool:
    """Layers that no pipeline splits evenly, also with the embedding and the head as layers."""
    layers, pp = row.layers, row.pp or 1
    return bool(layers and pp > 1 and layers % pp and (layers + 2) % pp)


def repairs(
    row: Row, document: Document, detected: Detected | None, holds: Callable[[str, int], bool]
) -> list[Change]:
    """Changes of one cell after which all holds, the ones that other rows bear out first.

    `holds` says whether the other numbers of the row agree with a cell of another value.
    """
    found = [
        change
        for change in _candidates(row)
        if not broken(row, **{change.name: change.value})
        and _layers_split(row, change)
        and not _duplicates(row, document, change)
        and holds(change.name, change.value)
    ]
    found = _arbitrated(row, detected, found)
    seen = _seen(document, row)
    borne_out = [change for change in found if _topology(row, change) in seen]
    if borne_out:
        return borne_out
    varied = {
        name for name in ("nodes", "devices", *SIZES) if len(document.counted["topology"][name]) > 1
    }
    return [change for change in found if change.name in varied] or found


def _seen(document: Document, row: Row) -> set[tuple[int | None, ...]]:
    """The topologies of the other rows of the document."""
    count = document.counted.get("topologies")
    if count is None:
        count = document.counted["topologies"] = Counter(
            _topology(one, None) for one in document.rows
        )
        document.counted["topology"] = {
            name: {getattr(one, name) for one in document.rows}
            for name in ("nodes", "devices", *SIZES)
        }
    mine = _topology(row, None)
    return {key for key, number in count.items() if key != mine or number > 1}


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


def _arbitrated(row: Row, detected: Detected | None, found: list[Change]) -> list[Change]:
    """Where TFLOPs tell the number of processes, only the changes that keep it."""
    if detected is None or row.time is None or row.tflops is None:
        return found
    stated = fits(row, detected.reading)
    if stated:
        return [change for change in found if change.name in SIZES]
    kept, row.world = row.world, row.product
    other = fits(row, detected.reading)
    row.world = kept
    return [change for change in found if change.name not in SIZES] if other else found


def _layers_split(row: Row, change: Change) -> bool:
    return not (change.name == "pp" and row.layers and row.layers % change.value)


def _topology(row: Row, change: Change | None) -> tuple[int | None, ...]:
    names = ("nodes", "devices", *SIZES)
    return tuple(
        change.value if change and change.name == name else getattr(row, name) for name in names
    )


def _duplicates(row: Row, document: Document, change: Change) -> bool:
    """Whether the change makes it a row that its table has already."""
    keys = document.counted.get("keys")
    if keys is None:
        keys = document.counted["keys"] = Counter(_key(other, None) for other in document.rows)
    return bool(keys[_key(row, change)])


def _key(row: Row, change: Change | None) -> tuple[object, ...]:
    return (row.table_id, *_topology(row, change), row.mbs, row.gbs, row.env)
