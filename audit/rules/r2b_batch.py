"""R2b: batch, heads and layers against the sizes that divide them."""

from __future__ import annotations

from collections.abc import Iterator

from ..book import Book, Row, Table
from ..finding import Finding
from ..mend import mends, suggestion
from ..rule import Rule
from ..topology import broken, uneven_stages


def check(book: Book) -> Iterator[Finding]:
    """Batches, heads and layers that cannot be split as the row says."""
    doubted = book.doubted()
    for table in book.tables:
        for row in table.rows:
            if (row.uri, row.line) not in doubted and row.kind == "measured":
                yield from _judge(table, row)
        yield from _accumulation(table, doubted)


def _judge(table: Table, row: Row) -> Iterator[Finding]:
    ran = row.status == "ok" and row.measured
    for text, names in broken(row):
        cells = tuple(row.at(name) for name in names if name in table.columns)
        yield Finding(
            ("R2b",),
            "error" if ran else "note",
            "high" if ran else "medium",
            "the row cannot have run as printed" if ran else "may be why it did not run",
            text,
            cells or (row.at(),),
        )
    if uneven_stages(row) and row.kind == "measured":
        yield Finding(
            ("R2b",),
            "note",
            "medium",
            "layers do not divide by PP" + ("" if ran else ": may be why it did not run"),
            f"{row.layers} layers on PP {row.pp}",
            tuple(row.at(name) for name in ("pp", "layers") if name in table.columns)
            or (row.at(),),
        )


def _accumulation(table: Table, doubted: set[tuple[str, int]]) -> Iterator[Finding]:
    """MBS x GA x DP against GBS; without DP every device counts, where most rows bear that out."""
    if not {"gbs", "mbs", "grad_accum"} <= set(table.columns):
        return
    tested = [
        (row, dp)
        for row in table.rows
        if row.gbs and row.mbs and row.grad_accum and (dp := _copies(row))
    ]
    off = [(row, dp) for row, dp in tested if row.gbs != _batch(row, dp)]
    if 4 * len(off) > len(tested) or len(tested) < 3:
        return
    for row, dp in off:
        if (row.uri, row.line) not in doubted:
            yield Finding(
                ("R2b",),
                "error",
                "medium",
                "batch contradicts itself as printed",
                f"MBS x GA x DP = {row.mbs} x {row.grad_accum} x {dp} = {_batch(row, dp)}, "
                f"but GBS {row.gbs}",
                tuple(row.at(name) for name in ("gbs", "mbs", "grad_accum")),
                suggestion(mends(table, row)),
            )


def _copies(row: Row) -> int | None:
    """DP, or every process where nothing splits the model."""
    return row.data_parallel or (row.world if row.tp is None and row.pp is None else None)


def _batch(row: Row, dp: int) -> int:
    return (row.mbs or 0) * (row.grad_accum or 0) * dp


RULE = Rule(
    "R2b",
    21,
    "Batch, heads and layers",
    "GBS is a multiple of MBS x DP (and MBS x GA x DP), heads of TP, hidden of heads; layers of PP",
    "exact; a row that failed is explained by a note; layers may be split unevenly, so a note "
    "too; MBS x GA x DP needs three quarters of three rows or more",
    "error",
    check,
)
