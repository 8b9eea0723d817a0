"""Jobs of one configuration as one row: the job is the unit of replication, and its median counts.

The intervals of a log do not replicate a run: what varies between jobs (nodes, neighbours on the
network, the day) is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from statistics import median
from typing import Any

from ..schema.warehouse import Row
from .provenance import Derivation, devices_of
from .rows import configuration, configured

MEASURED = (
    "step_time_s", "tokens_per_s", "tokens_per_s_per_device", "samples_per_s", "mfu", "hfu",
    "tflops", "model_tflops", "memory_gb",
)  # fmt: skip
_RANGES = {
    "step_time_s": ("step_time_low", "step_time_high"),
    "tokens_per_s": ("tokens_per_s_low", "tokens_per_s_high"),
}


def identity(row: Row) -> tuple[Hashable, ...]:
    """Equal for runs of one configuration, with the same versions and arguments in their logs.

    Rows of a table with other dates are other configurations, and so is each prediction of a fit.
    A log that states no model or no batch repeats no other, but a repeat that bench launched.
    """
    if row["basis"] == "fit":
        return (row["uri"], row["line"], row["range_from"])
    if (alike := row.get("alike")) is not None:
        return (alike,)
    # A machine may change between the days of one table; logs state what changed.
    # Recipes of one number format, such as mxfp8 and tensorwise fp8, are no repeats.
    # One slice of 256 chips is another machine than two of 128.
    printed = (row["dtype_printed"] or "", row["device"] or "")
    own = (row["uri"], row["date"], row["regime"] or "", *printed)
    dated = own if row["origin"] == "row" else ()
    more = (frozenset(row["versions"].items()), frozenset(row["arguments"].items()))
    stated = (configured(row), frozenset(row["env"].items()), frozenset(row["others"].items()))
    return (*stated, *more, *dated, *_told_apart(row))


def _told_apart(row: Row) -> tuple[Hashable, ...]:
    if not _lacks_identity(row):
        return ()
    return (row["launched"],) if row["launched"] else _of_log(row)


def _unstated(row: Row) -> bool:
    """Whether no other run can be known to repeat this one."""
    return _lacks_identity(row) and not row["launched"]


def _lacks_identity(row: Row) -> bool:
    """Whether a log leaves open what was trained: two such logs may be of any two models."""
    return row["origin"] == "log" and not ((row["size"] or row["layers"]) and _batch(row))


def lacks_work(row: Row) -> bool:
    """Whether a log states neither a model nor a batch: no setting explains how it differs from
    another. What bench launched is known by its case."""
    if row["origin"] != "log" or row["launched"]:
        return False
    return not (row["size"] or row["model"] or row["layers"] or _batch(row))


def _batch(row: Row) -> float | None:
    return row["tokens_per_step"] or row["gbs"] or row["device_batch"] or None


def _of_log(row: Row) -> tuple[Hashable, ...]:
    """Equal for the segments of a log."""
    return row["source"], tuple(row["job_ids"] or ())


def unstated(rows: Iterable[Row]) -> int:
    """How many logs leave open what they trained, and so are pooled with no other."""
    return sum(map(_unstated, rows))


def alike_but_stated(rows: Iterable[Row]) -> int:
    """How many configurations of logs differ from another in versions or arguments alone."""
    seen: dict[Hashable, int] = {}
    for row in rows:
        if row["origin"] == "log":
            key = tuple(sorted((name, str(value)) for name, value in configuration(row).items()))
            seen[key] = seen.get(key, 0) + 1
    return sum(count for count in seen.values() if count > 1)


def of_other_dates(first: Row, rows: Iterable[Row]) -> list[Row]:
    """The rows of a document that state the configuration of one of its rows, on another date."""
    if first["origin"] != "row" or first["basis"] == "fit" or first["date"] is None:
        return []
    same = identity({**first, "date": None})
    near = (row for row in rows if row["uri"] == first["uri"] and row["basis"] != "fit")
    dated = [row for row in near if row["date"] not in (None, first["date"])]
    return [row for row in dated if identity({**row, "date": None}) == same]


def jobs(rows: Iterable[Row]) -> list[list[Row]]:
    """Runs by job: a row of a table is one, the segments of a log are one; so are their records."""
    groups: dict[Hashable, list[Row]] = {}
    for row in rows:
        # Segments of a job met the same nodes: counted as repeats they would make the spread small.
        key = row["run"] if row["origin"] == "row" else _of_log(row)
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def runs_of(rows: Iterable[Row]) -> list[list[str]]:
    """The ids of runs, job by job."""
    return [[row["run"] for row in job] for job in jobs(rows)]


def by_configuration(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """A new row each configuration: medians over its jobs, `jobs`, `places`, `members`, ranges."""
    groups: dict[Hashable, list[Row]] = {}
    for row in rows:
        groups.setdefault(identity(row), []).append(row)
    return [combined(group) for group in groups.values()]


def by_job(rows: Iterable[Row], name: str) -> list[tuple[float, list[Row]]]:
    """The median of a column for each job that has it, and the runs (a log's segments) it is of."""
    found = ([row for row in job if row[name] is not None] for job in jobs(rows))
    return [(median(row[name] for row in job), job) for job in found if job]


def per_job(rows: Iterable[Row], name: str) -> list[float]:
    """The median of a column for each job that has it."""
    rows = tuple(rows)
    for row in rows:
        if row["origin"] != "row":
            return [value for value, _ in by_job(rows, name)]
    return [value for row in rows if (value := row[name]) is not None]  # a job each


def combined(runs: Iterable[Row]) -> dict[str, Any]:
    """One new row of runs: medians over their jobs, how many these are, their places and range."""
    group = jobs(runs)
    rows = [row for job in group for row in job]
    made: dict[str, Any] = {
        **rows[0],
        "jobs": len(group),
        "places": [row["where"] for row in rows],
        "runs": [[row["run"] for row in job] for job in group],
        "members": tuple(rows),
    }
    if len(rows) > 1:
        values = {name: per_job(rows, name) for name in MEASURED}
        made |= {name: median(found) if found else None for name, found in values.items()}
        made["derivations"] = {}  # medians over the jobs in `members`
        # If a job prints rates alone, step times are those of the other jobs.
        if len(values["step_time_s"]) == len(group) and (tokens := _tokens(rows)):
            _at_step_time(made, tokens)
        for name, (low, high) in _RANGES.items():
            ends = values[name] if len(group) > 1 else []
            made[low], made[high] = (min(ends), max(ends)) if ends else (made[low], made[high])
    return made


def _tokens(rows: Iterable[Row]) -> int | None:
    """The tokens of a step, where all runs have the same."""
    found = {row["tokens_per_step"] for row in rows}
    return found.pop() if len(found) == 1 else None


def _at_step_time(made: dict[str, Any], tokens: int) -> None:
    """The rates at the median step time: the median of an even number of rates is another."""
    before, made["tokens_per_s"] = made["tokens_per_s"], tokens / made["step_time_s"]
    made["derivations"] = {"tokens_per_s": Derivation(
        expression="tokens_per_step / step_time_s", inputs=("tokens_per_step", "step_time_s"),
        unit="tokens/s",
    )}  # fmt: skip
    if before and made["tokens_per_s_per_device"]:
        made["tokens_per_s_per_device"] *= made["tokens_per_s"] / before
        many = devices_of(made)
        made["derivations"]["tokens_per_s_per_device"] = Derivation(
            expression=f"tokens_per_s / {many}", inputs=("tokens_per_s", many),
            unit="tokens/s of a device",
        )  # fmt: skip
