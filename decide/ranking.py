"""The ranking of a page: one row a configuration, the fastest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from ..schema.warehouse import Row
from .budget import Budget
from .jobs import by_configuration

SLOWEST = 10  # times as long as the best of its model and system: no candidate for a training
_COLUMNS = (
    "run_id", "size", "model", "system", "nodes", "devices", "world_size", "dp", "tp", "pp", "cp",
    "mbs", "gbs", "seq_len", "dtype", "zero_stage", "recompute", "framework", "settings",
    "step_time_s",
    "step_time_low", "step_time_high", "n", "basis", "tokens_per_s", "tokens_per_s_low",
    "tokens_per_s_high", "tokens_per_s_per_device", "mfu", "mfu_from", "peak_name", "peak_tflops",
    "peak_assumed", "time_is_marked", "regime", "uri", "line", "annotated", "jobs", "places",
)  # fmt: skip


def ranking(
    rows: Iterable[Row], plan: Budget, most: int, timed: int | None = None
) -> list[dict[str, Any]]:
    """The configurations of runs, repeats as one row, with days.

    `place` counts within a model and system, of which the first `most` come that take less than
    SLOWEST times as long as the best (0: all); `timed` counts all of them, as passed where `rows`
    are not all. Days are of the budget, the range that of the digits or of the jobs.
    """
    kept = [_with_days(row, plan) for row in by_configuration(filter(counts, rows))]
    kept.sort(key=lambda row: (-row["tokens_per_s"], row["uri"], row["line"]))
    place: Counter[tuple[str | None, str]] = Counter()
    for row in kept:
        row["place"] = place[row["size"], row["system"]] = place[row["size"], row["system"]] + 1
        row["timed"] = len(kept) if timed is None else timed
        row["tied"] = []
    best = {(row["size"], row["system"]): row["tokens_per_s"] for row in reversed(kept)}
    return [
        row
        for row in kept
        if not most
        or (
            row["place"] <= most
            and row["tokens_per_s"] * SLOWEST > best[row["size"], row["system"]]
        )
    ]


def with_ties(ranked: Sequence[dict[str, Any]], decided: Sequence[Row]) -> None:
    """Give the first row of each model and system `tied`: the rows of another speed that repeated
    jobs do not tell from it, as `best` found."""
    by_run = {row["run"]: row for row in decided}
    for row in ranked:
        leader = by_run.get(row["run_id"]) if row["place"] == 1 and row["jobs"] > 1 else None
        if leader is not None:
            row["tied"] = [
                one
                for one in decided
                if one["ties_with"] == leader["rank"]
                and one["system"] == leader["system"]
                and one["tokens_per_s"] != leader["tokens_per_s"]
            ]


def counts(row: Row) -> bool:
    """Whether a row may be ranked: measured, sound, and with a rate."""
    sound = row["left_out"] is None and row["usable"]
    measured = row["kind"] == "measured" and row["origin"] != "quote"
    return bool(sound and measured and row["tokens_per_s"] is not None)


def _with_days(row: Row, plan: Budget) -> dict[str, Any]:
    days, devices = plan.days(row), row["devices"] or row["world_size"]
    return {
        **{name: row[name] for name in _COLUMNS},
        "days": days,
        "days_low": plan.days(row, "_high"),
        "days_high": plan.days(row, "_low"),
        "device_days": days * devices if days and devices else None,
    }
