"""Runs into the warehouse while they go on, so seldom that it costs them next to nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ..schema.errors import BenchError
from .planned_runs import PlannedRun, Recorder

EVERY_S = 15.0
_SHARE = 50  # storing takes at most a fiftieth of the time: a run needs its cores


@dataclass(slots=True)
class LiveIngest:
    """Stores the logs of runs that go on; what is wrong with that is told when a run has ended."""

    recorder: Recorder
    _due: float = field(default_factory=lambda: time.monotonic() + EVERY_S)
    _sizes: dict[str, int] = field(default_factory=dict)

    def update(self, turns: Sequence[PlannedRun]) -> None:
        """Store what is new of their logs, if it is time to; whole lines only."""
        began = time.monotonic()
        if began < self._due:
            return
        sizes = {planned.folder.path.name: planned.folder.size() for planned in turns}
        grown = [planned for planned in turns if self._grew(planned.folder.path.name, sizes)]
        if grown:
            with suppress(BenchError):
                self.recorder.store(grown, live=True)
        self._sizes = sizes
        now = time.monotonic()
        self._due = now + max(EVERY_S, _SHARE * (now - began))

    def _grew(self, name: str, sizes: dict[str, int]) -> bool:
        return sizes[name] != self._sizes.get(name)
