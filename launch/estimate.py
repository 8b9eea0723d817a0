"""The expected duration of a plan, from the durations of past runs."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..schema.location import is_there
from ..schema.opening import open_read
from ..schema.warehouse import Warehouse
from .cases import Case

_NEUTRAL = ("cp", "ep", "vpp")  # 1 unless stated
# The settings that similar runs share; length and environment variables may differ.
_ALIKE = (
    "params_stated", "dp", "tp", "pp", "mbs", "gbs", "seq_len", "zero_stage", "recompute", "dtype",
)  # fmt: skip
_WALLS = """
SELECT c.value, try_cast(w.value AS DOUBLE)
FROM facts c JOIN facts w USING (run_id) JOIN runs r USING (run_id)
WHERE c.field = 'case' AND w.field = 'wall_s' AND r.status = 'ok'
    AND (r.device = $1 OR $1 IS NULL)"""
_STEPS = f"""
SELECT {", ".join(_ALIKE)}, {", ".join(f"coalesce({one}, 1)" for one in _NEUTRAL)}, s.median
FROM configurations JOIN run_stats s USING (run_id)
WHERE s.metric = 'step_time_s' AND status = 'ok' AND origin = 'log'
    AND (device = $1 OR $1 IS NULL)"""
_START_S = 5.0  # startup of a program, in addition to its steps


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds of the runs with past timings, and their number."""

    seconds: float
    known: int
    runs: int

    @property
    def total_s(self) -> float | None:
        """Seconds of all runs, extrapolated to those without past timings; None without any."""
        return self.seconds * self.runs / self.known if self.known else None


def estimate(db: Path, cases: Sequence[Case], lock_timeout: float, device: str | None) -> Estimate:
    """Estimate from past runs of the same case, else from step times of a similar one.

    Runs on other devices do not count; a `device` of None is unknown.
    """
    if not is_there(db):
        return Estimate(0.0, 0, len(cases))
    with open_read(db, lock_timeout) as warehouse:
        walls, steps = (_past(warehouse, query, device) for query in (_WALLS, _STEPS))
    found = [walls.get((case.id,)) or _by_steps(case, steps) for case in cases]
    known = [seconds for seconds in found if seconds is not None]
    return Estimate(sum(known), len(known), len(cases))


def _past(
    warehouse: Warehouse, query: str, device: str | None
) -> Mapping[tuple[object, ...], float]:
    """The median of the last column, grouped by the others."""
    times: dict[tuple[object, ...], list[float]] = defaultdict(list)
    for *key, value in warehouse.rows(query, [device]):
        if value is not None:
            times[tuple(key)].append(value)
    return {key: statistics.median(values) for key, values in times.items()}


def _by_steps(case: Case, steps: Mapping[tuple[object, ...], float]) -> float | None:
    sizes = [case.facts.get(name) for name in _ALIKE]
    each = steps.get((*sizes, *(case.facts.get(name) or 1 for name in _NEUTRAL)))
    count = case.facts.get("train_iters")
    if each is None or not isinstance(count, int):
        return None
    return _START_S + each * count
