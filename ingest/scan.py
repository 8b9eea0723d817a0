"""Lines of logs looked at many at once: which need care, and what those of a shape say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from .aligned import read_aligned
from .block_lines import Lines
from .outline import Look, Outlines
from .template import Template, read
from .timer_lines import TimerLine, read_timers

Places = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]


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

    def column(self, name: str) -> npt.NDArray[np.int64]:
        """Whole numbers, one a line."""
        numbers: npt.NDArray[np.int64] = self.values[name].to_numpy()
        return numbers


NOTHING = Found(np.zeros(0, dtype=np.int64), pa.table({"iteration": pa.array([], pa.int64())}))


class Scan:
    """A block of lines, of one log or of several: a shape is looked for once, in all of them.

    Where most lines are of a shape, it is named as `mostly`: these are never looked at otherwise.
    Raises UnicodeDecodeError.
    """

    def __init__(self, data: bytes, outlines: Outlines, mostly: Template | None = None) -> None:
        self.lines = Lines(data)
        count = len(self.lines)
        self._outlines = outlines
        self._steps: dict[Template, Found] = {}
        self._timers: dict[TimerLine, Found] = {}
        self._taken = np.zeros(count, dtype=bool)  # are steps of some shape
        self.codes: Places = np.zeros(count, dtype=np.int64)
        self.hot: Marks = np.ones(count, dtype=bool)
        if mostly is not None:
            self.steps(mostly)
        self._look_at(np.flatnonzero(~self._taken))

    @property
    def looks(self) -> Sequence[Look]:
        """What the codes of lines stand for."""
        return self._outlines.looks

    def _look_at(self, places: Places) -> None:
        """Tell which of these lines have to be read with care, and what the others are."""
        distinct, which = self.lines.outlines(places)
        codes = self._outlines.codes(distinct)[which]
        self.codes[places] = codes
        self.hot[places] = self._outlines.careful(codes)

    def steps(self, template: Template) -> Found:
        """The steps of a shape, whatever their goal is."""
        shape = template.shape
        if shape not in self._steps:
            places = np.flatnonzero(self.hot)
            found = self._steps[shape] = self._read(shape, places)
            self._taken[found.places] = True
        return self._steps[shape]

    def _read(self, shape: Template, places: Places) -> Found:
        """The steps of a shape at some places: those that are like many others, and the rest."""
        alike, left = read_aligned(shape, self.lines, places)
        if len(alike) and not len(left):
            return _found(alike)
        rest = _placed(read(shape, self.lines.gather(left)), left)
        return _found(pl.concat([alike, rest.select(alike.columns)]) if len(alike) else rest)

    def timers(self, shape: TimerLine) -> Found:
        """The lines of timers of a shape."""
        if shape not in self._timers:
            places = np.flatnonzero(self.hot & ~self._taken)
            times = read_timers(shape, self.lines.gather(places))
            self._timers[shape] = _found(_placed(times, places))
        return self._timers[shape]


def _placed(rows: pl.DataFrame, places: Places) -> pl.DataFrame:
    """Rows of lines that were gathered from some places."""
    return rows.with_columns(place=places[rows["place"].to_numpy()])


def _found(rows: pl.DataFrame) -> Found:
    rows = rows.sort("place") if not rows["place"].is_sorted() else rows
    return Found(rows["place"].to_numpy(), rows.drop("place").to_arrow())


class Section:
    """The lines of a scan that are those of one log, counted from 0."""

    def __init__(self, scan: Scan, start: int, end: int) -> None:
        self._scan, self._start, self._end = scan, start, end
        self.looks = scan.looks
        self.codes, self.hot = scan.codes[start:end], scan.hot[start:end]

    def __len__(self) -> int:
        return self._end - self._start

    def __getitem__(self, place: int) -> str:
        return self._scan.lines[self._start + place]

    def steps(self, template: Template) -> Found:
        """The steps of a shape with its goal."""
        found = self._scan.steps(template).within(self._start, self._end)
        if isinstance(template.goal, int):
            found = found.only(found.column("train_iters") == template.goal)
        return found

    def timers(self, shape: TimerLine) -> Found:
        """The lines of timers of a shape."""
        return self._scan.timers(shape).within(self._start, self._end)
