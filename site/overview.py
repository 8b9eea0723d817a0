"""The first page: what there is, what is best, what is new, what failed, what is doubted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..decide.failures import FAILED
from ..decide.ranking import ranking
from ..decide.rows import Row
from ..reports.words import step_time, topology_short
from ..vocabulary.format import days_words, number, percent, significant
from .load import Content
from .modelcharts import Drawer
from .models import finding_words
from .runtable import run_cell, status_cell
from .table import Cell, Column, Table

_NEWEST, _CAUSES, _FINDINGS = 15, 8, 6


def overview(
    content: Content, changes: Mapping[str, Any] | None
) -> tuple[dict[str, Any], list[Table]]:
    """What the template needs, and the tables that have data of their own."""
    best = best_table(content)
    open_findings = [one for one in content.findings if not one["closed"]]
    severities = Counter(one["severity"] for one in open_findings)
    broken = [one for one in content.failures.rows if one["status"] in FAILED]
    chart = Drawer(content, content.rows, "").runs(
        "all",
        "Aggregate model PFLOP/s of every run",
        "device_count",
        "Devices",
        "aggregate_pflops",
        "model PFLOP/s of the job",
        significant,
    )
    doubted = [one for one in open_findings if one["severity"] == "error"] or open_findings
    page = {
        "title": "Overview",
        "best": best.html(""),
        "chart": chart.html if chart else "",
        "tiles": [
            (len(content.rows), "runs", ""),
            (len(content.models), "models", ""),
            (len(content.sources), "sources", "sources.html"),
            (len(broken), "failed", "failures.html"),
            (severities["error"], "errors found", "findings.html"),
        ],
        "last": max((one["loaded_at"] for one in content.sources.values()), default=None),
        "newest": newest_table(content).html(""),
        "causes": causes(content)[:_CAUSES],
        "statuses": Counter(one["status"] for one in broken).most_common(),
        "severities": severities,
        "findings": [finding_words(content, one) for one in doubted[:_FINDINGS]],
        "changes": changes,
        "models": [
            (f"models/{content.model_slugs[name]}.html", name, len(rows))
            for name, rows in content.models.items()
        ],
    }
    return page, [best]


def best_table(content: Content) -> Table:
    """The fastest run of each model on each system, the largest model first."""
    found: list[tuple[dict[str, Any], Any, Row]] = []
    for name, rows in content.models.items():
        plan = content.plans_of_models[name]
        for one in ranking(rows, plan, 1):
            found.append((one, plan, content.by_id[one["run_id"]]))
    found.sort(
        key=lambda one: (
            -(
                one[2]["params_b"]
                or (one[2]["params_stated"] or one[2]["params_computed"] or 0) / 1e9
            ),
            str(one[0]["size"]),
            -one[0]["tokens_per_s"],
        )
    )
    line = content.text.line

    def numbers(key: str, title: str, text: Any, value: Any = None) -> Column:
        cells = [
            Cell()
            if (at := value(one) if value else one[0][key]) is None
            else Cell(at, text(one), look="computed")
            for one in found
        ]
        return Column(key, title, cells, "number")

    amounts = {plan.amount for _, plan, _ in found}
    columns = [
        Column(
            "model",
            "Model",
            [
                Cell(
                    line(one["size"] or one["model"] or "not stated", 40),
                    href=content.model_href(row),
                )
                for one, _, row in found
            ],
        ),
        Column(
            "system",
            "System",
            [
                Cell(line(content.names.system(one["system"]), 48), look="clip")
                for one, _, _ in found
            ],
        ),
        numbers(
            "devices",
            "Devices",
            lambda one: number(one[2]["device_count"]),
            lambda one: one[2]["device_count"],
        ),
        Column("split", "DP/TP/PP", [Cell(topology_short(one)) for one, _, _ in found]),
        numbers(
            "step_time_s",
            "Step, s",
            lambda one: step_time(one[0]) + ("^" if one[0]["time_is_marked"] else ""),
        ),
        numbers(
            "tokens_per_s_per_device",
            "Tokens/s/device",
            lambda one: significant(one[0]["tokens_per_s_per_device"], 4),
        ),
        numbers("mfu", "MFU", lambda one: percent(one[0]["mfu"], 1)),
        numbers(
            "days",
            f"Days for {amounts.copy().pop()}" if len(amounts) == 1 else "Days",
            lambda one: days_words(one[0]["days"]).removesuffix(" days"),
        ),
        Column(
            "for",
            "for tokens",
            [Cell(plan.amount.removesuffix(" tokens")) for _, plan, _ in found]
            if len(amounts) > 1
            else [Cell() for _ in found],
        ),
        Column("run", "Run", [run_cell(content, row) for _, _, row in found]),
    ]
    runs = [
        content.id(row["run"]) if row["run"] in content.with_pages else "" for _, _, row in found
    ]
    return Table(
        "best",
        "Best of each model and system",
        [c for c in columns if not c.is_empty],
        runs,
        key="best",
    )


def newest_table(content: Content) -> Table:
    """The runs that ran last, as far as a date is known."""
    dated = [(at, row) for row in content.rows if (at := content.at(row)) is not None]
    dated.sort(key=lambda one: (one[0], one[1]["uri"], one[1]["line"]), reverse=True)
    rows = [row for _, row in dated[:_NEWEST]]
    line = content.text.line
    ids = [content.id(row["run"]) if row["run"] in content.with_pages else "" for row in rows]
    return Table(
        "newest",
        "Newest runs",
        [
            Column("run", "Run", [run_cell(content, row) for row in rows]),
            Column("ran", "Ran", [Cell(f"{at:%Y-%m-%d}") for at, _ in dated[:_NEWEST]]),
            Column(
                "model",
                "Model",
                [
                    Cell(line(row["size"] or row["model"] or "", 40), href=content.model_href(row))
                    for row in rows
                ],
            ),
            Column(
                "devices",
                "Devices",
                [Cell(row["device_count"], number(row["device_count"])) for row in rows],
                "number",
            ),
            Column(
                "step",
                "Step, s",
                [
                    Cell(row["step_time_s"], step_time(row)) if row["step_time_s"] else Cell()
                    for row in rows
                ],
                "number",
            ),
            Column("status", "Status", [status_cell(row) for row in rows], "status"),
        ],
        ids,
    )


def causes(content: Content) -> list[dict[str, Any]]:
    """Why runs failed, the commonest cause first, with the runs of each."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for one in content.failures.rows:
        groups.setdefault(one["cause"] or f"{one['status']}, no reason stated", []).append(one)
    made = []
    for rows in sorted(groups.values(), key=lambda of: -len(of)):
        first = rows[0]
        runs = [content.by_id[one["run"]] for one in rows if one["run"] in content.by_id]
        made.append(
            {
                "count": len(rows),
                "status": first["status"],
                "reason": content.names.within(first["reason"] or "")
                if first["cause"]
                else "no reason is stated",
                "href": content.line_href(first["uri"], first["line"]) if first["cause"] else None,
                "runs": [(content.href(row["run"]), content.place(row)) for row in runs[:4]],
                "more": max(len(runs) - 4, 0),
            }
        )
    return made
