"""Hosts in slow or failed jobs more often than by chance: an exact test for each host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...decide.query import Query
from ...decide.rows import Decision
from ...decide.stragglers import stragglers
from ...project.short_names import ShortNames
from ...schema.warehouse import Row, Warehouse
from ...vocabulary.format import significant, times

RANKED = True
PLACES = ("page", "region")
COLUMNS = (
    "host", "jobs", "marked", "expected", "time_ratio", "p_value", "q_value", "verdict", "places",
    "left_out",
)  # fmt: skip
SHOWN = (
    ("host", "Host"), ("jobs", "Jobs"), ("marked", "Slow"), ("expected_text", "By chance"),
    ("ratio_text", "Time"), ("p_text", "p"), ("q_text", "q"), ("verdict", "Verdict"),
    ("places_text", "Where"),
)  # fmt: skip
KEEP = ("Jobs", "Slow", "Verdict")
_MOST = 3


def answer(warehouse: Warehouse, query: Query) -> Decision:
    """The hosts of the jobs of a query."""
    return stragglers(warehouse, query)


def shown(facts: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The columns, headed by the counted events."""
    head = {"marked": facts["by"].capitalize()}
    return tuple((name, head.get(name, title)) for name, title in SHOWN)


def cells(names: ShortNames, row: Row, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A row formatted for people."""
    places = [names.place(where) for where in row["places"]]
    more = f" and {len(places) - _MOST} more" if len(places) > _MOST else ""
    return {
        **row,
        "expected_text": significant(row["expected"], 2),
        "ratio_text": times(row["time_ratio"]) if row["time_ratio"] else None,
        "p_text": significant(row["p_value"], 2),
        "q_text": significant(row["q_value"], 2),
        "places_text": ", ".join(places[:_MOST]) + more,
    }
