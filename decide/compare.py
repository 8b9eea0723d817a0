"""What a change does: effects between matched groups of jobs, with the evidence for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from ..schema.warehouse import Row
from .effect_numbers import OF_BASE, derivations_of, numbers_of
from .factors import TOGETHER, order, plain_name
from .jobs import jobs, per_job, runs_of, unstated
from .pairing import Pair, also_words, stated_apart
from .rows import PER_REPLICA, THREADS, Decision
from .spreads import Spread, clusters, clusters_text, rounding
from .statistics import (
    Effect,
    corrected,
    effect,
    over_configurations,
    untested,
    variation,
)

# The columns of a pair's other side that are medians over its jobs.
_MEASURED = (
    "step_time_s", "step_time_low", "step_time_high", "tokens_per_s", "tokens_per_s_low",
    "tokens_per_s_high", "tokens_per_s_per_device", "mfu", "hfu", "tflops", "model_tflops",
    "memory_gb", "pace",
)  # fmt: skip
_ORDER = ("size", "system", "nodes", "world_size", "pp", "tp", "dp", "mbs", "gbs", "heads")


def compare(
    title: str,
    pairs: Sequence[Pair],
    left_out: Sequence[Row],
    spread: Callable[[Row], Spread | None],
    hidden: Collection[str] = (),
) -> Decision:
    """The pairs, those that differ in nothing else first, by configuration, then those of which one
    side failed.

    `title` names the factor, whose own columns are `hidden` from people.
    """
    # False discoveries are counted over all pairs of the output, in whatever order they stand.
    ordered = sorted((pair for pair in pairs if pair.measured), key=_pair_order)
    broken = sorted((pair for pair in pairs if not pair.measured), key=_pair_order)
    effects = corrected([_effect(pair, spread) for pair in ordered])
    rows = [
        {"factor": title, **_row(pair, result, spread(pair.after[0]))}
        for pair, result in zip(ordered, effects, strict=True)
    ]
    rows += [{"factor": title, **_one_sided(pair)} for pair in broken]
    levels, used = _by_level(ordered, effects), _spreads_used(ordered, effects, spread)
    unknown = [
        pair
        for pair, result in zip(ordered, effects, strict=True)
        if not result.confounded and result.p is None
    ]
    shown = {id(row) for pair in broken for row in pair.rows()}
    left = tuple(row for row in left_out if id(row) not in shown)
    facts: dict[str, Any] = {
        "title": title,
        "hidden": frozenset(hidden),
        "threads_follow": THREADS in hidden,
        "pairs": len(ordered),
        "failures": _failures(pairs),
        "effects": levels,
        "tested": sum(not result.confounded for result in effects),
        "untested": sum(not _repeated(pair) for pair in unknown),
        "unstated": unstated(row for pair in unknown if _repeated(pair) for row in pair.rows()),
        "spreads": used,
        "clusters": _clustered(ordered),
        "by_tflops": sum(pair.after[0]["measure"] == "tflops" for pair in ordered),
        "also": _further_changes(ordered),
        "stated": {
            name: ends
            for pair in ordered
            for name, ends in stated_apart(pair).items()
            if f"env {name}" not in hidden
        },
        "crossing": _crossing(title, ordered),
        "numbers": list(numbers_of(rows, levels, used)),
    }
    return Decision("compare", tuple(rows), left, facts)


def _by_level(pairs: Sequence[Pair], effects: Sequence[Effect]) -> list[dict[str, Any]]:
    """For each level against its base: the ends and the geometric mean of the speed-ups, and how
    many are faster; `p` is that of Wilcoxon's test over configurations."""
    both = [(pair, result) for pair, result in zip(pairs, effects, strict=True) if not pair.also]
    found = []
    for base, level in dict.fromkeys((pair.base, pair.level) for pair, _ in both):
        these = [one for one in both if (one[0].base, one[0].level) == (base, level)]
        here = [result for _, result in these]
        ups = [result.speedup for result in here]
        logs = [math.log(up) for up in ups]
        found.append({
            "base": base, "level": level, "count": len(ups), "least": min(ups), "most": max(ups),
            # Ratios: twice as fast and half as fast have to come to 1.
            "mean": math.exp(sum(logs) / len(ups)), "faster": sum(up > 1 for up in ups),
            "slower": sum(up < 1 for up in ups),
            "p": over_configurations(logs) if len(ups) > 1 else None,
            "repeated": any(_repeated(pair) for pair, _ in these),
            "testable": any(result.p is not None for result in here),
            "surely_faster": sum(result.verdict == "faster" for result in here),
            "surely_slower": sum(result.verdict == "slower" for result in here),
        })  # fmt: skip
    return found


def _repeated(pair: Pair) -> bool:
    """Whether several jobs ran on a side."""
    return max(len(jobs(pair.before)), len(jobs(pair.after))) > 1


