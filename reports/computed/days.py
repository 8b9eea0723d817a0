"""The length of a training, by configuration, with its sources of variation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...decide.answers import lasting
from ...decide.cost import COLUMNS as COST_COLUMNS
from ...decide.query import Query
from ...decide.rows import Decision
from ...project.short_names import ShortNames
from ...schema.warehouse import Row, Warehouse
from ...vocabulary.format import range_text, significant
from ...vocabulary.format import tokens as as_tokens
from ..answer import MEASURED, RUN, days_headed, with_words
from ..costs import COSTS, cost_cells, costs_headed

RANKED = True
PLACES = ()  # a page has this name: in a region columns= or group= select this report
COLUMNS = (
    "rank", "ties_with", "days", "days_low", "days_high", "range_from", "goodput", "goodput_from",
    "budget_tokens", "ramp_up_steps", "ramp_up_days", "device_hours", *COST_COLUMNS,
    *RUN, *MEASURED, "left_out",
)  # fmt: skip
SHOWN = (
    ("rank", "Rank"), ("days", "Days"), ("size", "Model"), ("system", "System"),
    ("nodes", "Nodes (devices)"), ("split", "DP/TP/PP"), ("range", "Range"), ("mbs", "MBS"),
    ("tokens", "Tokens"), *COSTS, ("ties_with", "Ties with"), ("step_time_s", "Sec/it"),
    ("tokens_per_s_per_device", "Tokens/s/device"), ("device_hours", "Device-hours"),
    ("mfu", "MFU"), ("gbs", "GBS"), ("device_batch", "Batch/device"), ("jobs", "Jobs"),
    ("range_from", "Range from"), ("ramp_up_days", "Ramp-up"),
    ("recompute", "Recompute"), ("zero_stage", "ZeRO"), ("heads", "Heads"),
    ("settings", "Settings"),
    ("goodput", "Goodput"), ("goodput_from", "Goodput is"), ("date", "Date"), ("where", "Where"),
)  # fmt: skip
KEEP = ("Where",)
DERIVED = (
    "device_hours", "tokens_per_s_per_device", "mfu", "jobs", "range_from", "ramp_up_days",
    "goodput", "goodput_from", "step_time_s",
)  # fmt: skip


def answer(warehouse: Warehouse, query: Query) -> Decision:
    """The configurations of a query by days, shortest first."""
    return lasting(warehouse, query)


def shown(facts: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The columns for people, days headed by their budget if that is a unit."""
    shown = costs_headed(SHOWN, facts)
    return shown if facts["budgets"] else days_headed(shown, facts["plan"])


def cells(names: ShortNames, row: Row, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A row formatted for people."""
    several = bool(facts["budgets"])
    tokens = row["budget_tokens"] if facts["plan"].tokens is None or several else None
    per = "per " if several and row["budget"].is_unit else ""
    return {
        **with_words(names, row),
        "tokens": f"{per}{as_tokens(tokens)}" if tokens else None,
        "days": significant(row["days"], 3),
        "range": range_text(row["days_low"], row["days_high"], significant),
        "device_hours": significant(row["device_hours"], 3),
        **cost_cells(row),
        "ramp_up_days": significant(row["ramp_up_days"], 3),
        "jobs": row["jobs"] if row["jobs"] > 1 else None,
        # An assumed one is in the sentences above.
        **(
            {"goodput": None, "goodput_from": None}
            if row["goodput_from"] == "assumed"
            else {"goodput": f"{row['goodput']:.2f}"}
        ),
    }
