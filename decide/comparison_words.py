"""What is said of a comparison: how large, how sure, and what else is in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median

from ..reports.format import percent, significant, times
from ..reports.short import Names
from .answer import configuration_words, places
from .jobs import Spread, grain, jobs, per_job
from .modes import modes
from .pairing import Pair, stated_apart
from .rows import Row
from .statistics import Effect, over_configurations
from .ties import clusters_words

_MOST_STATED, _LONGEST = 8, 40


def modes_words(rows: Sequence[Row]) -> str | None:
    """Two clusters of jobs in words: 3 jobs near 10.02 s, 2 near 12.11 s."""
    times = per_job(rows, "step_time_s")
    found = modes(times, grain(rows)) if len(times) > 3 else None
    if found is None:
        return None
    fast, slow = ([times[at] for at in part] for part in (found.fast, found.slow))
    near = f"{len(fast)} jobs near {significant(median(fast), 4)} s"
    return f"{near}, {len(slow)} near {significant(median(slow), 4)} s"


def overall(title: str, pairs: Sequence[Pair], effects: Sequence[Effect]) -> tuple[str, ...]:
    told = []
    both = [(pair, one) for pair, one in zip(pairs, effects, strict=True) if not pair.also]
    for base, level in dict.fromkeys((pair.base, pair.level) for pair, _ in both):
        here = [one for pair, one in both if (pair.base, pair.level) == (base, level)]
        ups = [one.speedup for one in here]
        faster = sum(up > 1 for up in ups)
        sure = sum(one.verdict == "faster" for one in here)
        mean = math.exp(sum(map(math.log, ups)) / len(ups))
        head = f"{title} {level} against {base}: ".lstrip()
        if len(ups) == 1:
            told.append(f"{head}{times(ups[0])} as fast in one configuration.")
            continue
        span = f"{times(min(ups))} to {times(max(ups))} as fast in {len(ups)} configurations"
        p = over_configurations([math.log(up) for up in ups])
        chance = (
            f" Without an effect, as many pairs would agree so by chance with"
            f" p = {significant(p, 2)} (Wilcoxon)."
            if p is not None
            else ""
        )
        told.append(
            f"{head}{span} (geometric mean {times(mean)}), faster in {faster} of {len(ups)}"
            f"{_surely(here, sure)}.{chance}"
        )
    if not told and pairs == []:
        return ()
    return tuple(told) or (
        f"No two runs differ in {title} alone." if title else "The two sides differ in more.",
    )


def _surely(effects: Sequence[Effect], faster: int) -> str:
    """How many of the pairs that can be tested are told from chance one by one."""
    if all(one.p is None for one in effects):
        return ""
    slower = sum(one.verdict == "slower" for one in effects)
    worse = f", slower in {slower}" if slower else ""
    return f" (detectably in {faster or 'none'}{worse})"


def one_sided_words(pair: Pair) -> str:
    """What became of a pair of which one side failed: fails: oom."""
    if pair.after:
        return f"runs now: {_reasons(pair.failed_before)} before"
    return f"fails: {_reasons(pair.failed_after)}"


def failure_words(names: Names, title: str, pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Configurations that fail where the base ran, and that run where it failed."""
    told = []
    for worse, rows in (
        (True, [pair for pair in pairs if pair.newly_fails and not pair.also]),
        (False, [pair for pair in pairs if pair.newly_runs and not pair.also]),
    ):
        for level, base in dict.fromkeys((pair.level, pair.base) for pair in rows):
            here = [pair for pair in rows if (pair.level, pair.base) == (level, base)]
            broken = [row for pair in here for row in _broken(pair)]
            count = sum(len(jobs(_broken(pair))) for pair in here)
            two = (level, base) if worse else (base, level)
            which, other = (f"{title} {name}".lstrip() for name in two)
            what = f"{count} {'job fails' if count == 1 else 'jobs fail'} ({_reasons(broken)})"
            told.append(
                f"{'New failures' if worse else 'No more failures'}: {which}: {what} where"
                f" {other} runs: {places(names, broken)}."
            )
    return tuple(told)


def _broken(pair: Pair) -> tuple[Row, ...]:
    return pair.failed_after or pair.failed_before


def _reasons(rows: Sequence[Row]) -> str:
    return ", ".join(dict.fromkeys(str(row["status"]) for row in rows))


def spread_words(
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
            f" {'degree' if known.freedom == 1 else 'degrees'} of freedom ({runs})"
            f"{f'; {clusters_words(known)}' if known.clusters else ''}."
        )
    return tuple(told)


def bimodal_words(names: Names, title: str, pairs: Sequence[Pair]) -> tuple[str, ...]:
    told = []
    for pair in pairs:
        for rows, name in ((pair.before, pair.base), (pair.after, pair.level)):
            if said := modes_words(rows):
                times = per_job(rows, "step_time_s")
                found = modes(times, grain(rows))
                slow = [jobs(rows)[at][0] for at in sorted(found.slow)] if found else []
                which = f"{title} {name}".lstrip()
                what = f"{which}, {configuration_words(rows[0])}".removeprefix(", ")
                told.append(f"Bimodal: {what}: {said}. The slow ones: {places(names, slow)}.")
    return tuple(dict.fromkeys(told))


def measure_words(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Which pairs have no times, and by what they are told."""
    printed = sum(pair.after[0]["measure"] == "tflops" for pair in pairs)
    if not printed:
        return ()
    which = "No" if printed == len(pairs) else f"Of {printed} of {len(pairs)} pairs no"
    return (
        f"{which} times are printed: compared are printed TFLOPs x devices, which tell the speed"
        " where model and recomputation are the same.",
    )


def also_sentence(title: str, pairs: Sequence[Pair]) -> tuple[str, ...]:
    more = [pair for pair in pairs if pair.also]
    if not more:
        return ()
    what = sorted({name.split(" ", 1)[-1] for pair in more for name in pair.also})
    return (
        f"{len(more)} of {len(pairs)} pairs differ in more ({', '.join(what)}): they stand last,"
        " say what, and tell no effect of it alone.",
    )


def stated_words(pairs: Sequence[Pair]) -> tuple[str, ...]:
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


def date_words(title: str, pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Pairs of different days, and pairs that a boundary parts where days are what is compared."""
    if title in ("date", "epoch"):
        crossing = sum(_all(pair.before, "epoch") != _all(pair.after, "epoch") for pair in pairs)
        if not crossing:
            return ()
        return (
            f"{crossing} of {len(pairs)} pairs lie across a boundary: what is said to have changed"
            " there is the effect, or a part of it.",
        )
    apart = [
        pair
        for pair in pairs
        if _all(pair.before, "date") != _all(pair.after, "date")
        and all(row["origin"] == "row" for row in (*pair.before, *pair.after))
    ]
    if not apart:
        return ()
    return (
        f"{len(apart)} of {len(pairs)} pairs are of different days: what changed on the machine"
        " between them is in the effect too.",
    )


def _all(rows: Sequence[Row], name: str) -> set[str]:
    return {row[name] for row in rows if row[name]}
