"""Scaling of rates with devices: groups of runs that differ in these alone, and their fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...decide.answers import scaled
from ...decide.eligible import candidates
from ...decide.query import Query
from ...decide.rows import Decision
from ...project.short_names import ShortNames
from ...schema.warehouse import Row, Warehouse
from ...vocabulary.format import percent, significant
from ..answer import MEASURED, RUN, with_words

PLACES = ("page", "region")
COLUMNS = (
    "group", "scaling", "base_devices", "efficiency", "efficiency_low", "efficiency_high",
    "efficiency_fit", "fit_base", "fit_from", "bubble", "efficiency_without_bubble", "law", "alpha",
    "alpha_low", "alpha_high", "beta", "beta_low", "beta_high", "rms_error", "worst_error", *RUN,
    "measure", *MEASURED, "left_out",
)  # fmt: skip
SHOWN = (
    ("group", "Group"), ("nodes", "Nodes (devices)"), ("split", "DP/TP/PP"), ("mbs", "MBS"),
    ("gbs", "GBS"), ("device_batch", "Batch/device"), ("jobs_text", "Jobs"),
    ("step_time_s", "Sec/it"),
    ("tokens_per_s", "Tokens/s"), ("tflops", "TFLOPs"), ("efficiency_text", "Efficiency"),
    ("range", "Range"), ("fit_text", "Fit"),
    ("bubble_text", "Bubble"), ("without_text", "Without bubble"), ("where", "Where"),
)  # fmt: skip


def answer(warehouse: Warehouse, query: Query) -> Decision:
    """The scaling of the runs of a query."""
    return scaled(candidates(warehouse, query))


def cells(names: ShortNames, row: Row, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A row formatted for people."""
    low, high = row["efficiency_low"], row["efficiency_high"]
    return {
        **with_words(names, row),
        "gbs": row["gbs"] or (f"{row['batch']:.10g}" if row["batch"] else None),
        "tflops": significant(row["tflops"], 4) if row["measure"] == "tflops" else None,
        "jobs_text": row["jobs"] if row["jobs"] > 1 else None,
        "efficiency_text": percent(row["efficiency"], 1),
        "range": f"{percent(low, 1)}-{percent(high, 1)}" if low and high else None,
        "fit_text": percent(row.get("efficiency_fit"), 1),
        "bubble_text": percent(row["bubble"], 1),
        "without_text": percent(row["efficiency_without_bubble"], 1),
    }
