"""Which rows of a ranking cannot be told apart: the test of a comparison, row against row."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from ..reports.format import percent
from ..reports.short import Names
from .answer import place, places
from .jobs import Spread, per_job, rounding, spread_of
from .rows import Row
from .statistics import ENOUGH, LEVEL, effect, limit

_FEW = 4  # degrees of freedom: below, Student's t is wide for want of repeats
_RATES = {"tflops", "model_tflops"}
_BY_TIME = {"tokens_per_s", "device_hours", "days"}


def tie(
    found: Sequence[dict[str, Any]],
    column: str,
    spreads: Mapping[str, Spread],
    rivals: Callable[[Row], Hashable],
) -> None:
    """Give each row `ties_with`: the rank of the better row of its rivals that nothing tells it
    from, None where there is none. `column` is what the rows are ranked by."""
    leaders: dict[Hashable, dict[str, Any]] = {}
    for row in found:
        row["ties_with"] = None
        of = rivals(row)
        leader = leaders.get(of)
        if leader and alike(leader, row, column, spreads):
            row["ties_with"] = leader["rank"]
        else:
            leaders[of] = row


def alike(leader: Row, row: Row, column: str, spreads: Mapping[str, Spread]) -> bool:
    """Whether printed digits overlap, or jobs and known repeats do not tell the two apart."""
    if _digits_overlap(leader, row, column):
        return True
    if column == "memory_gb" or "fit" in (leader["basis"], row["basis"]):
        return False
    known = common(leader, row, spreads)
    digits = rounding(leader["members"], row["members"]) if column in _BY_TIME else 0.0
    p = effect(_costs(leader, column), _costs(row, column), known, digits).p
    return p is not None and p >= LEVEL


def common(leader: Row, row: Row, spreads: Mapping[str, Spread]) -> Spread | None:
    """The spread between jobs that is known for both; of two, that of their difference over the
    root of two, with Welch's and Satterthwaite's degrees of freedom."""
    one, other = spread_of(leader, spreads), spread_of(row, spreads)
    if one is None or other is None or one is other:
        return one if one is other else None
    a, b = one.deviation**2, other.deviation**2
    if not a + b:
        return one
    freedom = (a + b) ** 2 / (a**2 / one.freedom + b**2 / other.freedom)
    places = (*one.places, *other.places)
    both = math.sqrt((a + b) / 2)
    return Spread(both, max(int(freedom), 1), places, one.scope, one.clusters + other.clusters)


def _costs(row: Row, column: str) -> list[float]:
    """What each job of a row takes for a token, in any unit: less is better."""
    if column in _RATES:
        return [1 / value for value in per_job(row["members"], column) if value]
    paces = per_job(row["members"], "pace")
    return [pace * row["device_count"] for pace in paces] if column == "device_hours" else paces


def _digits_overlap(leader: Row, row: Row, column: str) -> bool:
    """Whether single printed values, or the intervals of fits, have a part in common."""
    if column not in _BY_TIME:
        return bool(leader[column] == row[column])
    fitted = "fit" in (leader["basis"], row["basis"])  # then its interval decides, not jobs
    low, high = leader["tokens_per_s_low"], row["tokens_per_s_high"]
    if fitted:
        low, high = low or leader["tokens_per_s"], high or row["tokens_per_s"]
    elif any(one["basis"] != "cell" or one["jobs"] > 1 for one in (leader, row)):
        return False
    scale = leader["device_count"] / row["device_count"] if column == "device_hours" else 1.0
    return bool(low and high and high * scale >= low)


def tie_words(
    names: Names, found: Sequence[Row], column: str, spreads: Mapping[str, Spread]
) -> tuple[str, ...]:
    """What ties with the first row, and by what that is known."""
    if len(found) < 2:
        return ()
    tied = [row for row in found if row["ties_with"] == 1]
    first = place(names, found[0])
    told = f"{first} ties with {places(names, tied)}" if tied else f"Nothing ties with {first}"
    if column == "memory_gb":
        return (f"{told}: by printed digits; how much memory varies between jobs is not known.",)
    if found[0]["basis"] == "fit":
        way = "overlap" if tied else "do not overlap with any other"
        return (f"{told}: the 95% intervals of fits {way}; no job ran at these sizes.",)
    known = spread_of(found[0], spreads)
    if known is None or not known.deviation:
        heard = f"To the printed digits {first} ties with {places(names, tied)}. " if tied else ""
        return (
            f"{heard}No configuration was repeated here with times that differ: how much jobs vary"
            " is not known, and small differences may be chance.",
        )
    return (f"{told}: {spread_sentence(names, known, found[0]['jobs'])}",)


def clusters_words(known: Spread) -> str:
    """That clusters make a spread wide, and what would narrow it."""
    return (
        f"jobs of {known.clusters} of these configurations fall into two clusters, and a single job"
        " may be of either: that makes the spread wide"
    )


def spread_sentence(names: Names, known: Spread, jobs: int) -> str:
    """How much repeats vary, and which differences from so many jobs they cannot tell."""
    runs = names.within(", ".join(known.places[:4])) + (", ..." if len(known.places) > 4 else "")
    freedom = f"{known.freedom} {'degree' if known.freedom == 1 else 'degrees'} of freedom"
    few = "single jobs" if jobs == 1 else f"{jobs} jobs and one"
    own = "; 4 jobs a side are tested by ranks" if jobs >= ENOUGH else ""
    if known.clusters:
        own += f"; {clusters_words(known)}"
    if known.freedom < _FEW:
        own += "; more repeats of one configuration would tell smaller differences"
    return (
        f"repeats of one configuration vary by {percent(known.deviation, 2)} (standard deviation,"
        f" {freedom}: {runs}), so {few} less than {percent(limit(known, jobs), 1)} apart cannot be"
        f" told from each other{own}."
    )
