"""Lines of logs looked at many at once: which need care, and what those of a shape say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .aligned import read_aligned
from .arrays import Marks, Places
from .block_lines import Lines
from .found import NOTHING, Found, in_order
from .outline import LineKind, Outlines
from .template import Template
from .timer_lines import TimerLine

WORTH_CUTTING = 12  # lines that look like steps and are worth cutting at once
BAR = "|"


class Scan:
    """A block of lines, of one log or of several: a shape is looked for once, in all of them.

    Where most lines are of a shape, it is named as `mostly`: these are never looked at otherwise.
    """

    def __init__(self, lines: Lines, outlines: Outlines, mostly: Template | None = None) -> None:
        self.lines = lines
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
    def kinds(self) -> Sequence[LineKind]:
        """What the codes of lines stand for."""
        return self._outlines.kinds

    def _look_at(self, places: Places) -> None:
        """Tell which of these lines have to be read with care, and what the others are."""
        distinct, which = self.lines.outlines(places)
        codes = self._outlines.codes(distinct)
        self.codes[places] = codes[which]
        self.hot[places] = self._outlines.careful(codes)[which]

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
        left = self._with_bars(shape, left)
        if len(left) < WORTH_CUTTING:
            return alike
        from .split import read_steps

        return in_order([alike, read_steps(shape, self.lines.gather(left), left)])

    def _with_bars(self, shape: Template, places: Places) -> Places:
        """Those with as many bars as a shape has."""
        with_as_many: Places = places[self.lines.count(BAR, places) == len(shape.slots) + 1]
        return with_as_many

    def timers(self, shape: TimerLine) -> Found:
        """The lines of timers of a shape."""
        if shape not in self._timers:
            self._timers[shape] = self._read_timers(shape)
        return self._timers[shape]

    def _read_timers(self, shape: TimerLine) -> Found:
        places = np.flatnonzero(self.hot & ~self._taken)
        if not len(places):
            return NOTHING
        from .split import read_timers

        return read_timers(shape, self.lines.gather(places), places)


class Section:
    """The lines of a scan that are those of one log, counted from 0."""

    def __init__(self, scan: Scan, start: int, end: int) -> None:
        self._scan, self._start, self._end = scan, start, end
        self.kinds = scan.kinds
        self.codes, self.hot = scan.codes[start:end], scan.hot[start:end]

    def __len__(self) -> int:
        return self._end - self._start

    def __getitem__(self, place: int) -> str:
        return self._scan.lines[self._start + place]

    def body(self, place: int) -> bytes:
        """A line as its bytes."""
        return self._scan.lines.body(self._start + place)

    def texts(self, places: Places) -> list[str]:
        """The lines at some places."""
        return self._scan.lines.texts(places + self._start)

    def steps(self, template: Template) -> Found:
        """The steps of a shape with its goal."""
        found = self._scan.steps(template).within(self._start, self._end)
        if len(found) and isinstance(template.goal, int):
            found = found.only(found.column("train_iters") == template.goal)
        return found

    def timers(self, shape: TimerLine) -> Found:
        """The lines of timers of a shape."""
        return self._scan.timers(shape).within(self._start, self._end)
