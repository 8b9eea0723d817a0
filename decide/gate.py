"""When a comparison fails: what got worse, by how much, and in words which metric decided."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..reports.format import percent
from ..schema.errors import NOTHING_TO_COMPARE, BenchError
from .answer import Answer
from .rows import Row
from .statistics import LEVEL, UNKNOWN

METRICS = {"step_time": "step_time_s", "tokens_per_s": "tokens_per_s", "memory": "memory_gb"}
_HEADS = {"step_time_s": "Sec/it", "tokens_per_s": "Tokens/s", "memory_gb": "GB"}
_UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Threshold:
    """How much worse a metric may get, as a share."""

    metric: str
    share: float

    @property
    def column(self) -> str:
        """The column of an answer that holds the metric."""
        return METRICS[self.metric]


def threshold(text: str) -> Threshold:
    """`step_time:3%`; raises BenchError for anything else."""
    found = re.fullmatch(r"\s*(\w+)\s*:\s*(\d{1,3}(?:\.\d{1,6})?)\s*%\s*", text)
    if not found or found[1] not in METRICS:
        raise BenchError(
            f"{text!r} is no threshold", why=f"metrics: {', '.join(METRICS)}",
            hint="--threshold step_time:3%",
        )  # fmt: skip
    return Threshold(found[1], float(found[2]) / 100)


def gated(answer: Answer, limits: Sequence[Threshold], fail: bool) -> Answer:
    """The answer with `worse` told of each row; with limits, or where it may `fail`, also the
    metrics that decide, and in words what they found.

    Raises BenchError for a limit that no pair can be held to.
    """
    rows = tuple(_judged(row, limits) for row in answer.rows)
    if not limits and not fail:
        return replace(answer, rows=rows)
    for limit in limits:
        if rows and all(growth(row, limit) is None and not row["newly_fails"] for row in rows):
            raise nothing(f"no pair tells {limit.metric} on both sides")
    cells = tuple(
        {**cell, **_cells(row, limits), "worse": "worse" if row["worse"] else ""}
        for cell, row in zip(answer.cells or answer.rows, rows, strict=True)
    )
    shown = [one for one in answer.shown if one[0] not in ("where_base", "where")]
    known = {name for name, _ in shown}
    for column in dict.fromkeys(limit.column for limit in limits):
        head = _HEADS[column]
        more = [
            (f"{column}_base", f"{head}, base"),
            (column, head),
            (f"{column}_more", f"{head} +"),
        ]
        shown += [one for one in more if one[0] not in known]
    shown += [("worse", "Gate"), *(one for one in answer.shown if one not in shown)]
    said = (*answer.said, *_words(rows, limits))
    return replace(answer, said=said, rows=rows, cells=cells, shown=tuple(shown))


def _judged(row: Row, limits: Sequence[Threshold]) -> Row:
    """A pair with `worse`, and `inconclusive`: beyond a limit, but not told from chance."""
    worse = is_worse(row, limits)
    beyond = any(_grown(row, limit) for limit in limits)
    return {**row, "worse": worse, "inconclusive": beyond and not worse}


def nothing(what: str) -> BenchError:
    """The error of a comparison that cannot be made."""
    error = BenchError("nothing to compare", why=what, hint="bench runs lists configurations")
    error.exit_code = NOTHING_TO_COMPARE
    return error


def is_worse(row: Row, limits: Sequence[Threshold]) -> bool:
    """Whether a pair got worse: jobs newly fail, or a time or a metric beyond its limit.

    Without limits, what is detectably slower. Where nothing tells how much jobs vary, the limit
    alone decides; a pair that differs in more never fails.
    """
    if row["also_differs"]:
        return False
    if row["newly_fails"]:
        return True
    if row["speedup"] is None:
        return False
    if not limits:
        return bool(row["verdict"] == "slower")
    return any(_beyond(row, limit) for limit in limits)


def _beyond(row: Row, limit: Threshold) -> bool:
    grown = growth(row, limit)
    if grown is None or grown <= limit.share:
        return False
    if limit.metric == "memory":
        return True
    # A gate asks of each pair alone: what would be lost among many is no reason to let it pass.
    alone = row["p_value"] is not None and row["p_value"] < LEVEL and row["speedup"] < 1
    return bool(alone or row["verdict"] in ("slower", UNKNOWN))


def _grown(row: Row, limit: Threshold) -> bool:
    """Whether a metric lies beyond its limit, whatever can be said of it."""
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


def _cells(row: Row, limits: Sequence[Threshold]) -> dict[str, str]:
    found = {}
    for limit in limits:
        grown = growth(row, limit)
        sign = -1 if limit.metric == "tokens_per_s" else 1
        told = _UNKNOWN if grown is None else f"{100 * sign * grown:+.1f}%"
        found[f"{limit.column}_more"] = told
    return found


def _words(rows: Sequence[Row], limits: Sequence[Threshold]) -> list[str]:
    """How many pairs are worse, which, and for how many a metric is not known."""
    worse = [row for row in rows if row["worse"]]
    asked = ", ".join(f"{one.metric} by more than {percent(one.share, 1)}" for one in limits)
    head = f"Gate ({asked or 'detectably slower'}, or newly failing)"
    listed = ", ".join(row["place"] for row in worse[:8])
    more = f" and {len(worse) - 8} more" if len(worse) > 8 else ""
    told = f"{len(worse)} of {len(rows)} pairs {'is' if len(worse) == 1 else 'are'} worse"
    said = [f"{head}: {told}{f': {listed}{more}' if worse else ''}."]
    unsure = [row for row in rows if row["inconclusive"]]
    if unsure:
        named = ", ".join(row["place"] for row in unsure[:8])
        more = f" and {len(unsure) - 8} more" if len(unsure) > 8 else ""
        which = "pair lies" if len(unsure) == 1 else "pairs lie"
        said.append(
            f"Inconclusive: {len(unsure)} more {which} beyond a limit, but not told from chance by"
            f" so few jobs: {named}{more}."
        )
    for limit in limits:
        without = sum(growth(row, limit) is None for row in rows)
        if without:
            said.append(f"{without} of {len(rows)} pairs do not tell {limit.metric} on both sides.")
    return said
