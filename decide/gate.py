"""When a comparison fails: what got worse, and by which metric."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..schema.errors import NOTHING_TO_COMPARE, BenchError
from ..schema.warehouse import Row
from .rows import Decision
from .statistics import LEVEL, UNKNOWN

METRICS = {"step_time": "step_time_s", "tokens_per_s": "tokens_per_s", "memory": "memory_gb"}


@dataclass(frozen=True, slots=True)
class Threshold:
    """How much worse a metric may get, as a share."""

    metric: str
    share: float

    @property
    def column(self) -> str:
        """The column of the metric in an answer."""
        return METRICS[self.metric]


def threshold(text: str) -> Threshold:
    """`step_time:3%`; raises BenchError for anything else."""
    match = re.fullmatch(r"\s*(\w+)\s*:\s*(\d{1,3}(?:\.\d{1,6})?)\s*%\s*", text)
    if not match or match[1] not in METRICS:
        raise BenchError(
            f"invalid threshold {text!r}", why=f"metrics: {', '.join(METRICS)}",
            hint="--threshold step_time:3%",
        )  # fmt: skip
    return Threshold(match[1], float(match[2]) / 100)


def gated(decision: Decision, limits: Sequence[Threshold], fail: bool) -> Decision:
    """The comparison with `worse` and `inconclusive` in each row; with limits, or where it may
    `fail`, also the fact `gate`.

    Raises BenchError for a limit that applies to no pair.
    """
    rows = tuple(_judged(row, limits) for row in decision.rows)
    if not limits and not fail:
        return replace(decision, rows=rows)
    for limit in limits:
        # A gate that can never close would pass unseen.
        if rows and all(growth(row, limit) is None and not row["newly_fails"] for row in rows):
            raise nothing(f"no pair states {limit.metric} on both sides")
    gate = {
        "limits": limits,
        "worse": [row for row in rows if row["worse"]],
        "inconclusive": [row for row in rows if row["inconclusive"]],
        "without": {
            limit.metric: sum(growth(row, limit) is None for row in rows) for limit in limits
        },
    }
    return replace(decision, rows=rows, facts={**decision.facts, "gate": gate})


def _judged(row: Row, limits: Sequence[Threshold]) -> Row:
    """A pair with `worse`, and `inconclusive`: beyond a limit, but within chance."""
    worse = is_worse(row, limits)
    beyond = any(_grown(row, limit) for limit in limits)
    return {**row, "worse": worse, "inconclusive": beyond and not worse}


def nothing(what: str, hint: str = "bench runs lists configurations") -> BenchError:
    """The error of a comparison that cannot be made."""
    error = BenchError("nothing to compare", why=what, hint=hint)
    error.exit_code = NOTHING_TO_COMPARE
    return error


def is_worse(row: Row, limits: Sequence[Threshold]) -> bool:
    """Whether a pair got worse: jobs newly fail, or a time or a metric beyond its limit.

    Without limits, what is detectably slower. If the spread of jobs is unknown, the limit
    alone decides; a pair that differs in more never fails.
    """
    # What else differs may be the cause: no gate should fail for that.
    if row["also_differs"]:
        return False
    if row["newly_fails"]:
        return True
    if row["speedup"] is None:
        return False
    if not limits:
        return bool(row["verdict"] == "slower")
    return any(_exceeds(row, limit) for limit in limits)


def _exceeds(row: Row, limit: Threshold) -> bool:
    grown = growth(row, limit)
    if grown is None or grown <= limit.share:
        return False
    # Memory hardly varies between jobs: no test is needed.
    if limit.metric == "memory":
        return True
    # A gate tests each pair alone: no correction for many pairs.
    alone = row["p_value"] is not None and row["p_value"] < LEVEL and row["speedup"] < 1
    return bool(alone or row["verdict"] in ("slower", UNKNOWN))


def _grown(row: Row, limit: Threshold) -> bool:
    """Whether a metric lies beyond its limit, significant or not."""
    grown = None if row["also_differs"] else growth(row, limit)
    return grown is not None and grown > limit.share


def growth(row: Row, limit: Threshold) -> float | None:
    """How much worse the metric is against the base, as a share; below zero it is better."""
    if limit.metric == "memory":
        before, after = row["memory_gb_base"], row["memory_gb"]
        return float(after / before - 1) if before and after else None
    if row["speedup"] is None:
        return None
    speedup = float(row["speedup"])
    return 1 / speedup - 1 if limit.metric == "step_time" else 1 - speedup
