"""Failed runs: the latest first, with their times, the cause and its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...decide.failures import failures
from ...decide.query import Query
from ...decide.rows import Decision
from ...project.short_names import ShortNames
from ...schema.warehouse import Row, Warehouse
from ...vocabulary.format import number
from ..answer import configuration_words

RANKED = True
PLACES = ("page", "region")
COLUMNS = (
    "at", "known_from", "began", "ended", "status", "reason", "recurs", "where", "run", "job_ids",
    "hosts", "origin", "size", "model", "system", "nodes", "device_count", "dp", "tp", "pp", "mbs",
    "gbs", "cause", "left_out",
)  # fmt: skip
SHOWN = (
    ("at", "Ran"), ("where", "Where"), ("status", "Status"), ("reason", "Why"),
    ("recurs_text", "Recurs"), ("hosts_text", "Hosts"), ("job", "Job"), ("size", "Model"),
    ("configuration", "Configuration"),
)  # fmt: skip
KEEP = ("Where", "Status", "Why")  # the run, its end, the line of evidence
_MOST = 4  # hosts listed in a cell


def answer(warehouse: Warehouse, query: Query) -> Decision:
    """The failed runs of a query."""
    return failures(warehouse, query)


def cells(names: ShortNames, row: Row, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A row formatted for people."""
    named = row["hosts"]
    more = f" and {len(named) - _MOST} more" if len(named) > _MOST else ""
    sized = row["dp"] or row["tp"] or row["pp"] or row["nodes"] or row["mbs"]
    words = configuration_words({**row, "settings": None, "device_batch": None}) if sized else ""
    return {
        **row,
        "at": f"{row['at']:%Y-%m-%d %H:%M}" if row["at"] else None,
        "where": names.place(row["where"]),
        "reason": names.within(row["reason"] or ""),
        "recurs_text": f"{number(row['recurs'])} runs" if row["recurs"] > 1 else None,
        "hosts_text": ", ".join(named[:_MOST]) + more,
        "job": ", ".join(row["job_ids"]) + (f" ({row['job_name']})" if row["job_name"] else ""),
        "size": row["size"],
        "configuration": words,
    }
