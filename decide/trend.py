"""A metric of each configuration over time: its levels, where they change, and the newest runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from statistics import fmean, median
from typing import Any

from ..schema.catalogue import metrics
from ..schema.errors import NOTHING_RECOGNISED, BenchError, did_you_mean
from ..schema.warehouse import Row, Warehouse
from .eligible import Candidates, candidates
from .gate import nothing
from .history import history
from .jobs import unstated
from .query import Query
from .rows import CONFIGURATION, Decision
from .run_dates import RunDates, ran
from .series import Change, Series, changes, grouped, levels, newest_p, placed_by, series
from .statistics import LEVEL, false_discovery

LOWER_IS_BETTER = frozenset(("step_time_s", "memory_gb"))
_NAMES = {"step_time": "step_time_s", "memory": "memory_gb"}
_NO_RESULTS = frozenset(("memory", "model_flops", "documented_aggregate"))
REVISION = "revision"
_LEAST_DOF = 3  # fewer give no usable spread


def columns() -> list[str]:
    """The metrics that a trend may follow, by the names that users write."""
    known = [metric.column for metric in metrics() if metric.column not in _NO_RESULTS]
    return sorted({*_NAMES, *known} - {"step_time_s"})


def trend(
    warehouse: Warehouse,
    query: Query,
    metric: str,
    threshold: float = 0.0,
    chosen: Candidates | None = None,
) -> Decision:
    """The levels of each configuration, the newest first; `query.by` is date, commit, version,
    the name of a version, or revision: the rows of documents by the commits that changed them.
    `query.since` applies to the times of runs; `chosen` are its runs, if already loaded.

    Raises BenchError for an unknown metric and if no configuration has two places.
    """
    column = _column(metric)
    if query.by == REVISION:
        return _decision(_revised(warehouse, query, column), metric, column, REVISION, threshold)
    chosen = chosen or _candidates(warehouse, query)
    rows = chosen.eligible(column).kept
    times = ran(warehouse)
    kept = [row for row in rows if _is_since(times.get(row["run"], RunDates()), query.since)]
    by, placed = placed_by(warehouse, kept, times, query.by or "date")
    found = [one for one in map(series, grouped(placed, column)) if len(one.places) > 1]
    if not found:
        alone = f"{len(placed)} of {len(kept)} runs have a {by}"
        raise nothing(
            f"no configuration was measured at two times ({alone})",
            "--by date, commit or version; --by revision follows the rows of documents over"
            " the commits of bench ingest --history",
        )
    aside = {"unplaced": len(kept) - len(placed), "unstated": unstated(kept)}
    return _decision(found, metric, column, by, threshold, **aside)


def _candidates(warehouse: Warehouse, query: Query) -> Candidates:
    """The runs to follow; if there is only a history, the error suggests it."""
    try:
        return candidates(warehouse, replace(query, since=None))
    except BenchError as error:
        empty = error.exit_code == NOTHING_RECOGNISED
        if empty and warehouse.rows("SELECT 1 FROM row_versions LIMIT 1"):
            error.hint = "--by revision follows the rows of documents over the commits of a history"
        raise


def _decision(
    all_series: Sequence[Series], metric: str, column: str, by: str, threshold: float,
    unplaced: int = 0, unstated: int = 0,
) -> Decision:  # fmt: skip
    known = _spread(all_series)
    judged = [_judged(each, known) for each in all_series]
    _corrected(judged)
    levels_ = [
        {**row, "number": n}
        for n, one in enumerate(judged)
        for row in _rows(one, column, threshold)
    ]
    newest = [row for row in levels_ if row["is_newest"]]
    facts: dict[str, Any] = {
        "metric": metric,
        "column": column,
        "by": by,
        "lower": column in LOWER_IS_BETTER,
        "series": judged,
        "worse": [row for row in newest if row["worse"]],
        "better": [row for row in newest if row["verdict"] == "better"],
        "newest": newest,
        "spread": known,
        "unplaced": unplaced,
        "unstated": unstated,
        "threshold": threshold,
    }
    return Decision("trend", tuple(levels_), (), facts)


def _revised(warehouse: Warehouse, query: Query, column: str) -> list[Series]:
    """The values of a metric in the rows of documents, commit by commit; a row is a series.

    Raises BenchError if no number of that name has two values.
    """
    by_row: dict[tuple[str, str], list[Row]] = {}
    for event in history(warehouse, query).rows:
        late = query.since is None or event["date"] >= query.since
        if event["name"] == column and (event["new_value"] or 0) > 0 and late:
            by_row.setdefault((event["history_id"], event["row_id"]), []).append(event)
    found = [
        Series(
            tuple(f"{event['date']:%Y-%m-%d} {event['commit'][:7]}" for event in events),
            tuple((math.log(event["new_value"]),) for event in events),
            tuple((_as_run(event),) for event in events),
        )
        for events in by_row.values()
        if len(events) > 1
    ]
    if not found:
        raise nothing(f"no row of a document has had two values of {column}; bench history")
    return found


def _as_run(event: Row) -> Row:
    """A number of a document's row as the row of a decision."""
    columns = dict.fromkeys((*CONFIGURATION, "device_count", "settings", "left_out"))
    known = {name: int(text) if text.isdecimal() else text
             for name, text in event["stated"].items() if name in columns}  # fmt: skip
    place = {"where": event["where"], "run": event["row_id"], "size": event["model"]}
    return {**columns, **known, **place}


