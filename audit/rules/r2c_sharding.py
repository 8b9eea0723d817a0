"""R2c: the sharding degree of FSDP and what else splits a model, against the processes."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ..book import Book, Row, Table
from ..finding import Finding
from ..rule import Rule
from ..titles import TITLES

_SIZES = ("tp", "pp", "cp")


def check(book: Book) -> Iterator[Finding]:
    """Rows whose shards x TP x PP (x CP) do not divide the processes that they ran on."""
    for table in book.tables:
        asked = [row for row in table.rows if row.world and (row.dp_shard or 0) > 1]
        off = [row for row in asked if not _divides(row)]
        sure = len(asked) >= 3 and 4 * len(off) <= len(asked)
        for row in off if sure or len(asked) < 3 else ():
            yield _finding(table, row, sure)


def _divides(row: Row) -> bool:
    """Whether copies of the shards fill the processes; CP may be counted among the shards."""
    world, shards = row.world or 1, row.dp_shard or 1
    model = (row.tp or 1) * (row.pp or 1)
    copies = {row.dp_replicate or 1, 1}
    return any(world % (shards * model * n * cp) == 0 for n in copies for cp in {row.cp or 1, 1})


def _finding(table: Table, row: Row, sure: bool) -> Finding:
    sizes = [name for name in _SIZES if (getattr(row, name) or 1) > 1]
    product = prod([row.dp_shard or 1, *(getattr(row, name) for name in sizes)])
    said = " x ".join(["shards", *(TITLES[name] for name in sizes)])
    unit = next((one for one in ("devices", "nodes", "ranks") if one in table.columns), "")
    cells = [name for name in (unit, "dp_shard", *sizes) if name in table.columns]
    return Finding(
        ("R2c",),
        "error" if sure else "warning",
        "high" if sure else "medium",
        "sharding and topology contradict the number of processes",
        f"{said} = {product} does not divide {row.world} processes",
        tuple(row.at(name) for name in cells) or (row.at(),),
        _suggestion(row, product, sizes),
    )


def _suggestion(row: Row, product: int, sizes: list[str]) -> str:
    """The changes of one cell after which the product is the number of processes."""
    world = row.world or 0
    found = []
    for name in ("dp_shard", *sizes):
        rest = product // getattr(row, name)
        if world % rest == 0 and world // rest:
            found.append(f"{TITLES.get(name, 'shards')}={world // rest}")
    return ", or ".join([*found, f"GPUs={product}"] if row.devices else found)


RULE = Rule(
    "R2c",
    22,
    "Sharding",
    "the sharding degree of FSDP x TP x PP (x CP) divides the number of processes",
    "exact; an error where three quarters of the rows, three or more, keep it; copies of the "
    "shards need not be told",
    "error",
    check,
)
