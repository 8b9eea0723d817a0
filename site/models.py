"""The page of a model: answers, what was swept, charts, failures, findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..decide.rows import Row
from .load import Content
from .runtable import run_table


def model_page(content: Content, name: str, rows: Sequence[Row], root: str) -> tuple[dict[str, Any], list[Any]]:
    """What the template of a model needs, and the tables that have data of their own."""
    plan = content.budget_of(rows)
    slug = content.model_slugs[name]
    ordered = sorted(rows, key=lambda row: (row["tokens_per_s"] is None or bool(row["left_out"]),
                                            -(row["tokens_per_s"] or 0)))  # fmt: skip
    alike, table = run_table(content, "runs", ordered, plan, label=f"Runs of {name}",
                             key=f"models/{slug}/runs")  # fmt: skip
    return {"title": name, "name": name, "count": len(rows), "alike": alike,
            "runs": table.html(root), "plan": plan, "charts": []}, [table]  # fmt: skip
