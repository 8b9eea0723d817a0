"""Ingest logs of active runs at intervals long enough not to slow the runs down."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ..schema.errors import BenchError
from .planned_runs import PlannedRun, Recorder

EVERY_S = 15.0
_SHARE = 50  # at most 1/50 of the time is spent on ingest: runs need the cores


@dataclass(slots=True)
class LiveIngest:
    """Ingests the logs of active runs; errors are reported only once a run has ended."""

    recorder: Recorder
    _due: float = field(default_factory=lambda: time.monotonic() + EVERY_S)
    _sizes: dict[str, int] = field(default_factory=dict)

    def update(self, active: Sequence[PlannedRun]) -> None:
        """Ingest complete new lines of the logs, if the interval is over."""
        began = time.monotonic()
        if began < self._due:
            return
        sizes = {planned.folder.path.name: planned.folder.size() for planned in active}
        grown = [planned for planned in active if self._grew(planned.folder.path.name, sizes)]
        if grown:
            with suppress(BenchError):
                self.recorder.store(grown, live=True)
        self._sizes = sizes
        now = time.monotonic()
        self._due = now + max(EVERY_S, _SHARE * (now - began))

    def _grew(self, name: str, sizes: dict[str, int]) -> bool:
        return sizes[name] != self._sizes.get(name)
