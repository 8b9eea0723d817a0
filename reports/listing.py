"""Listings: columns and rows of runs, of one run, and of a user's query."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import duckdb

from ..decide.lookup import find_runs
from ..decide.selection import LISTED
from ..schema.catalogue import metrics
from ..schema.errors import BenchError
from ..schema.generated import expand
from ..schema.materialized import (
    OF_CONTINUATIONS,
    OF_PAGES,
    OF_RUNS,
    OF_SOURCES,
    materialize_if_cheap,
)
from ..schema.warehouse import Warehouse
from ..vocabulary.fields import shown as shown_at

CONFIGURATION = (*shown_at("listings"), "settings", "regime", "status", "kind")
# Identity and speed come first: a narrow terminal shows the first columns.
_FIRST = ("where", "size", "device", *shown_at("brief"), "step_time_s", "tokens_per_s_per_device",
          "tflops", "mfu", "status", "left_out")  # fmt: skip
SHOWN = (*_FIRST, "run", "n", "settings", "annotated")
GROUPED = ("where", "runs", *_FIRST[1:], "settings", "regime", "annotated")
# Shown only where rows would look alike without them. Devices follow from the processes.
_SIZES = tuple(
    name
    for name in shown_at("listings")
    if name not in (*shown_at("brief"), "size", "system", "framework", "devices")
)

# The largest model first; a label such as 1.3B as the number that it is.
_LARGEST = """try_cast(regexp_extract("size", '^([0-9.]+)[KMBT]$', 1) AS DOUBLE)
    * CASE right("size", 1)
    WHEN 'K' THEN 1e3 WHEN 'M' THEN 1e6 WHEN 'B' THEN 1e9 ELSE 1e12 END DESC"""

Listing = tuple[list[str], list[tuple[Any, ...]]]


def every_run(warehouse: Warehouse, chosen: Sequence[str] | None = None) -> Listing:
    """One row a run, by source and line."""
    names = list(chosen or _default_columns(warehouse, SHOWN))
    quoted = ", ".join(f'"{name}"' for name in names)
    return names, warehouse.rows(f"SELECT {quoted} FROM ({LISTED}) ORDER BY uri, line, run_id")


def grouped(
    warehouse: Warehouse, by: Sequence[str] | None = None, chosen: Sequence[str] | None = None
) -> Listing:
    """One row for each configuration, or for each value of `by`: runs, medians, first place.

    Raises BenchError for a column without a single value per group.
    """
    keys = list(by or CONFIGURATION)
    names = list(
        chosen
        or ([*keys, "runs", "step_time_s", "tokens_per_s_per_device", "tflops"] if by
            else _default_columns(warehouse, GROUPED))
    )  # fmt: skip
    parts = {name: f'"{name}"' for name in keys}
    medians = {
        metric.column: f"median({metric.column}) FILTER (left_out IS NULL)"
        for metric in metrics()
        if metric.column not in keys
    }
    parts |= {name: f"{median} AS {name}" for name, median in medians.items()}
    parts["device"] = "string_agg(DISTINCT device, ', ' ORDER BY device) AS device"
    parts["runs"] = "count(*) AS runs"
    parts["where"] = """min("where") AS "where" """
    parts["left_out"] = """CASE WHEN count(left_out) > 0 THEN count(left_out) || ': '
        || string_agg(DISTINCT left_out, ', ' ORDER BY left_out) END AS left_out"""
    parts["annotated"] = (
        """nullif(list_sort(list_distinct(flatten(list(annotated)))), []) AS annotated"""
    )
    unknown = [name for name in names if name not in parts]
    if unknown:
        raise BenchError(
            f"a group of runs has no single {unknown[0]!r}",
            why=f"a group has: {', '.join(sorted(parts))}",
            hint="group by it too (--group), or list every run (--all)",
        )
    by_keys = ", ".join(f'"{name}"' for name in keys)
    chosen_parts = ", ".join(parts[name] for name in names)
    # For each model the fastest first, rows without measurements last.
    rates = ("tokens_per_s_per_device DESC", "step_time_s", "tflops DESC", "mfu DESC")
    ranks = [f"{medians[name]} {way}" for name, _, way in (rate.partition(" ") for rate in rates)]
    order = [f'"{name}"' for name in keys] if by else [_LARGEST, *ranks, *(f'"{n}"' for n in keys)]
    sql = f"SELECT {chosen_parts} FROM ({LISTED}) GROUP BY {by_keys} ORDER BY "
    return names, warehouse.rows(sql + ", ".join(f"{one} NULLS LAST" for one in order))


def _default_columns(warehouse: Warehouse, names: Sequence[str]) -> list[str]:
    """The usual columns of a listing, with those that distinguish rows which would look alike.

    Annotations are shown only where there are any, MFU where it is the only result of a run.
    """
    counts = """SELECT count(annotated),
        count(mfu) FILTER (coalesce(step_time_s, tokens_per_s_per_device, tflops) IS NULL)
        FROM selected"""
    [found] = warehouse.rows(counts)
    empty = [name for name, n in zip(("annotated", "mfu"), found, strict=True) if not n]
    shown = [name for name in names if name not in empty]
    at = shown.index("recompute")
    return [*shown[:at], *_distinguishing(warehouse, shown), *shown[at:]]


def _distinguishing(warehouse: Warehouse, shown: Sequence[str]) -> list[str]:
    """The hidden columns of a configuration that differ where all shown ones agree."""
    keys = ", ".join(f'"{name}"' for name in CONFIGURATION if name in shown)
    hidden = [name for name in _SIZES if name not in shown]
    differ = ", ".join(f'coalesce(bool_or("{name}" > 1), false)' for name in hidden)
    counts = ", ".join(f'count(DISTINCT "{name}") AS "{name}"' for name in hidden)
    query = f"SELECT {differ} FROM (SELECT {counts} FROM ({LISTED}) GROUP BY {keys})"
    [found] = warehouse.rows(query)
    return [name for name, differs in zip(hidden, found, strict=True) if differs]


def show(warehouse: Warehouse, name: str) -> Listing:
    """The parts of a run with the lines that state them; raises BenchError unless one matches. Of a
    line with several runs all are listed, with what tells them apart in a column in front."""
    # All parts are one query over nearly every view.
    materialize_if_cheap(warehouse, *OF_RUNS, *OF_SOURCES, *OF_CONTINUATIONS, *OF_PAGES)
    found = find_runs(warehouse, name)
    columns = ["part", "name", "value", "unit", "stated_at"]
    rows = [(apart, *row) for run, apart in found for row in warehouse.rows(_parts(), {"run": run})]
    if len(found) == 1:
        return columns, [row[1:] for row in rows]
    return ["run", *columns], rows


@cache
def _parts() -> str:
    return expand((files(__package__ or "bench.reports") / "show.sql").read_text("utf-8"))


def query(warehouse: Warehouse, text: str) -> Listing:
    """Columns and rows of one query; it can reach neither files nor the network nor settings."""
    warehouse.seal()
    try:
        count = len(warehouse.con.extract_statements(text))
        if count != 1:
            raise BenchError(
                "bench sql takes one query",
                why=f"there are {count}" if count else "there is none",
                hint="bench sql 'SELECT uri, count(*) FROM runs GROUP BY ALL'",
            )
        return _interruptible(warehouse, text)
    except duckdb.Error as error:
        names = ", ".join(name for (name,) in warehouse.rows(_TABLES))
        raise BenchError(
            "the query failed", why=str(error).strip(), hint=f"tables: {names}"
        ) from error


def _interruptible(warehouse: Warehouse, text: str) -> Listing:
    from concurrent.futures import ThreadPoolExecutor  # slow import, only needed here

    # DuckDB ignores Ctrl-C while it works: so it works in a thread, and this one waits.
    with ThreadPoolExecutor(1) as worker:
        running = worker.submit(warehouse.table, text)
        try:
            return running.result()
        except KeyboardInterrupt:
            warehouse.con.interrupt()
            raise


_TABLES = """SELECT view_name FROM duckdb_views()
             WHERE database_name = 'wh' AND schema_name = 'main' AND NOT internal
             ORDER BY view_name"""
