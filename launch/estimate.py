"""How long a plan will take, from what past runs took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..schema.warehouse import open_read
from .cases import Case

_WALLS = """
SELECT c.value AS case_id, median(try_cast(w.value AS DOUBLE)) AS wall_s
FROM facts c JOIN facts w USING (run_id) JOIN runs r USING (run_id)
WHERE c.field = 'case' AND w.field = 'wall_s' AND r.status = 'ok'
GROUP BY ALL"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds for the runs that past ones speak for, and for how many that is."""

    seconds: float
    known: int
    runs: int

    @property
    def whole(self) -> float | None:
        """Seconds for all runs, those without a past taken like the others; None: no past."""
        return self.seconds * self.runs / self.known if self.known else None


def estimate(db: Path, cases: Sequence[Case], lock_timeout: float) -> Estimate:
    """From the time that the same case took before; a warehouse that is not there knows nothing."""
    walls: dict[str, float] = {}
    if db.exists():
        with open_read(db, lock_timeout) as warehouse:
            walls = {case: wall for case, wall in warehouse.rows(_WALLS) if wall is not None}
    known = [walls[case.id] for case in cases if case.id in walls]
    return Estimate(sum(known), len(known), len(cases))
