"""The best configurations: ranked as measured, with qualifications of the order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...decide.answers import ranked
from ...decide.cost import COLUMNS as COST_COLUMNS
from ...decide.eligible import candidates
from ...decide.query import Query
from ...decide.rows import Decision
from ...project.short_names import ShortNames
from ...schema.warehouse import Row, Warehouse
from ...vocabulary.format import significant
from ..answer import MEASURED, RUN, days_headed, with_words
from ..costs import COSTS, cost_cells, costs_headed

RANKED = True
PLACES = ("page", "region")
SHOWN = (
    ("rank", "Rank"), ("size", "Model"), ("system", "System"), ("nodes", "Nodes (devices)"),
    ("split", "DP/TP/PP"), ("mbs", "MBS"), ("ties_with", "Ties with"),
    ("step_time_s", "Sec/it"), ("jobs", "Jobs"), ("tokens_per_s", "Tokens/s"),
    ("tokens_per_s_normalised", "Normalised"), ("rank_normalised", "Its rank"),
    ("samples_per_s", "Samples/s"), ("tokens_per_s_per_device", "Tokens/s/device"),
    ("mfu", "MFU"), ("days", "Days"), *COSTS, ("gbs", "GBS"), ("device_batch", "Batch/device"),
    ("recompute", "Recompute"), ("zero_stage", "ZeRO"), ("heads", "Heads"),
    ("settings", "Settings"), ("device_hours", "Device-hours"), ("memory_gb", "GB"),
    ("hfu", "HFU"), ("tflops", "TFLOPs"), ("pareto", "Pareto"),
    ("date", "Date"), ("where", "Where"),
)  # fmt: skip
COLUMNS = (
    "rank", "ties_with", *RUN, *MEASURED, "tokens_per_s_normalised", "rank_normalised", "days",
    "device_hours", *COST_COLUMNS, "pareto", "left_out",
)  # fmt: skip
DERIVED = (
    "days", "mfu", "tokens_per_s_per_device", "samples_per_s", "jobs", "hfu", "tflops", "memory_gb",
    "device_hours", "cost", "pareto", "tokens_per_s_normalised", "rank_normalised",
)  # fmt: skip


def answer(warehouse: Warehouse, query: Query) -> Decision:
    """The runs of a query, the best first."""
    return ranked(warehouse, candidates(warehouse, query), query)


def shown(facts: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The columns for people, days headed by their budget if that is a unit."""
    by_samples = "order" in facts and facts["order"].column == "samples_per_s"
    wanted = [one for one in SHOWN if by_samples or one[0] != "samples_per_s"]
    return days_headed(costs_headed(wanted, facts), facts["plan"])


def keep(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """The ranking column, the rate, the days of a stated budget and the place are dropped last."""
    heads = dict(shown(facts))
    if "order" not in facts:
        return ()
    days = () if facts["plan"].is_unit else ("days",)
    wanted = (facts["order"].column, "tokens_per_s", *days, "where")
    return tuple(heads[name] for name in wanted if name in heads)


def cells(names: ShortNames, row: Row, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A row formatted for people."""
    return {
        **with_words(names, row),
        "jobs": row["jobs"] if row["jobs"] > 1 else None,
        "days": significant(row["days"], 3),
        "device_hours": significant(row["device_hours"], 3),
        **cost_cells(row),
        "pareto": "yes" if row["pareto"] else "",
    }
