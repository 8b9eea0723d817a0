"""Lines of one shape that were found among others: where they stand, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .arrays import Marks, Places, Whole


@dataclass(frozen=True, slots=True)
class Found:
    """Lines of one shape by their places, in order, and a row of values for each."""

    places: Places
    values: pa.Table

    def __len__(self) -> int:
        return len(self.places)

    def within(self, start: int, end: int) -> Found:
        """Those of places `start` to `end`, counted from `start`."""
        low, high = (int(at) for at in np.searchsorted(self.places, (start, end)))
        return Found(self.places[low:high] - start, self.values.slice(low, high - low))

    def since(self, start: int) -> Found:
        """Those from a place on."""
        low = int(np.searchsorted(self.places, start))
        return Found(self.places[low:], self.values.slice(low))

    def only(self, marks: Marks) -> Found:
        """Those that are marked."""
        return self if marks.all() else Found(self.places[marks], self.values.filter(marks))

    def column(self, name: str) -> Whole:
        """Whole numbers, one a line.

        Raises KeyError for a name that it lacks: NOTHING has `iteration` alone.
        """
        numbers: Whole = self.values[name].to_numpy()
        return numbers


NOTHING = Found(np.zeros(0, dtype=np.int64), pa.table({"iteration": pa.array([], pa.int64())}))


def in_order(parts: Sequence[Found]) -> Found:
    """Lines of one shape that were found apart, in the order of their places."""
    parts = [part for part in parts if len(part)]
    if not parts:
        return NOTHING
    places = np.concatenate([part.places for part in parts])
    first = parts[0].values
    values = pa.concat_tables([part.values.select(first.column_names) for part in parts])
    if len(parts) == 1 or (np.diff(places) > 0).all():
        return Found(places, values)
    order = np.argsort(places)
    return Found(places[order], values.take(pa.array(order)))
