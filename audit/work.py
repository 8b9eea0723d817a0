"""The work of one sequence, as time and TFLOPs print it: one number for all rows of a model."""

from __future__ import annotations

from collections.abc import Sequence

from .alike import model, named
from .book import Row, Table
from .detect import testable, time_of
from .interval import Interval, largest_agreement


def work_of(row: Row) -> Interval:
    """TFLOP of one sequence, as printed."""
    assert row.tflops is not None and row.world and row.gbs
    per_node = row.nodes and row.world > row.nodes and row.procs_stated
    units = row.nodes if per_node and row.nodes else row.world
    rate = row.tflops.rounded
    if per_node and row.nodes:
        slack = row.tflops.half * (row.world // row.nodes - 1)
        rate = Interval(max(0.0, rate.low - slack), rate.high + slack)
    return rate * time_of(row) * (units / row.gbs)


def usable(row: Row) -> bool:
    """Whether it prints all that its work follows from."""
    return bool(testable(row) and row.gbs and row.world and named(row))


def agrees(table: Table, row: Row) -> bool:
    """Whether two thirds of the rows of its model in the table, three or more, do as much work."""
    key = (model(row), row.seq_len, row.recompute)
    groups = table.groups
    if not groups and usable(row):
        for other in table.rows:
            if usable(other):
                groups.setdefault((model(other), other.seq_len, other.recompute), []).append(other)
    rows: Sequence[Row] = groups.get(key, [])
    if len(rows) < 3 or not usable(row):
        return False
    main = largest_agreement([work_of(other) for other in rows])
    return 3 * len(main) >= 2 * len(rows) and any(rows[place] is row for place in main)