def _column(metric: str) -> str:
    name = metric.strip().casefold()
    if name not in (*columns(), *_NAMES.values()):
        raise BenchError(
            f"unknown metric {metric!r}",
            hint=did_you_mean(name, columns()),
        )
    return _NAMES.get(name, name)


def _is_since(run: RunDates, since: datetime | None) -> bool:
    return since is None or (run.at is not None and run.at >= since)


def _spread(all_series: Sequence[Series]) -> tuple[float, int] | None:
    """The deviation of ln(metric) between jobs of one place, over all configurations."""
    squares, dof = 0.0, 0
    for each in all_series:
        for values in each.values:
            middle = fmean(values)
            squares += sum((value - middle) ** 2 for value in values)
            dof += len(values) - 1
    return (math.sqrt(squares / dof), dof) if dof and squares else None


def _judged(one: Series, known: tuple[float, int] | None) -> dict[str, Any]:
    """A series with its changes, and the p of its newest place against the level before it."""
    medians = one.medians
    found = changes(medians)
    last = len(medians) - 1
    start = next((change.at for change in reversed(found) if change.at < last), 0)
    before = medians[start:last]
    judged: dict[str, Any] = {"series": one, "changes": found, "newest_p": None, "q": None}
    spread = _own_spread(medians[:last], found) or known
    if before and spread:
        judged["newest_p"] = newest_p(before, [medians[-1]], *spread)
    return judged


def _own_spread(values: Sequence[float], found: Sequence[Change]) -> tuple[float, int] | None:
    """The spread of the places of a series around their levels, and its degrees of freedom: from
    three on."""
    inside = [change for change in found if change.at < len(values)]
    parts = [values[begin:end] for begin, end, _ in levels(values, inside)]
    dof = len(values) - len(parts)
    squares = sum((one - fmean(part)) ** 2 for part in parts for one in part)
    return (math.sqrt(squares / dof), dof) if dof >= _LEAST_DOF and squares else None


def _corrected(judged: Sequence[dict[str, Any]]) -> None:
    """q of the newest places and of the first changes, over all configurations."""
    tested = [one for one in judged if one["newest_p"] is not None]
    for one, q in zip(tested, false_discovery([one["newest_p"] for one in tested]), strict=True):
        one["q"] = q
    changed = [one for one in judged if one["changes"]]
    least = [min(change.p for change in one["changes"]) for one in changed]
    # Those without any change were tested too.
    qs = false_discovery([*least, *[1.0] * (len(judged) - len(changed))])
    for one, q in zip(changed, qs, strict=False):
        one["changes"] = one["changes"] if q < LEVEL else []


def _rows(judged: Mapping[str, Any], column: str, threshold: float) -> list[dict[str, Any]]:
    """The levels of a series, the newest first; the newest place is one where it stands apart."""
    one: Series = judged["series"]
    medians = one.medians
    found = levels(medians, judged["changes"])
    ps: dict[int, float] = {change.at: change.p for change in judged["changes"]}
    begin, end, _ = found[-1]
    apart = judged["q"] is not None and judged["q"] < LEVEL and end - 1 > begin
    if apart:
        found[-1:] = [
            (begin, end - 1, median(medians[begin : end - 1])),
            (end - 1, end, medians[-1]),
        ]
        ps[end - 1] = judged["newest_p"]
    rows: list[dict[str, Any]] = []
    for n, (begin, end, middle) in enumerate(found):
        shift = math.expm1(middle - found[n - 1][2]) if n else None
        rows.append(
            _row(
                one,
                (begin, end),
                {
                    "value": math.exp(middle),
                    "change": shift,
                    "p_value": ps.get(begin),
                    "is_newest": n == len(found) - 1,
                    "before": math.exp(found[n - 1][2]) if n else None,
                    "changed_too": _changed_too(one, found[n - 1][:2], (begin, end)) if n else [],
                    **_verdict(shift, column, threshold),
                },
            )
        )
    if len(rows) == 1:
        tested = judged["newest_p"] is not None
        rows[0]["verdict"] = "steady" if tested else f"not tested: {len(medians)} places"
    return rows[::-1]


def _changed_too(one: Series, before: tuple[int, int], now: tuple[int, int]) -> list[str]:
    """The arguments and versions of logs that changed with a level: NAME old → new."""
    found = []
    for kind in ("arguments", "versions"):  # what was set may be the reason, not the version
        old, new = (
            [row[kind] for of in one.rows[begin:end] for row in of] for begin, end in (before, now)
        )
        for name in sorted(set().union(*old) & set().union(*new)):
            was, is_now = ({str(run.get(name)) for run in side} for side in (old, new))
            if was.isdisjoint(is_now):
                found.append(f"{name} {'|'.join(sorted(was))} → {'|'.join(sorted(is_now))}")
    return found


def _verdict(shift: float | None, column: str, threshold: float) -> dict[str, Any]:
    if shift is None:
        return {"verdict": None, "worse": False}
    worse = (shift > 0) == (column in LOWER_IS_BETTER)
    return {"verdict": "worse" if worse else "better", "worse": worse and abs(shift) > threshold}


def _row(one: Series, span: tuple[int, int], more: Mapping[str, Any]) -> dict[str, Any]:
    begin, end = span
    runs = [row for of in one.rows[begin:end] for row in of]
    first = one.rows[begin][0]
    return {
        **first,
        **more,
        "from": one.places[begin],
        "to": one.places[end - 1],
        "places": [row["where"] for row in runs],
        "jobs": sum(map(len, one.values[begin:end])),
        "points": list(one.places[begin:end]),
        "values": [math.exp(value) for value in one.medians[begin:end]],
        "left_out": None,
    }
