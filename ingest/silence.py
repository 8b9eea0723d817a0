"""A run that was ended from outside long after its last step had hung."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from .record import Fields, Record

INTERVALS = 10  # as many as are usual between two lines, and
LEAST_S = 300.0  # seconds without a step are no slow step; views/02_jobs.sql has the same
FROM_OUTSIDE = frozenset(("timeout", "cancelled"))


@dataclass(slots=True)
class Silence:
    """When the last step was printed, and how far apart lines of steps come."""

    last: datetime | None = None
    every_s: float = 0.0

    def step(self, fields: Fields, interval_length: int | None) -> None:
        """A line of a step."""
        at, step_time_s = fields.get("printed_at"), fields.get("step_time_s")
        if isinstance(at, datetime):
            self.last = at
        if isinstance(step_time_s, float):
            self.every_s = step_time_s * (interval_length or 1)

    def judged(self, record: Record) -> Record:
        """A failure as it is; a hang where the last step was long before it was ended."""
        ended, status = record.fields.get("printed_at"), record.fields.get("status")
        if status not in FROM_OUTSIDE or self.last is None or not isinstance(ended, datetime):
            return record
        quiet = max(INTERVALS * self.every_s, LEAST_S)
        try:
            silent = ended - self.last > timedelta(seconds=quiet)
        except OverflowError:
            return record
        if not silent:
            return record
        raw = f"{record.raw.strip()}; last step at {self.last}"
        return replace(record, fields=record.fields | {"status": "hang"}, raw=raw)
