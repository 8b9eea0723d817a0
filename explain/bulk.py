"""Derivations of many runs: their lookups are read in bulk."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from typing import Any

from ..schema.catalogue import metrics, values
from ..schema.sql import named_statements
from ..schema.warehouse import Row, Warehouse
from .columns import ways_sql
from .run import Interval, Lines, RunContext, cells_by_name, facts_by_scope
from .statistic import SHOWN, judged_intervals

# Of a window the first and last two, the ends of the range, and the middle values.
_INTERVALS = """,
long AS (
    SELECT run_id, line, iteration, grade, grade <= least AS used,
        unnest([{names}]) AS metric, unnest([{values}]) AS value
    FROM judged
), valued AS (
    SELECT * FROM long WHERE value IS NOT NULL AND isfinite(value)
), totals AS (
    -- No window: over a whole run it would compare each interval with all others.
    SELECT run_id, metric, count(*) AS total, count(*) FILTER (used) AS window_size
    FROM valued GROUP BY run_id, metric
), placed AS (
    SELECT v.*, total, window_size,
        row_number() OVER (PARTITION BY run_id, metric, used ORDER BY line) AS from_first,
        row_number() OVER (PARTITION BY run_id, metric, used ORDER BY line DESC) AS from_last,
        row_number() OVER (PARTITION BY run_id, metric, used ORDER BY value, line) AS by_value
    FROM valued v JOIN totals USING (run_id, metric)
)
SELECT run_id, metric, line, iteration, value, grade, used, total, total - window_size AS left_out
FROM placed
WHERE total <= {shown} OR (used AND (from_first <= 2 OR from_last <= 2
    OR by_value IN (1, window_size, window_size // 2 + 1, (window_size + 1) // 2)))
ORDER BY run_id, metric, line"""
_METRICS = (
    "step_time_s", "samples_per_s", "tflops", "tokens_per_s", "tokens_per_s_per_device", "gbs",
    "seq_len", "mfu", "hfu",
)  # fmt: skip
_LOADS = """SELECT DISTINCT load_id FROM raw.runs JOIN current_loads USING (load_id)
            WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))"""


@dataclass(frozen=True)
class Lookups:
    """Prefetched lookups of many runs, by kind and run."""

    rows: Mapping[str, Row]
    parts: Mapping[str, Mapping[str, Sequence[Row]]]
    ways: Mapping[str, dict[str, int]]
    ends: Mapping[str, Mapping[str, tuple[float | None, float | None]]]
    evaluated: Mapping[tuple[str, str], Mapping[str, tuple[Any, str | None]]]
    intervals: Mapping[str, Mapping[str, tuple[Sequence[Interval], int, int]]]


@dataclass
class PrefetchedRun(RunContext):
    """A run with prefetched lookups."""

    known: Lookups = field(kw_only=True)

    def _of(self, kind: str) -> Sequence[Row]:
        return self.known.parts[kind].get(self.run_id, ())

    @cached_property
    def cells(self) -> dict[str, Row]:
        return cells_by_name(self._of("cells"))

    @cached_property
    def facts(self) -> dict[tuple[str, str], Row]:
        return facts_by_scope(self._of("facts"))

    @cached_property
    def measurements(self) -> dict[str, Row]:
        return {row["metric"]: row for row in self._of("measured")}

    @cached_property
    def user_facts(self) -> dict[str, list[Row]]:
        groups: dict[str, list[Row]] = {}
        for row in self._of("annotations"):
            groups.setdefault(row["field"], []).append(row)
        return groups

    def ends(self, view: str) -> tuple[float | None, float | None]:
        return self.known.ends.get(view, {}).get(self.run_id, (None, None))

    def evaluated(self, value: str, note: str) -> tuple[Any, str | None]:
        return self.known.evaluated.get((value, note), {}).get(self.run_id, (None, None))

    def printed(self, metric: str, line: int) -> str:
        found = [row for row in self._of("printed") if row["metric"] == metric]
        return (
            str(min(found, key=lambda row: (row["line"] != line, row["raw"]))["raw"])
            if found
            else ""
        )

    def statistics(self, metric: str) -> Row | None:
        return next((row for row in self._of("statistics") if row["metric"] == metric), None)


def known_runs(warehouse: Warehouse, lines: Lines, runs: Sequence[str]) -> Iterator[PrefetchedRun]:
    """These runs of the temporary table `selected`, in this order, with all lookups."""
    known = _lookups(warehouse, runs)
    for run in runs:
        yield PrefetchedRun(
            warehouse,
            lines,
            known.rows[run],
            ways=known.ways[run],
            intervals=known.intervals.get(run, {}),
            known=known,
        )


def _lookups(warehouse: Warehouse, runs: Sequence[str]) -> Lookups:
    given = {"runs": list(runs)}
    chosen = "FROM selected WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))"
    text = (files(__package__ or "bench.explain") / "many.sql").read_text("utf-8")
    parts: dict[str, dict[str, list[Row]]] = {}
    for name, query in named_statements(text).items():
        parts[name] = defaultdict(list)
        for row in warehouse.dicts(query, given):
            parts[name][row["run_id"]].append(row)
    ways = {
        run: dict(zip(values(), found, strict=True))
        for run, *found in warehouse.rows(f"SELECT run_id, {ways_sql()} {chosen}", given)
    }
    ends = {
        metric.view: {
            run: (low, high)
            for run, low, high in warehouse.rows(
                f"SELECT run_id, low, high FROM {metric.view} "
                "WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))",
                given,
            )
        }
        for metric in metrics()
    }
    evaluated = {}
    for name, made in values().items():
        for way in made.ways:
            if way.value or way.note:
                key = (way.value or name, way.note or "NULL")
                query = f"SELECT run_id, {key[0]}, {key[1]} {chosen}"
                evaluated[key] = {
                    run: (value, note) for run, value, note in warehouse.rows(query, given)
                }
    rows = {row["run_id"]: row for row in warehouse.dicts(f"SELECT * {chosen}", given)}
    return Lookups(rows, parts, ways, ends, evaluated, _intervals(warehouse, given))


def _intervals(
    warehouse: Warehouse, given: dict[str, Any]
) -> dict[str, dict[str, tuple[Sequence[Interval], int, int]]]:
    loads = [load for (load,) in warehouse.rows(_LOADS, given)]
    names = ", ".join(f"'{name}'" for name in _METRICS)
    columns = ", ".join(f"{name}::DOUBLE" for name in _METRICS)
    query = judged_intervals() + _INTERVALS.format(names=names, values=columns, shown=SHOWN)
    found: dict[str, dict[str, list[tuple[Any, ...]]]] = defaultdict(lambda: defaultdict(list))
    for run, metric, *rest in warehouse.rows(query, {"load_ids": loads}):
        found[run][metric].append(tuple(rest))
    return {
        run: {
            metric: ([one[:5] for one in listed], listed[0][6], listed[0][5])
            for metric, listed in by_metric.items()
        }
        for run, by_metric in found.items()
    }