def _failures(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Levels that fail where the base ran (`newly`), and that run where it failed."""
    found = []
    for newly, rows in (
        (True, [pair for pair in pairs if pair.newly_fails and not pair.also]),
        (False, [pair for pair in pairs if pair.newly_runs and not pair.also]),
    ):
        for level, base in dict.fromkeys((pair.level, pair.base) for pair in rows):
            here = [pair for pair in rows if (pair.level, pair.base) == (level, base)]
            broken = [row for pair in here for row in _broken(pair)]
            which, other = (level, base) if newly else (base, level)
            found.append({
                "newly": newly, "which": which, "other": other, "rows": broken,
                "jobs": sum(len(jobs(_broken(pair))) for pair in here),
            })  # fmt: skip
    return found


def _broken(pair: Pair) -> tuple[Row, ...]:
    return pair.failed_after or pair.failed_before


def _spreads_used(
    pairs: Sequence[Pair], effects: Sequence[Effect], spread: Callable[[Row], Spread | None]
) -> list[Spread]:
    """The spreads of repeats that decided where a side has few jobs."""
    used = [
        spread(pair.after[0])
        for pair, result in zip(pairs, effects, strict=True)
        if result.method.startswith("spread")
    ]
    return list(dict.fromkeys(known for known in used if known))


def _clustered(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Sides whose jobs fall into two clusters, each once, with the slow jobs."""
    found: dict[Any, dict[str, Any]] = {}
    for pair in pairs:
        for rows, name in ((pair.before, pair.base), (pair.after, pair.level)):
            if (parts := clusters(rows)) is not None:
                slow = [jobs(rows)[at][0] for at in sorted(parts.slow)]
                key = (name, *(row["run"] for row in rows))
                found.setdefault(key, {"level": name, "rows": rows, "slow": slow})
    return list(found.values())


_PLAINEST = ("nodes", "devices", "gbs", "dp", "mbs")  # of names of one change


def _further_changes(pairs: Sequence[Pair]) -> dict[str, Any]:
    """How many pairs differ in more than the factor, and in what."""
    more = [pair for pair in pairs if pair.also]
    names = sorted({plain_name(name) for pair in more for name in pair.also})
    for together in (*TOGETHER, {"mbs", PER_REPLICA}):  # one change under several names
        same = [name for name in names if name in together]
        first = next((name for name in _PLAINEST if name in same), "".join(same[:1]))
        names = [name for name in names if name not in same or name == first]
    return {"count": len(more), "names": names}


def _crossing(title: str, pairs: Sequence[Pair]) -> int:
    """How many pairs of rows are of different days; where days are compared, of two regimes."""
    if title in ("date", "regime"):
        return sum(_all(pair.before, "regime") != _all(pair.after, "regime") for pair in pairs)
    return sum(
        _all(pair.before, "date") != _all(pair.after, "date")
        and all(row["origin"] == "row" for row in (*pair.before, *pair.after))
        for pair in pairs
    )


def _all(rows: Sequence[Row], name: str) -> set[str]:
    return {row[name] for row in rows if row[name]}


def _effect(pair: Pair, spread: Callable[[Row], Spread | None]) -> Effect:
    before, after = per_job(pair.before, "pace"), per_job(pair.after, "pace")
    # A test would lay to the factor what the other difference may have made.
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


def _row(pair: Pair, result: Effect, known: Spread | None) -> dict[str, Any]:
    before, after = pair.before, pair.after
    base, side = _side(before), _side(after)
    return {
        **side,
        "base": pair.base,
        "level": pair.level,
        "runs": runs_of(after),
        "runs_base": runs_of(before),
        **_base_of(before, base),
        **_certainty(pair, result),
        "derivations": derivations_of(side, base, result, known),
        "also_differs": also_words(pair.also) or None,
        "failed_base": len(jobs(pair.failed_before)),
        "failed": len(jobs(pair.failed_after)),
        "newly_fails": pair.newly_fails,
        "modes": clusters_text(after),
        "hosts": _hosts(after),
        "left_out": None,
    }


def _one_sided(pair: Pair) -> dict[str, Any]:
    """A row of a pair of which one side failed: no effect, but what happened."""
    before, after = pair.before or pair.failed_before, pair.after or pair.failed_after
    nothing = Effect(math.nan, None, None, None, None, "not tested")
    return {
        **_row(replace(pair, before=before, after=after), nothing, None),
        **dict.fromkeys(("speedup", "change_percent")),
        "jobs": len(jobs(pair.after)),
        "jobs_base": len(jobs(pair.before)),
        "verdict": _what_failed(pair),
    }


def _side(rows: Sequence[Row]) -> dict[str, Any]:
    """The first run of a side, with the medians over the jobs of all."""
    if len(rows) == 1:  # the median of one
        return {**rows[0], "jobs": 1, "members": rows}
    medians = {name: _median(rows, name) for name in _MEASURED}
    return {**rows[0], **medians, "jobs": len(jobs(rows)), "members": rows, "derivations": {}}


def _base_of(before: Sequence[Row], base: Row) -> dict[str, Any]:
    """The columns of a pair's row about its base."""
    return {
        "where_base": base["where"],
        "first_base": base,
        "jobs_base": base["jobs"],
        **{f"{name}_base": base[name] for name in OF_BASE},
        "modes_base": clusters_text(before),
        "hosts_base": _hosts(before),
    }


def _certainty(pair: Pair, result: Effect) -> dict[str, Any]:
    """The effect, its interval and its verdict; shares in percent."""
    spread = [variation(per_job(side, "pace")) for side in (pair.before, pair.after)]
    base, other = (None if cv is None else 100 * cv for cv in spread)
    return {
        "speedup": result.speedup,
        "speedup_low": result.low,
        "speedup_high": result.high,
        "change_percent": 100 * (1 / result.speedup - 1),
        "cv_base_percent": base,
        "cv_percent": other,
        "p_value": result.p,
        "q_value": result.q,
        "could_see_percent": None if result.detectable is None else 100 * result.detectable,
        "verdict": result.verdict,
        "method": result.method,
    }


def _median(rows: Sequence[Row], name: str) -> float | None:
    values = per_job(rows, name)
    return median(values) if values else None


def _hosts(rows: Sequence[Row]) -> str | None:
    return "; ".join(sorted({row["hosts"] for row in rows if row["hosts"]})) or None


def _what_failed(pair: Pair) -> str:
    """What became of a pair of which one side failed: fails: oom."""
    broken = pair.failed_before if pair.after else pair.failed_after
    reasons = ", ".join(dict.fromkeys(str(row["status"]) for row in broken))
    return f"runs now: {reasons} before" if pair.after else f"fails: {reasons}"
