"""Predictions of unmeasured configurations, with 90% intervals and their basis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...decide.cost import COLUMNS as COST_COLUMNS
from ...decide.query import Query
from ...decide.rows import Decision
from ...foresight.answers import predicted
from ...project.short_names import ShortNames
from ...schema.warehouse import Row, Warehouse
from ...vocabulary.format import chance, range_text, significant
from ..answer import MEASURED, RUN, days_headed, with_words
from ..costs import COSTS, cost_cells, costs_headed

RANKED = True
PLACES = ()  # a command: its request has sizes that no page selects by
PREDICTED = (
    "tokens_per_s_per_device_low", "tokens_per_s_per_device_high", "memory_gb_predicted",
    "memory_gb_low", "memory_gb_high", "memory_gb_device", "out_of_memory", "days", "days_low",
    "days_high", "model_tflops_low", "model_tflops_high", "mfu_low", "mfu_high", "device_hours",
    "device_hours_low", "device_hours_high", *COST_COLUMNS, "cost_low", "cost_high",
    "cost_per_100b_tokens_low", "cost_per_100b_tokens_high", "energy_kwh_low", "energy_kwh_high",
    "joules_per_token_low", "joules_per_token_high", "beyond", "outside_text", "scores",
)  # fmt: skip
COLUMNS = ("rank", "basis", *RUN, *MEASURED, *PREDICTED, "left_out")
SHOWN = (
    ("rank", "Rank"), ("basis", "Basis"), ("size", "Model"), ("system", "System"),
    ("nodes", "Nodes (devices)"), ("split", "DP/TP/PP"), ("mbs", "MBS"), ("gbs", "GBS"),
    ("heads", "Heads"), ("recompute", "Recompute"),
    ("step_time_s", "Sec/it"), ("step_range", "90% interval"), ("rate", "Tokens/s/device"),
    ("rate_range", "90% interval of it"), ("tflops_text", "Model TFLOP/s"), ("mfu", "MFU"),
    ("days", "Days"), ("days_range", "Range"), ("device_hours", "Device-hours"),
    *COSTS,
    ("memory_text", "GB"), ("memory_range", "90% interval of GB"), ("chance", "P(OOM)"),
    ("outside_text", "Beyond the measured"), ("where", "Where"),
)  # fmt: skip

# What tells splits of one number of nodes apart, too much beside other numbers.
_OF_ONE_SIZE = (
    "rank", "step_range", "rate_range", "tflops_text", "memory_range", "outside_text",
)  # fmt: skip


def answer(warehouse: Warehouse, query: Query) -> Decision:
    """All feasible splits of the devices of the nearest measured run."""
    return predicted(warehouse, query, {}, every=True)


def shown(facts: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The columns for people, days headed by their budget if that is a unit."""
    shown = [one for one in SHOWN if "deadline" not in facts or one[0] not in _OF_ONE_SIZE]
    return days_headed(costs_headed(shown, facts), facts["plan"])


def cells(names: ShortNames, row: Row, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A row formatted for people."""
    measured = row["basis"] == "measured"
    words = with_words(names, row)
    need = None if measured else row["memory_gb_predicted"]
    share = None if measured else row["out_of_memory"]
    return {
        **words,
        **cost_cells(row),
        "where": words["where"] if measured else None,
        "step_time_s": words["step_time_s"] if measured else significant(row["step_time_s"], 4),
        "step_range": _range(row, "step_time"),
        "rate": significant(row["tokens_per_s_per_device"], 4),
        "rate_range": None if measured else _range(row, "tokens_per_s_per_device"),
        "tflops_text": significant(row["model_tflops"], 4),
        "days": significant(row["days"], 3),
        "days_range": _range(row, "days"),
        "device_hours": significant(row["device_hours"], 3),
        "memory_text": significant(need or row["memory_gb"], 3),
        "memory_range": None if measured else _range(row, "memory_gb"),
        "chance": None if share is None else chance(share),
    }


def _range(row: Row, name: str) -> str | None:
    return range_text(row[f"{name}_low"], row[f"{name}_high"], significant)
