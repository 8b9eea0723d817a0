"""Runs into the warehouse while they go on, so seldom that it costs them next to nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ..schema.errors import BenchError
from .keeping import Keeper, Turn

EVERY_S = 15.0
_SHARE = 50  # storing takes at most a fiftieth of the time: a run needs its cores


@dataclass(slots=True)
class Growing:
    """Stores the logs of runs that go on; what is wrong with that is told when a run has ended."""

    keeper: Keeper
    _due: float = field(default_factory=lambda: time.monotonic() + EVERY_S)
    _sizes: dict[str, int] = field(default_factory=dict)

    def look(self, turns: Sequence[Turn]) -> None:
        """Store what is new of their logs, if it is time to; whole lines only."""
        began = time.monotonic()
        if began < self._due:
            return
        sizes = {turn.folder.path.name: turn.folder.size() for turn in turns}
        grown = [turn for turn in turns if self._grew(turn.folder.path.name, sizes)]
        if grown:
            with suppress(BenchError):
                self.keeper.store(grown, live=True)
        self._sizes = sizes
        now = time.monotonic()
        self._due = now + max(EVERY_S, _SHARE * (now - began))

    def _grew(self, name: str, sizes: dict[str, int]) -> bool:
        return sizes[name] != self._sizes.get(name)
