"""What a change does: effects between matched groups of jobs, with what can be said of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from ..reports.format import number, range_text, significant, times
from ..reports.short import Names
from .answer import MEASURED, RUN, Answer, left_out_words, place, time_words, with_words
from .comparison_words import (
    also_sentence,
    bimodal_words,
    date_words,
    failure_words,
    measure_words,
    modes_words,
    one_sided_words,
    overall,
    spread_words,
    stated_words,
)
from .factors import order
from .jobs import Spread, jobs, per_job, rounding, runs_of
from .pairing import Pair, also_words
from .rows import Row
from .statistics import (
    Effect,
    corrected,
    effect,
    untested,
    variation,
)

COLUMNS = (
    "factor", "base", "level", *RUN, "where_base", "jobs_base", "measure", "step_time_s_base",
    "tokens_per_s_base", "tflops_base",
    *MEASURED, "speedup", "speedup_low", "speedup_high", "change_percent", "cv_base_percent",
    "cv_percent", "p_value", "q_value", "could_see_percent", "verdict", "method",
    "memory_gb_base", "failed_base", "failed", "newly_fails", "worse", "inconclusive",
    "also_differs",
    "modes_base", "modes", "hosts_base", "hosts", "left_out",
)  # fmt: skip
_SHOWN = (
    ("base", "Base"), ("level", "Against"), ("size", "Model"), ("system", "System"),
    ("nodes", "Nodes (devices)"), ("split", "DP/TP/PP"), ("mbs", "MBS"), ("gbs", "GBS"),
    ("device_batch", "Batch/device"),
    ("recompute", "Recompute"), ("zero_stage", "ZeRO"), ("heads", "Heads"),
    ("jobs_text", "Jobs"), ("failed_text", "Failed"), ("step_time_s_base", "Sec/it, base"),
    ("step_time_s", "Sec/it"), ("tflops_base", "TFLOPs, base"), ("tflops", "TFLOPs"),
    ("speedup_text", "Speed-up"), ("range", "95%"), ("cv_text", "CV"), ("q_value", "q"),
    ("verdict", "Verdict"), ("also_differs", "Also differs"), ("where_base", "Base at"),
    ("where", "Where"),
)  # fmt: skip
_KEPT = ("Speed-up", "Verdict")  # the answer itself
_ORDER = ("size", "system", "nodes", "world_size", "pp", "tp", "dp", "mbs", "gbs", "heads")


def compare(
    names: Names,
    title: str,
    pairs: Sequence[Pair],
    left_out: Sequence[Row],
    spread: Callable[[Row], Spread | None],
    hidden: Collection[str] = (),
) -> Answer:
    """The pairs as an answer: those that differ in nothing else first, by configuration, then
    those of which one side failed.

    `title` names the factor, whose own columns are `hidden` from people.
    """
    ordered = sorted((pair for pair in pairs if pair.measured), key=_pair_order)
    broken = sorted((pair for pair in pairs if not pair.measured), key=_pair_order)
    effects = corrected([_effect(pair, spread) for pair in ordered])
    shown = tuple(one for one in _SHOWN if one[0] not in hidden)
    rows = [
        {"factor": title, **_row(names, pair, one)}
        for pair, one in zip(ordered, effects, strict=True)
    ]
    rows += [{"factor": title, **_one_sided(names, pair)} for pair in broken]
    told = {id(row) for pair in broken for row in pair.rows()}
    left_out = [row for row in left_out if id(row) not in told]
    said = (
        *failure_words(names, title, pairs),
        *overall(title, ordered, effects),
        *spread_words(names, ordered, effects, spread),
        *bimodal_words(names, title, ordered),
        *measure_words(ordered),
        *also_sentence(title, ordered),
        *stated_words(ordered),
        *date_words(title, ordered),
    )
    cells = tuple(_cells(names, row) for row in rows)
    notes = left_out_words(names, left_out)
    return Answer(said, COLUMNS, shown, tuple(rows), tuple(left_out), notes, cells, _KEPT)


def _effect(pair: Pair, spread: Callable[[Row], Spread | None]) -> Effect:
    before, after = per_job(pair.before, "pace"), per_job(pair.after, "pace")
    if pair.also:
        return untested(before, after)
    return effect(before, after, spread(pair.after[0]), rounding(pair.before, pair.after))


def _pair_order(pair: Pair) -> tuple[Any, ...]:
    row = (*pair.after, *pair.failed_after)[0]
    keys = [
        (0, value, "") if isinstance(value := row[name], int) else (1, 0, str(value or ""))
        for name in _ORDER
    ]
    return (bool(pair.also), order(pair.level), *keys, row["uri"], row["line"])


def _row(names: Names, pair: Pair, one: Effect) -> dict[str, Any]:
    before, after = pair.before, pair.after
    medians = {name: _median(after, name) for name in MEASURED if name in after[0]}
    return {
        **after[0],
        **medians,
        "tokens_per_step": after[0]["tokens_per_step"],
        "place": place(names, after[0]),
        "base": pair.base,
        "level": pair.level,
        "jobs": len(jobs(after)),
        "runs": runs_of(after),
        "runs_base": runs_of(before),
        **_base_of(names, before),
        **_certainty(pair, one),
        "also_differs": also_words(pair.also) or None,
        "failed_base": len(jobs(pair.failed_before)),
        "failed": len(jobs(pair.failed_after)),
        "newly_fails": pair.newly_fails,
        "modes": modes_words(after),
        "hosts": _hosts(after),
        "left_out": None,
    }


def _one_sided(names: Names, pair: Pair) -> dict[str, Any]:
    """A row of a pair of which one side failed: no effect, but what happened."""
    before, after = pair.before or pair.failed_before, pair.after or pair.failed_after
    nothing = Effect(math.nan, None, None, None, None, "not tested")
    return {
        **_row(names, replace(pair, before=before, after=after), nothing),
        **dict.fromkeys(("speedup", "change_percent")),
        "jobs": len(jobs(pair.after)),
        "jobs_base": len(jobs(pair.before)),
        "verdict": one_sided_words(pair),
    }


def _base_of(names: Names, before: Sequence[Row]) -> dict[str, Any]:
    """What a pair's row says of its base."""
    time = _median(before, "step_time_s")
    count = len(jobs(before))
    return {
        "where_base": before[0]["where"],
        "place_base": place(names, before[0]),
        "time_base": time_words({**before[0], "jobs": count, "step_time_s": time}),
        "jobs_base": count,
        "step_time_s_base": time,
        "tokens_per_s_base": _median(before, "tokens_per_s"),
        "tflops_base": _median(before, "tflops"),
        "memory_gb_base": _median(before, "memory_gb"),
        "modes_base": modes_words(before),
        "hosts_base": _hosts(before),
    }


