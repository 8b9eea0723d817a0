"""The scan of a block: the shape of each line, and the numbers of lines that repeat a mask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa

from .blocks import Lines, Marks, Places, Whole
from .dialect import Dialect
from .line_layouts import StepLayout, StepSeries, TimerLayout, step_layout, timer_layout
from .line_shapes import LineShape, Shapes
from .numbers import Numbers

_AT_ONCE = 256  # lines whose masks are looked up together
FEW = 4  # lines of one mask that are read one by one
Layout = TypeVar("Layout", StepLayout, TimerLayout)


@dataclass(frozen=True, slots=True)
class Steps:
    """Lines of steps of one series: their places in the block, in order, and a row for each."""

    series: StepSeries
    places: Places
    values: pa.Table
    iterations: Whole


@dataclass(frozen=True, slots=True)
class Timers:
    """Lines of the same timers: their places in the block, in order, and a column for each."""

    dialect: Dialect
    names: tuple[str, ...]
    places: Places
    values: pa.Table


class Scan:
    """The lines of a block, numbered from 0, by the formats that read their masks."""

    def __init__(self, lines: Lines, shapes: Shapes) -> None:
        self.lines, self.shapes = lines, shapes.known
        masks, self._which = lines.masks()
        self._masks = masks
        self._shapes = shapes
        self._within: dict[Dialect, dict[int, LineShape]] = {}  # by opening format and mask
        # Formats are matched once a mask: a log of a million lines has some hundred.
        codes = shapes.codes(masks)
        self._kinds = [shapes.known[code] for code in codes.tolist()]
        self.codes: Whole = codes[self._which]
        # By line, so that slices find what is between two places.
        self.needs_reader = self._marked(lambda shape: shape.needs_reader)
        self.neutral = self._marked(lambda shape: shape.neutral)
        self.steps, self.timers = self._read(masks)

    def _marked(self, is_so: Callable[[LineShape], bool]) -> Marks:
        return np.array([is_so(shape) for shape in self._kinds], dtype=bool)[self._which]

    def within(self, block: Dialect, start: int, end: int) -> Iterator[LineShape]:
        """The shapes of lines within a block, in order."""
        known, shape = self._within.setdefault(block, {}), self._shapes.within(block).shape
        for first in range(start, end, _AT_ONCE):
            for mask in self._which[first : min(first + _AT_ONCE, end)].tolist():
                if mask not in known:
                    known[mask] = shape(self._masks[mask])
                yield known[mask]

    def _read(self, masks: list[str]) -> tuple[list[Steps], list[Timers]]:
        """The numbers of all lines that have a layout, those of one series together."""
        steps: dict[StepSeries, list[tuple[Places, pa.Table]]] = {}
        timers: dict[tuple[Dialect, tuple[str, ...]], list[tuple[Places, pa.Table]]] = {}
        for number, places in self._repeated():
            layout = self._kinds[number].layout
            if isinstance(layout, StepLayout):
                if (own := self._own(layout, places, step_layout, layout.series.dialect)) is None:
                    continue
                found = self._numbers(own, masks[number], places)
                steps.setdefault(own.series, []).append(found)
            elif isinstance(layout, TimerLayout):
                if (its := self._own(layout, places, timer_layout, layout.dialect)) is None:
                    continue
                found = self._numbers(its, masks[number], places)
                timers.setdefault((its.dialect, its.names), []).append(found)
        return (
            [one for series, parts in steps.items() for one in _by_goal(series, *_in_order(parts))],
            [Timers(*kind, *_in_order(parts)) for kind, parts in timers.items()],
        )

    def _repeated(self) -> Iterator[tuple[int, Places]]:
        """The masks with numbers in known places, by number, and the places of their lines."""
        with_layout = np.array([kind.layout is not None for kind in self._kinds], dtype=bool)
        places = np.flatnonzero(with_layout[self._which])
        of = self._which[places]
        places = places[np.argsort(of, kind="stable")]
        numbers, counts = np.unique(of, return_counts=True)
        ends = np.cumsum(counts).tolist()
        for number, count, end in zip(numbers.tolist(), counts.tolist(), ends, strict=True):
            # Columns of fewer lines cost more than reading them one by one.
            if count >= FEW:
                yield number, places[end - count : end]

    def _own(
        self,
        layout: Layout,
        places: Places,
        make: Callable[[Dialect, str], Layout | None],
        dialect: Dialect,
    ) -> Layout | None:
        """The layout with the names and prefixes of the first of its lines, digits included."""
        return make(dialect, self.lines[int(places[0])]) if layout.literals else layout

    def _numbers(
        self, layout: StepLayout | TimerLayout, mask: str, places: Places
    ) -> tuple[Places, pa.Table]:
        starts = self.lines.starts(places)
        numbers = Numbers(self.lines.letters, starts, mask, layout.values, layout.literals)
        table = numbers.table(layout.values)
        # Lines that do not fit are read one by one.
        if numbers.fits.all():
            return places, table
        return places[numbers.fits], table.filter(numbers.fits)


def _in_order(parts: list[tuple[Places, pa.Table]]) -> tuple[Places, pa.Table]:
    """Lines of several masks in the order of their places."""
    if len(parts) == 1:
        return parts[0]
    places = np.concatenate([places for places, _ in parts])
    order = np.argsort(places)
    return places[order], pa.concat_tables([table for _, table in parts]).take(pa.array(order))


def _by_goal(series: StepSeries, places: Places, values: pa.Table) -> Iterator[Steps]:
    """Steps grouped by their number of planned steps: other runs may have another."""
    iterations = values["iteration"].to_numpy()
    if "train_iters" not in series.columns:
        yield Steps(series, places, values, iterations)
        return
    goals = values["train_iters"].to_numpy()
    for goal in np.unique(goals).tolist():
        own = np.flatnonzero(goals == goal)
        if len(own) == len(goals):
            yield Steps(series, places, values, iterations)
        elif len(own) >= FEW:
            yield Steps(series, places[own], values.take(pa.array(own)), iterations[own])
