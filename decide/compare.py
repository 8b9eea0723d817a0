"""What a change does: effects between matched groups of jobs, with what can be said of each."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from ..reports.format import number, percent, significant
from ..reports.short import Names
from ..schema.errors import BenchError
from .answer import MEASURED, RUN, Answer, left_out_words, place, places, time_words, with_words
from .jobs import Spread, jobs, per_job
from .matching import Pair, also_words, stated_apart
from .rows import Row
from .statistics import (
    UNKNOWN,
    Effect,
    corrected,
    effect,
    modes,
    over_configurations,
    untested,
    variation,
)

COLUMNS = (
    "factor", "base", "level", *RUN, "where_base", "jobs_base", "step_time_s_base",
    "tokens_per_s_base",
    *MEASURED, "speedup", "speedup_low", "speedup_high", "change_percent", "cv_base_percent",
    "cv_percent", "p_value", "q_value", "could_see_percent", "verdict", "method",
    "memory_gb_base", "also_differs", "modes_base", "modes", "hosts_base", "hosts", "left_out",
)  # fmt: skip
_SHOWN = (
    ("base", "Base"), ("level", "Against"), ("size", "Model"), ("system", "System"),
    ("nodes", "Nodes (devices)"), ("split", "DP/TP/PP"), ("mbs", "MBS"), ("gbs", "GBS"),
    ("recompute", "Recompute"), ("zero_stage", "ZeRO"), ("heads", "Heads"),
    ("jobs_text", "Jobs"), ("step_time_s_base", "Sec/it, base"), ("step_time_s", "Sec/it"),
    ("speedup_text", "Speed-up"), ("range", "95%"), ("cv_text", "CV"), ("q_value", "q"),
    ("verdict", "Verdict"), ("also_differs", "Also differs"), ("where_base", "Base at"),
    ("where", "Where"),
)  # fmt: skip
_MOST_STATED, _LONGEST = 8, 40
METRICS = {"step_time": "step_time_s", "tokens_per_s": "tokens_per_s", "memory": "memory_gb"}
_ORDER = ("size", "system", "nodes", "world_size", "pp", "tp", "dp", "mbs", "gbs", "heads")


@dataclass(frozen=True, slots=True)
class Threshold:
    """How much worse a metric may get, as a share."""

    metric: str
    share: float


def threshold(text: str) -> Threshold:
    """`step_time:3%`; raises BenchError for anything else."""
    found = re.fullmatch(r"\s*(\w+)\s*:\s*(\d{1,3}(?:\.\d{1,6})?)\s*%\s*", text)
    if not found or found[1] not in METRICS:
        raise BenchError(
            f"{text!r} is no threshold", why=f"metrics: {', '.join(METRICS)}",
            hint="--threshold step_time:3%",
        )  # fmt: skip
    return Threshold(found[1], float(found[2]) / 100)


def compare(
    names: Names,
    title: str,
    pairs: Sequence[Pair],
    left_out: Sequence[Row],
    spread: Callable[[Row], Spread | None],
    hidden: Collection[str] = (),
) -> Answer:
    """The pairs as an answer: those that differ in nothing else first, by configuration.

    `title` names the factor, whose own columns are `hidden` from people.
    """
    ordered = sorted(pairs, key=_pair_order)
    effects = corrected([_effect(pair, spread) for pair in ordered])
    shown = tuple(one for one in _SHOWN if one[0] not in hidden)
    rows = [
        {"factor": title, **_row(names, pair, one)}
        for pair, one in zip(ordered, effects, strict=True)
    ]
    said = (
        *_overall(title, ordered, effects),
        *_spread_words(names, ordered, effects, spread),
        *_mode_words(names, title, ordered),
        *_also_words(title, ordered),
        *_stated_words(ordered),
        *_date_words(ordered),
    )
    cells = tuple(_cells(names, row) for row in rows)
    notes = left_out_words(names, left_out)
    return Answer(said, COLUMNS, shown, tuple(rows), tuple(left_out), notes, cells)


def regressions(answer: Answer, limit: Threshold | None) -> list[Row]:
    """The rows that got worse: detectably, and by more than the limit if there is one.

    Where nothing tells how much jobs vary, the limit alone decides.
    """
    return [row for row in answer.rows if _is_worse(row, limit)]


def _is_worse(row: Row, limit: Threshold | None) -> bool:
    if row["also_differs"]:
        return False
    if limit is None:
        return bool(row["verdict"] == "slower")
    if limit.metric == "memory":
        before, after = row["memory_gb_base"], row["memory_gb"]
        return bool(before and after and after / before - 1 > limit.share)
    worse = 1 / row["speedup"] - 1 if limit.metric == "step_time" else 1 - row["speedup"]
    told = row["verdict"] == "slower" or row["verdict"] == UNKNOWN
    return bool(worse > limit.share and told)


def _effect(pair: Pair, spread: Callable[[Row], Spread | None]) -> Effect:
    before, after = per_job(pair.before, "pace"), per_job(pair.after, "pace")
    if _named(pair):
        return untested(before, after)
    return effect(before, after, spread(pair.after[0]))


def _pair_order(pair: Pair) -> tuple[Any, ...]:
    row = pair.after[0]
    keys = [
        (0, value, "") if isinstance(value := row[name], int) else (1, 0, str(value or ""))
        for name in _ORDER
    ]
    return (bool(_named(pair)), pair.level, *keys, row["uri"], row["line"])


def _named(pair: Pair) -> dict[str, tuple[Any, Any]]:
    return {name: both for name, both in pair.also.items() if both[0] != both[1]}


def _row(names: Names, pair: Pair, one: Effect) -> dict[str, Any]:
    before, after = pair.before, pair.after
    first = {**after[0], **{name: _median(after, name) for name in MEASURED if name in after[0]}}
    paces = per_job(before, "pace"), per_job(after, "pace")
    seen = variation(paces[0]), variation(paces[1])
    return {
        **first,
        "tokens_per_step": after[0]["tokens_per_step"],
        "base": pair.base,
        "level": pair.level,
        "where_base": before[0]["where"],
        "place_base": place(names, before[0]),
        "time_base": time_words(
            {
                **before[0],
                "jobs": len(jobs(before)),
                "step_time_s": _median(before, "step_time_s"),
            }
        ),
        "jobs": len(jobs(after)),
        "jobs_base": len(jobs(before)),
        "step_time_s_base": _median(before, "step_time_s"),
        "tokens_per_s_base": _median(before, "tokens_per_s"),
        "memory_gb_base": _median(before, "memory_gb"),
        "speedup": one.speedup,
        "speedup_low": one.low,
        "speedup_high": one.high,
        "change_percent": 100 * (1 / one.speedup - 1),
        "cv_base_percent": None if seen[0] is None else 100 * seen[0],
        "cv_percent": None if seen[1] is None else 100 * seen[1],
        "p_value": one.p,
        "q_value": one.q,
        "could_see_percent": None if one.seen is None else 100 * one.seen,
        "verdict": one.verdict,
        "method": one.method,
        "also_differs": also_words(_named(pair)) or None,
        "modes_base": _modes(before),
        "modes": _modes(after),
        "hosts_base": _hosts(before),
        "hosts": _hosts(after),
        "left_out": None,
    }


def _median(rows: Sequence[Row], name: str) -> float | None:
    values = per_job(rows, name)
    return median(values) if values else None


def _hosts(rows: Sequence[Row]) -> str | None:
    return "; ".join(sorted({row["hosts"] for row in rows if row["hosts"]})) or None


def _modes(rows: Sequence[Row]) -> str | None:
    """Two clusters of jobs in words: 3 jobs near 10.02 s, 2 near 12.11 s."""
    times = per_job(rows, "step_time_s")
    found = modes(times) if len(times) > 3 else None
    if found is None:
        return None
    fast, slow = ([times[at] for at in part] for part in (found.fast, found.slow))
    near = f"{len(fast)} jobs near {significant(median(fast), 4)} s"
    return f"{near}, {len(slow)} near {significant(median(slow), 4)} s"


def _overall(title: str, pairs: Sequence[Pair], effects: Sequence[Effect]) -> tuple[str, ...]:
    told = []
    both = [(pair, one) for pair, one in zip(pairs, effects, strict=True) if not _named(pair)]
    for base, level in dict.fromkeys((pair.base, pair.level) for pair, _ in both):
        ups = [one.speedup for pair, one in both if (pair.base, pair.level) == (base, level)]
        faster = sum(up > 1 for up in ups)
        mean = math.exp(sum(map(math.log, ups)) / len(ups))
        head = f"{title} {level} against {base}: ".lstrip()
        if len(ups) == 1:
            told.append(f"{head}{ups[0]:.2f}x as fast in one configuration.")
            continue
        span = f"{min(ups):.2f}x to {max(ups):.2f}x as fast in {len(ups)} configurations"
        p = over_configurations([math.log(up) for up in ups])
        chance = (
            f" Each pair is two jobs: without an effect, pairs would agree so by chance with"
            f" p = {significant(p, 2)} (Wilcoxon)."
            if p is not None
            else ""
        )
        told.append(
            f"{head}{span} (geometric mean {mean:.2f}x), faster in {faster} of {len(ups)}.{chance}"
        )
    return tuple(told) or (
        f"No two runs differ in {title} alone." if title else "The two sides differ in more.",
    )


def _spread_words(
    names: Names,
    pairs: Sequence[Pair],
    effects: Sequence[Effect],
    spread: Callable[[Row], Spread | None],
) -> tuple[str, ...]:
    told = []
    tested = [one for one in effects if not one.confounded]
    blind = sum(one.p is None for one in tested)
    if blind:
        which = "Every pair" if blind == len(tested) else f"{blind} of {len(tested)} pairs"
        told.append(
            f"{which}: cannot tell this from the spread between jobs; no repeated configuration"
            " here tells how large that is. Three jobs a side would."
        )
    used = [
        spread(pair.after[0])
        for pair, one in zip(pairs, effects, strict=True)
        if one.method.startswith("spread")
    ]
    for known in dict.fromkeys(one for one in used if one):
        runs = names.within(", ".join(known.places[:4])) + (
            ", ..." if len(known.places) > 4 else ""
        )
        told.append(
            f"Where a side has fewer than 4 jobs, the spread between jobs is taken from repeats:"
            f" {percent(known.deviation, 2)} standard deviation, {known.freedom}"
            f" {'degree' if known.freedom == 1 else 'degrees'} of freedom ({runs})."
        )
    return tuple(told)


def _mode_words(names: Names, title: str, pairs: Sequence[Pair]) -> tuple[str, ...]:
    told = []
    for pair in pairs:
        for rows, name in ((pair.before, pair.base), (pair.after, pair.level)):
            if said := _modes(rows):
                times = per_job(rows, "step_time_s")
                found = modes(times)
                slow = [jobs(rows)[at][0] for at in sorted(found.slow)] if found else []
                which = f"{title} {name}".lstrip()
                told.append(f"Bimodal: {which}: {said}. The slow ones: {places(names, slow)}.")
    return tuple(dict.fromkeys(told))


def _also_words(title: str, pairs: Sequence[Pair]) -> tuple[str, ...]:
    more = [pair for pair in pairs if _named(pair)]
    if not more:
        return ()
    what = sorted({name.split(" ", 1)[-1] for pair in more for name in _named(pair)})
    return (
        f"{len(more)} of {len(pairs)} pairs differ in more ({', '.join(what)}): they stand last,"
        " say what, and tell no effect of it alone.",
    )


def _stated_words(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """What logs state and this does not match: versions, and arguments of any name."""
    found: dict[str, tuple[str, str]] = {}
    for pair in pairs:
        found |= stated_apart(pair)
    if not found:
        return ()
    told = [f"{name} {_cut(a)} → {_cut(b)}" for name, (a, b) in list(found.items())[:_MOST_STATED]]
    more = f" and {len(found) - _MOST_STATED} more" if len(found) > _MOST_STATED else ""
    return (f"The logs also differ in {', '.join(told)}{more}.",)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _date_words(pairs: Sequence[Pair]) -> tuple[str, ...]:
    apart = [
        pair
        for pair in pairs
        if {row["date"] for row in pair.before if row["date"]}
        != {row["date"] for row in pair.after if row["date"]}
        and all(row["origin"] == "row" for row in (*pair.before, *pair.after))
    ]
    if not apart:
        return ()
    return (
        f"{len(apart)} of {len(pairs)} pairs are of different days: what changed on the machine"
        " between them is in the effect too.",
    )


def _cells(names: Names, row: Row) -> dict[str, Any]:
    low, high = row["speedup_low"], row["speedup_high"]
    cvs = [row["cv_base_percent"], row["cv_percent"]]
    return {
        **with_words(names, {**row, "places": ()}),
        "where_base": row["place_base"].replace(" l.", ":"),
        "jobs_text": f"{row['jobs_base']} / {row['jobs']}",
        "step_time_s_base": row["time_base"],
        "speedup_text": f"{row['speedup']:.2f}x",
        "range": f"{low:.2f}-{high:.2f}x" if low is not None else None,
        "cv_text": " / ".join("-" if cv is None else f"{number(cv, 1)}%" for cv in cvs)
        if any(cv is not None for cv in cvs)
        else None,
        "q_value": significant(row["q_value"], 2),
        "memory_gb": row["memory_gb"],
    }
