"""The most valuable runs to make next, for `bench plan`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...decide.query import Query
from ...decide.rows import Decision
from ...foresight.planning import Limits, proposed
from ...project.short_names import ShortNames
from ...schema.warehouse import Row, Warehouse
from ...vocabulary.format import percent, significant
from ..answer import MEASURED, RUN
from .predict import PREDICTED
from .predict import cells as predicted_cells

PLACES = ()  # a command: its limits are not options of a region
COLUMNS = (
    "rank", "changes", *RUN, *MEASURED, *PREDICTED, "expected_gain", "chance_of_best", "narrows",
    "why", "run_device_hours", "run_cost", "left_out",
)  # fmt: skip
SHOWN = (
    ("rank", "#"), ("changes", "Against the best"), ("nodes", "Nodes (devices)"),
    ("split", "DP/TP/PP"), ("mbs", "MBS"), ("gbs", "GBS"), ("step_time_s", "Sec/it, predicted"),
    ("step_range", "90% interval"), ("gain", "Expected gain"), ("why", "Why"),
    ("memory_text", "GB"), ("chance", "P(OOM)"), ("hours", "Device-hours of the run"),
    ("money", "Cost of the run"),
)  # fmt: skip


def answer(warehouse: Warehouse, query: Query) -> Decision:
    """The five most valuable runs."""
    return proposed(warehouse, query, {}, 5, Limits())


def cells(names: ShortNames, row: Row, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A row formatted for people."""
    gain = row["expected_gain"]
    return {
        **predicted_cells(names, row, facts),
        "gain": None if gain is None else percent(gain, 2) if gain >= 1e-4 else "0%",
        "hours": significant(row["run_device_hours"], 3),
        "money": significant(row["run_cost"], 3),
    }