def _certainty(pair: Pair, one: Effect) -> dict[str, Any]:
    """The effect, its interval, and what can be said of it; shares in percent."""
    spread = [variation(per_job(side, "pace")) for side in (pair.before, pair.after)]
    base, other = (None if cv is None else 100 * cv for cv in spread)
    return {
        "speedup": one.speedup,
        "speedup_low": one.low,
        "speedup_high": one.high,
        "change_percent": 100 * (1 / one.speedup - 1),
        "cv_base_percent": base,
        "cv_percent": other,
        "p_value": one.p,
        "q_value": one.q,
        "could_see_percent": None if one.seen is None else 100 * one.seen,
        "verdict": one.verdict,
        "method": one.method,
    }


def _median(rows: Sequence[Row], name: str) -> float | None:
    values = per_job(rows, name)
    return median(values) if values else None


def _hosts(rows: Sequence[Row]) -> str | None:
    return "; ".join(sorted({row["hosts"] for row in rows if row["hosts"]})) or None


def _cells(names: Names, row: Row) -> dict[str, Any]:
    low, high = row["speedup_low"], row["speedup_high"]
    printed = row["measure"] == "tflops"
    cvs = [row["cv_base_percent"], row["cv_percent"]]
    return {
        **with_words(names, {**row, "places": ()}),
        "where_base": row["place_base"].replace(" l.", ":"),
        "jobs_text": f"{row['jobs_base']} / {row['jobs']}",
        "failed_text": f"{row['failed_base']} / {row['failed']}"
        if row["failed_base"] or row["failed"]
        else None,
        "step_time_s_base": row["time_base"],
        "speedup_text": times(row["speedup"]) if row["speedup"] else None,
        "range": range_text(low, high, "times") if low is not None else None,
        "cv_text": " / ".join("-" if cv is None else f"{number(cv, 1)}%" for cv in cvs)
        if any(cv is not None for cv in cvs)
        else None,
        "tflops_base": significant(row["tflops_base"], 4) if printed else None,
        "tflops": significant(row["tflops"], 4) if printed else None,
        "q_value": significant(row["q_value"], 2),
        "memory_gb": row["memory_gb"],
    }
