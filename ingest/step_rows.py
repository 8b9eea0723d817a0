"""Steps of a shape as rows of `iterations`, and as the fields that their format reads."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ..schema.shapes import shapes
from .arrays import Whole
from .record import NO_COLUMNS, Fields
from .template import Template

NEAR = 256  # steps that are made fields of together


def as_rows(
    template: Template, steps: pa.Table, lines: Whole, run_id: str, segment: int, last: int
) -> pa.Table:
    """Rows of `iterations` of one segment; `last` is the iteration before the first of them.

    `lines` are the numbers of their lines.
    """
    count = len(steps)
    iterations = steps["iteration"].to_numpy()
    losses, kept = template.keys("loss"), template.keys("kept")
    names = [name for name in steps.column_names if name not in NO_COLUMNS]
    table = {name: _whole_array(steps[name]) for name in names}
    loss = table[f"loss:{template.main}"] if template.main else table.get("loss")
    name = template.main or "loss"
    alone = losses == ([template.main] if template.main else [])
    table |= {
        "run_id": pa.repeat(pa.scalar(run_id), count),
        "segment": pa.repeat(pa.scalar(segment, pa.int32()), count),
        "interval_length": pa.array(np.diff(iterations, prepend=last)),
        "iteration": pa.array(iterations),
        "line": pa.array(lines),
        "loss": loss,
        "loss_name": pa.repeat(pa.scalar(name), count) if alone else None,
        "losses": None if alone else _map(losses, [table[f"loss:{name}"] for name in losses]),
        "more": _map(kept, [table[f"more:{name}"] for name in kept]) if kept else None,
    }
    return pa.table({
        field.name: column.cast(field.type)
        for field in shapes()["iterations"].schema
        if (column := table.get(field.name)) is not None
    })  # fmt: skip


def _whole_array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _map(names: list[str], members: list[pa.Array]) -> pa.Array:
    """A map with the same keys in each row."""
    rows, width = len(members[0]), len(names)
    keys, items = pa.array(names * rows), pa.chunked_array(members).combine_chunks()
    if width > 1:
        items = items.take(pa.array(np.arange(rows * width).reshape(width, rows).T.ravel()))
    offsets = pa.array(np.arange(0, rows * width + 1, width, dtype=np.int32))
    return pa.MapArray.from_arrays(offsets, keys, items)


class FieldsOf:
    """The fields of steps by their places: who wants those of one wants its neighbours' too."""

    def __init__(self, template: Template, steps: pa.Table) -> None:
        self._template, self._steps = template, steps
        self._near: tuple[int, list[Fields]] = -1, []

    def __call__(self, place: int) -> Fields:
        part, within = divmod(place, NEAR)
        if part != self._near[0]:
            self._near = part, self._steps.slice(part * NEAR, NEAR).to_pylist()
        return _fields(self._template, self._near[1][within])


def _fields(template: Template, row: Fields) -> Fields:
    """The fields of one step, as its format reads them from its line."""
    fields = {name: value for name, value in row.items() if ":" not in name}
    losses = {key: row[f"loss:{key}"] for key in template.keys("loss")}
    more = {key: row[f"more:{key}"] for key in template.keys("kept")}
    if losses:
        fields["losses"] = losses
    if template.main:
        fields["loss"] = losses[template.main]
    if more:
        fields["more"] = more
    return fields
