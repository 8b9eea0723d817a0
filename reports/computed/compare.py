"""Effects of a change between matched jobs, with a verdict on each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...decide.answers import compared
from ...decide.eligible import candidates
from ...decide.gate import gated, growth
from ...decide.query import Query
from ...decide.rows import Decision
from ...project.short_names import ShortNames
from ...schema.warehouse import Row, Warehouse
from ...vocabulary.format import number, range_text, significant, times
from ..answer import MEASURED, RUN, with_words
from ..words import step_time

PLACES = ("region",)  # the command of that name takes two sides
KEEP = ("Speed-up", "Verdict")  # the answer itself
COLUMNS = (
    "factor", "base", "level", *RUN, "where_base", "jobs_base", "measure", "step_time_s_base",
    "tokens_per_s_base", "tflops_base",
    *MEASURED, "speedup", "speedup_low", "speedup_high", "change_percent", "cv_base_percent",
    "cv_percent", "p_value", "q_value", "could_see_percent", "verdict", "method",
    "memory_gb_base", "failed_base", "failed", "newly_fails", "worse", "inconclusive",
    "also_differs",
    "modes_base", "modes", "hosts_base", "hosts", "left_out",
)  # fmt: skip
SHOWN = (
    ("base", "Base"), ("level", "Against"), ("size", "Model"), ("system", "System"),
    ("nodes", "Nodes (devices)"), ("split", "DP/TP/PP"), ("mbs", "MBS"), ("gbs", "GBS"),
    ("device_batch", "Batch/device"),
    ("recompute", "Recompute"), ("zero_stage", "ZeRO"), ("heads", "Heads"),
    ("jobs_text", "Jobs"), ("failed_text", "Failed"), ("step_time_s_base", "Sec/it, base"),
    ("step_time_s", "Sec/it"), ("tflops_base", "TFLOPs, base"), ("tflops", "TFLOPs"),
    ("rate_base", "Rate, base"), ("rate", "Rate"), ("speedup_text", "Speed-up"), ("range", "95%"),
    ("cv_text", "CV"), ("q_value", "q"),
    ("verdict", "Verdict"), ("also_differs", "Also differs"), ("where_base", "Base at"),
    ("where", "Where"),
)  # fmt: skip
_HEADS = {"step_time_s": "Sec/it", "tokens_per_s": "Tokens/s", "memory_gb": "GB"}
_RATES = {
    "tokens_per_s": "tokens/s",
    "samples_per_s": "samples/s",
    "tokens_per_s_per_device": "tokens/s/device",
}
_UNKNOWN = "not known"


def answer(warehouse: Warehouse, query: Query) -> Decision:
    """The runs of a query by the values of one column, the settings unless `by` names another."""
    made = compared(candidates(warehouse, query), query.by or "settings", query.base)
    return gated(made, [], False)


def shown(facts: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The columns for people: for a gate the deciding metrics first, before their places."""
    own = tuple(one for one in SHOWN if one[0] not in facts["hidden"])
    if "gate" not in facts:
        return own
    found = [one for one in own if one[0] not in ("where_base", "where")]
    known = {name for name, _ in found}
    for column in dict.fromkeys(limit.column for limit in facts["gate"]["limits"]):
        head = _HEADS[column]
        more = [
            (f"{column}_base", f"{head}, base"),
            (column, head),
            (f"{column}_more", f"{head} +"),
        ]
        found += [one for one in more if one[0] not in known]
    return (*found, ("worse", "Gate"), *(one for one in own if one not in found))


def cells(names: ShortNames, row: Row, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A row formatted for people."""
    low, high = row["speedup_low"], row["speedup_high"]
    printed = row["measure"] == "tflops"
    cvs = [row["cv_base_percent"], row["cv_percent"]]
    return {
        **with_words(names, {**row, "places": ()}),
        "where_base": f"{names.short(row['first_base']['uri'])}:{row['first_base']['line']}",
        "jobs_text": f"{row['jobs_base']} / {row['jobs']}",
        "failed_text": f"{row['failed_base']} / {row['failed']}"
        if row["failed_base"] or row["failed"]
        else None,
        "step_time_s_base": step_time(row["first_base"]),
        "speedup_text": times(row["speedup"]) if row["speedup"] else None,
        "range": range_text(low, high, "times") if low is not None else None,
        "cv_text": " / ".join("-" if cv is None else f"{number(cv, 1)}%" for cv in cvs)
        if any(cv is not None for cv in cvs)
        else None,
        "rate_base": _rate(row["first_base"], row["measure"]),
        "rate": _rate(row, row["measure"]),
        "tflops_base": significant(row["tflops_base"], 4) if printed else None,
        "tflops": significant(row["tflops"], 4) if printed else None,
        "q_value": significant(row["q_value"], 2),
        "memory_gb": row["memory_gb"],
        **_gate_cells(row, facts.get("gate")),
    }


def _rate(row: Row, measure: str) -> str | None:
    """The compared rate of a run without a step time."""
    if row["step_time_s"] or measure not in _RATES:
        return None
    return f"{significant(row[measure], 4)} {_RATES[measure]}"


def _gate_cells(row: Row, gate: Mapping[str, Any] | None) -> dict[str, str]:
    """The relative deterioration of each metric of a gate; for tokens/s a decrease."""
    if gate is None:
        return {}
    found = {"worse": "worse" if row["worse"] else ""}
    for limit in gate["limits"]:
        grown = growth(row, limit)
        sign = -1 if limit.metric == "tokens_per_s" else 1
        text = _UNKNOWN if grown is None else f"{100 * sign * grown:+.1f}%"
        found[f"{limit.column}_more"] = text
    return found
