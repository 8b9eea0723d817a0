"""Unmeasured configurations next to the best, for `bench best --neighbours`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...decide.answers import neighbours_of_best
from ...decide.query import Query
from ...decide.rows import Decision
from ...project.short_names import ShortNames
from ...schema.warehouse import Row, Warehouse
from ...vocabulary.format import percent, significant
from ..answer import RUN, with_words

PLACES = ()  # an option of `bench best`
COLUMNS = (
    "rank", "changes", *RUN, "tokens_per_step", "memory_gb_predicted", "memory_gb_device", "bubble",
    "fits_tiles", "left_out",
)  # fmt: skip
SHOWN = (
    ("rank", "#"), ("changes", "Against the best"), ("nodes", "Nodes (devices)"),
    ("split", "DP/TP/PP"), ("mbs", "MBS"), ("gbs", "GBS"), ("memory_text", "GB, predicted"),
    ("bubble_text", "Bubble"), ("left_out", "Why not"),
)  # fmt: skip


def answer(warehouse: Warehouse, query: Query) -> Decision:
    """The configurations next to the best of a query."""
    return neighbours_of_best(warehouse, query)


def cells(names: ShortNames, row: Row, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A row formatted for people."""
    return {
        **with_words(names, {**row, "tflops": None}),
        "memory_text": significant(row["memory_gb_predicted"], 2),
        "bubble_text": percent(row["bubble"], 1),
    }
