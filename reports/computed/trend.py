"""A metric of each configuration over time: its present and former levels, and changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...decide.query import Query
from ...decide.rows import Decision
from ...decide.trend import REVISION, trend
from ...project.short_names import ShortNames
from ...schema.warehouse import Row, Warehouse
from ...vocabulary.format import significant
from ..chart_parts import labels_of

RANKED = True
PLACES = ("page", "region")
HEADS = {
    "step_time_s": "Sec/it",
    "tokens_per_s": "Tokens/s",
    "tokens_per_s_per_device": "Tokens/s/device",
    "tflops": "TFLOP/s",
    "model_tflops": "Model TFLOP/s",
    "memory_gb": "GB",
    "mfu": "MFU",
    "aggregate_pflops": "PFLOP/s",
}
COLUMNS = (
    "number", "size", "model", "system", "nodes", "device_count", "dp", "tp", "pp", "mbs", "gbs",
    "recompute", "settings", "from", "to", "jobs", "value", "before", "change", "p_value",
    "verdict", "worse", "is_newest", "points", "values", "places", "where", "run", "left_out",
)  # fmt: skip
SHOWN = (
    ("label", "Configuration"), ("from", "From"), ("to", "To"), ("value_text", "Value"),
    ("change_text", "Change"), ("verdict", "Verdict"), ("p_text", "p"), ("jobs", "Jobs"),
    ("first", "First run"),
)  # fmt: skip
KEEP = ("Value", "Change", "Verdict")
_LABEL = (
    "size", "system", "nodes", "world_size", "dp", "tp", "pp", "cp", "mbs", "gbs", "device_batch",
    "seq_len", "dtype", "recompute", "zero_stage", "framework", "settings",
)  # fmt: skip


def answer(warehouse: Warehouse, query: Query) -> Decision:
    """The step times of a query over the days of their runs."""
    return trend(warehouse, query, "step_time")


def shown(facts: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The columns, the value headed by its metric, a level's length by the order of runs."""
    heads = {"value_text": HEADS.get(facts["column"], facts["metric"])}
    if facts["by"] == REVISION:
        heads["jobs"] = "Revisions"
    return tuple((name, heads.get(name, title)) for name, title in SHOWN)


def labels(names: ShortNames, facts: Mapping[str, Any]) -> list[str]:
    """Labels that distinguish the configurations, in the order of their numbers."""
    firsts = [one["series"].rows[0][0] for one in facts["series"]]
    return labels_of(names, firsts, _LABEL)


def cells(names: ShortNames, row: Row, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A row formatted for people."""
    change = row["change"]
    return {
        **row,
        "label": labels(names, facts)[row["number"]],
        "value_text": significant(row["value"], 4),
        "change_text": None if change is None else f"{100 * change:+.1f}%",
        "p_text": significant(row["p_value"], 2),
        "first": names.place(row["where"]),
    }
