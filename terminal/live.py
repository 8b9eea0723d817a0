"""Progress of a sweep: a live table on a terminal, else one line per run."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..vocabulary.printable import terminal
from .messages import info, volume

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

    from ..launch.folder import State
    from ..launch.planned_runs import PlannedRun

_COLOURS = {"ok": "green", "running": "cyan", "": "dim"}
_PLAIN = 54  # characters of a row without label and evidence
_LEAST, _MOST = 16, 60  # characters of the evidence
_ROWS = 12  # of the table, around the active run


class Board:
    """Progress display: done and active runs, and the estimated remaining time."""

    def __init__(
        self, todo: Sequence[PlannedRun], seconds: float | None, *, together: bool = False
    ) -> None:
        self.todo = list(todo)
        self.together = together  # an unknown number runs at the same time
        self._since: dict[str, float] = {}
        self._states: dict[str, State] = {}
        self._spent: list[float] = []
        self._guess = seconds / len(todo) if seconds and todo else None
        self._start = self._drawn = time.monotonic()
        self._live: Live | None = None

    def __enter__(self) -> Board:
        if sys.stderr.isatty() and not volume.quiet:
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True)
            self._live = Live(self.table(console.width), console=console, auto_refresh=False)
            self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        with self._shown():
            if self._live is not None:
                self._live.update(self.table(self._live.console.width), refresh=True)
                self._live.__exit__(None, None, None)

    @contextmanager
    def _shown(self) -> Iterator[None]:
        """Ends the display if the terminal was closed; SIGHUP then ends the runs."""
        try:
            yield
        except OSError:
            self._live, volume.quiet = None, True

    def on_begin(self, planned: PlannedRun, state: State) -> None:
        """Callback at the start of a run."""
        self._since[planned.folder.path.name] = time.monotonic()
        self._states[planned.folder.path.name] = state
        self.tick(now=True)

    def on_end(self, planned: PlannedRun, state: State) -> None:
        """Callback at the end of a run."""
        self._states[planned.folder.path.name] = state
        self._spent.append(state.wall_s or 0.0)
        if self._live is None:
            place = f"[{len(self._spent)}/{len(self.todo)}]"
            with self._shown():
                info(f"{place} {_named(planned, state)}: {describe(state, self._eta())}")
        self.tick(now=True)

    def tick(self, now: bool = False) -> None:
        """Refresh the table twice a second."""
        if self._live is not None and (now or time.monotonic() - self._drawn > 0.5):
            self._drawn = time.monotonic()
            with self._shown():
                self._live.update(self.table(self._live.console.width), refresh=True)

    def _left_s(self) -> float | None:
        """Remaining seconds: by the durations of ended runs, for jobs by their completion rate."""
        done = len(self._spent)
        spent = time.monotonic() - self._start if self.together else sum(self._spent)
        guess = None if self.together else self._guess
        each = spent / done if done else guess
        return None if each is None else each * (len(self.todo) - done)

    def _eta(self) -> str:
        left = self._left_s()
        return f", about {clock(left)} left" if left else ""

    def table(self, width: int) -> Table:
        """The table for a terminal's width, with evidence if there is room."""
        from rich.table import Table
        from rich.text import Text

        counts = Counter(state.status for state in self._states.values())
        words = ", ".join(f"{count} {status}" for status, count in counts.items())
        title = f"{len(self._spent)} of {len(self.todo)} runs done{': ' if words else ''}{words}"
        names = ["run", "repeat", "status", "time", "s/it"]
        room = width - _PLAIN - max((len(planned.case.label) for planned in self.todo), default=0)
        if room >= _LEAST:  # else its column would be too narrow to read
            names.append("")
        table = Table(*names, title=title + self._eta())
        first = max(0, min(len(self._spent) - _ROWS // 2, len(self.todo) - _ROWS))
        for planned in self.todo[first : first + _ROWS]:
            name = planned.folder.path.name
            state = self._states.get(name)
            status = state.status if state else ""
            spent = state.wall_s if state else None
            if status == "running":
                spent = time.monotonic() - self._since[name]
            step = f"{state.step_time_s:.4g}" if state and state.step_time_s else ""
            why = state.evidence[: min(room, _MOST)] if state else ""
            cells = (planned.case.label, str(planned.repeat), status, clock(spent), step, why)
            shown = (Text(terminal(cell)) for cell in cells[: len(names)])
            table.add_row(*shown, style=_COLOURS.get(status, "red"))
        return table


def _named(planned: PlannedRun, state: State) -> str:
    again = f", attempt {state.attempt}" if state.attempt > 1 else ""
    return f"{planned.case.label or 'run'}, repeat {planned.repeat}{again}"


def describe(state: State, eta: str = "") -> str:
    """A run's outcome as text; `eta` of the others precedes the evidence, which may be long."""
    step = f", {state.step_time_s:.4g} s/it" if state.step_time_s else ""
    why = f": {state.evidence}" if state.evidence else ""
    after = "" if state.wall_s is None else f" after {clock(state.wall_s)}"
    return f"{state.status}{after}{step}{eta}{why}"


def clock(seconds: float | None) -> str:
    """12.3 s, 4 min 05 s, 2 h 10 min."""
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s"
    total = round(seconds)
    if total < 3600:
        return f"{total // 60} min {total % 60:02d} s"
    return f"{total // 3600} h {total % 3600 // 60:02d} min"
