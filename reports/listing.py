"""Runs as a listing: one row a configuration, or one a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse

CONFIGURATION = (
    "size",
    "system",
    "framework",
    "nodes",
    "devices",
    "world_size",
    "dp",
    "tp",
    "pp",
    "cp",
    "ep",
    "vpp",
    "mbs",
    "gbs",
    "seq_len",
    "zero_stage",
    "recompute",
    "dtype",
    "layers",
    "hidden",
    "heads",
    "settings",
    "epoch",
    "status",
    "kind",
)
SHOWN = (
    "run",
    "where",
    "size",
    "device",
    "nodes",
    "world_size",
    "dp",
    "tp",
    "pp",
    "mbs",
    "gbs",
    "recompute",
    "settings",
    "status",
    "step_time_s",
    "n",
    "tokens_per_s_per_device",
    "tflops",
    "left_out",
    "told",
)
GROUPED = (  # a narrow terminal shows the first of them
    "runs",
    "size",
    "status",
    "step_time_s",
    "nodes",
    "world_size",
    "dp",
    "tp",
    "pp",
    "mbs",
    "gbs",
    "recompute",
    "tflops",
    "tokens_per_s_per_device",
    "device",
    "settings",
    "epoch",
    "left_out",
    "told",
    "where",
)
_RUNS = """SELECT * EXCLUDE (table_id, source_id, segment, product, usable), run_id AS run,
               uri || ':' || line AS "where"
           FROM selected"""

_SIZES = ("cp", "ep", "vpp", "seq_len", "zero_stage", "dtype", "layers", "hidden", "heads")

Listing = tuple[list[str], list[tuple[Any, ...]]]


def columns(warehouse: Warehouse) -> dict[str, str]:
    """Name and DuckDB type of every column of a run listing; `selected` must be there."""
    return {name: kind for name, kind, *_ in warehouse.rows(f"DESCRIBE {_RUNS}")}


def every_run(warehouse: Warehouse, chosen: Sequence[str] | None = None) -> Listing:
    """One row a run, by source and line."""
    names = list(chosen or _said(warehouse, SHOWN))
    quoted = ", ".join(f'"{name}"' for name in names)
    return names, warehouse.rows(f"SELECT {quoted} FROM ({_RUNS}) ORDER BY uri, line, run_id")


def grouped(
    warehouse: Warehouse, by: Sequence[str] | None = None, chosen: Sequence[str] | None = None
) -> Listing:
    """One row for each configuration, or for each value of `by`: runs, medians, first place.

    Raises BenchError for a column that a group has no value for.
    """
    keys = list(by or CONFIGURATION)
    names = list(
        chosen
        or ([*keys, "runs", "step_time_s", "tokens_per_s_per_device", "tflops"] if by
            else _said(warehouse, GROUPED))
    )  # fmt: skip
    parts = {name: f'"{name}"' for name in keys}
    parts |= {
        name: f"median({name}) FILTER (left_out IS NULL) AS {name}"
        for name in (
            "step_time_s",
            "tokens_per_s",
            "tokens_per_s_per_device",
            "tflops",
            "model_tflops",
            "aggregate_pflops",
            "memory",
        )
        if name not in keys
    }
    parts["device"] = "string_agg(DISTINCT device, ', ' ORDER BY device) AS device"
    parts["runs"] = "count(*) AS runs"
    parts["where"] = """min("where") AS "where" """
    parts["left_out"] = """CASE WHEN count(left_out) > 0 THEN count(left_out) || ': '
        || string_agg(DISTINCT left_out, ', ' ORDER BY left_out) END AS left_out"""
    parts["told"] = """nullif(list_sort(list_distinct(flatten(list(told)))), []) AS told"""
    unknown = [name for name in names if name not in parts]
    if unknown:
        raise BenchError(
            f"a group of runs has no single {unknown[0]!r}",
            why=f"a group has: {', '.join(sorted(parts))}",
            hint="group by it too (--group), or list every run (--all)",
        )
    by_keys = ", ".join(f'"{name}"' for name in keys)
    chosen_parts = ", ".join(parts[name] for name in names)
    order = ", ".join(f'"{name}" NULLS LAST' for name in keys)
    query = f"SELECT {chosen_parts} FROM ({_RUNS}) GROUP BY {by_keys}"
    return names, warehouse.rows(f"{query} ORDER BY {order}")


def _said(warehouse: Warehouse, names: Sequence[str]) -> list[str]:
    """The columns of a listing: those that tell apart rows which would look alike come with it.

    What users tell is left out where nobody tells anything.
    """
    told = warehouse.rows("SELECT 1 FROM selected WHERE told IS NOT NULL LIMIT 1")
    shown = [name for name in names if name != "told" or told]
    at = shown.index("recompute")
    return [*shown[:at], *_telling(warehouse, shown), *shown[at:]]


def _telling(warehouse: Warehouse, shown: Sequence[str]) -> list[str]:
    """Of what makes a configuration, all that is not shown and differs where the rest is alike."""
    keys = ", ".join(f'"{name}"' for name in CONFIGURATION if name in shown)
    hidden = [name for name in _SIZES if name not in shown]
    differ = ", ".join(f'coalesce(bool_or("{name}" > 1), false)' for name in hidden)
    counts = ", ".join(f'count(DISTINCT "{name}") AS "{name}"' for name in hidden)
    query = f"SELECT {differ} FROM (SELECT {counts} FROM ({_RUNS}) GROUP BY {keys})"
    [found] = warehouse.rows(query)
    return [name for name, differs in zip(hidden, found, strict=True) if differs]
