"""Steps that were read many at once: as rows of `iterations`, and as fields of single ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ...schema.arrow import shapes
from .record import NO_COLUMNS, Fields
from .scan import Steps, Timers

NEAR = 256  # steps that are made fields of together


@dataclass(frozen=True, slots=True)
class StepRange:
    """Steps from one place of a series to another that are rows of one segment of a run."""

    start: int
    end: int
    run_id: str
    segment: int
    length: int | None  # iterations that the first of them is a mean over


def as_rows(steps: Steps, first_line: int, taken: Sequence[StepRange]) -> pa.Table:
    """The rows of `iterations` of all that was taken; `first_line` is the number of place 0."""
    series = steps.series
    counts = [one.end - one.start for one in taken]
    picked = np.concatenate([np.arange(one.start, one.end) for one in taken])
    values = steps.values.take(pa.array(picked))
    lengths = np.diff(steps.iterations, prepend=0)[picked]
    unknown = np.zeros(len(picked), bool)
    begins = np.cumsum([0, *counts[:-1]])
    lengths[begins] = [one.length or 0 for one in taken]
    unknown[begins] = [one.length is None for one in taken]
    table = {name: values[name] for name in series.columns if name not in NO_COLUMNS}
    losses, kept = series.names("loss"), series.names("more")
    loss = table[f"loss:{series.main}"] if series.main else table.get("loss")
    alone = losses == ([series.main] if series.main else [])
    table |= {
        "run_id": _repeated([one.run_id for one in taken], counts),
        "segment": pa.array(np.repeat([one.segment for one in taken], counts)),
        "interval_length": pa.array(lengths, mask=unknown),
        "iteration": values["iteration"],
        "line": pa.array(steps.places[picked] + first_line),
        "loss": loss,
        "loss_name": pa.repeat(pa.scalar(series.main or "loss"), len(picked)) if alone else None,
        "losses": None if alone else _map(losses, [table[f"loss:{name}"] for name in losses]),
        "more": _map(kept, [table[f"more:{name}"] for name in kept]) if kept else None,
    }
    return pa.table({
        field.name: column.cast(field.type)
        for field in shapes()["iterations"].schema
        if (column := table.get(field.name)) is not None
    })  # fmt: skip


def _repeated(values: Sequence[str], counts: Sequence[int]) -> pa.Array:
    return pa.concat_arrays(
        [pa.repeat(pa.scalar(value), count) for value, count in zip(values, counts, strict=True)]
    )


def _map(names: list[str], members: list[pa.ChunkedArray]) -> pa.Array:
    """A map with the same keys in each row."""
    rows, width = len(members[0]), len(names)
    chunks = [chunk for member in members for chunk in member.chunks]
    keys, items = pa.array(names * rows), pa.chunked_array(chunks).combine_chunks()
    if width > 1:
        items = items.take(pa.array(np.arange(rows * width).reshape(width, rows).T.ravel()))
    offsets = pa.array(np.arange(0, rows * width + 1, width, dtype=np.int32))
    return pa.MapArray.from_arrays(offsets, keys, items)


class FieldsOf:
    """The fields of steps by their places: who wants those of one wants its neighbours' too."""

    def __init__(self, steps: Steps) -> None:
        self._steps, self._series = steps.values, steps.series
        self._losses = self._series.names("loss")
        self._kept = self._series.names("more")
        self._near: tuple[int, list[Fields]] = -1, []

    def __call__(self, place: int) -> Fields:
        """The fields of one step, as its format reads them from its line."""
        part, within = divmod(place, NEAR)
        if part != self._near[0]:
            self._near = part, self._steps.slice(part * NEAR, NEAR).to_pylist()
        row = self._near[1][within]
        fields = {name: value for name, value in row.items() if ":" not in name}
        losses = {key: row[f"loss:{key}"] for key in self._losses}
        more = {key: row[f"more:{key}"] for key in self._kept}
        if losses:
            fields["losses"] = losses
        if self._series.main:
            fields["loss"] = losses[self._series.main]
        if more:
            fields["more"] = more
        return fields


def timer_rows(
    timers: Timers, picked: slice, first_line: int, iterations: list[int], run_id: str
) -> pa.Table:
    """Rows of `timers`: for each of the lines picked, its number and the step before it."""
    places, times = (
        timers.places[picked],
        timers.values.slice(picked.start, picked.stop - picked.start),
    )
    rows, width = len(places), len(timers.names)
    values = pa.array(np.column_stack([column.to_numpy() for column in times.columns]).ravel())
    schema = shapes()["timers"].schema
    columns = {
        "run_id": pa.repeat(pa.scalar(run_id), rows * width),
        "iteration": pa.array(np.repeat(np.array(iterations, np.int64), width)),
        "line": pa.array(np.repeat(places + first_line, width)),
        "name": pa.array(list(timers.names) * rows),
        "min_ms": values,
        "max_ms": values,
    }
    return pa.table([columns[field.name].cast(field.type) for field in schema], schema=schema)
