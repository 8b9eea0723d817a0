"""Which rows of a ranking compare, and which of those cannot be distinguished.

Models of about one size, on one side of every boundary, compare; two rows are distinguished by
the test of a comparison, row against row.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from ..schema.warehouse import Row
from .eligible import Rows
from .jobs import per_job
from .spreads import Spread, rounding, spread_of
from .statistics import ENOUGH, critical_difference, separates

# A token costs in proportion to parameters: beyond that, the smaller model would always win.
_FAR = 1.5  # models that differ more in size are not compared
_FEW = 4  # degrees of freedom: below, Student's t is wide for want of repeats
_RATES = {"mfu", "tflops", "model_tflops", "samples_per_s", "tokens_per_s_per_device"}
_PER_DEVICE = {"device_hours", "cost", "energy_kwh"}
_BY_TIME = {"tokens_per_s", "tokens_per_s_per_device", "days", *_PER_DEVICE}


def far_apart(rows: Iterable[Row]) -> tuple[float, ...]:
    """The sizes, in parameters, at which another group of models begins: each more than half as
    large again as the previous size. Empty if all are rivals."""
    known = sorted({size for row in rows if (size := _parameters(row))})
    return tuple(large for small, large in pairwise(known) if large > _FAR * small)


def comparable(row: Row, apart: tuple[float, ...]) -> Hashable:
    """Equal for runs of one system, and of models of about one size where others are far apart;
    of models of unknown size, for those of one label."""
    return (row["system"], model_group(row, apart))


def model_group(row: Row, apart: tuple[float, ...]) -> Hashable:
    """Equal for runs of models of about one size, whatever their systems."""
    size = _parameters(row)
    of = bisect_right(apart, size) if size else row["model"]
    return of if apart or not size else None


def labels_apart(rows: Iterable[Row]) -> list[str]:
    """The labels of models of unknown size, if there are several."""
    labels = {row["model"] for row in rows if row["model"] and not _parameters(row)}
    return sorted(labels) if len(labels) > 1 else []


def _parameters(row: Row) -> float | None:
    return row["params_stated"] or (row["params_b"] or 0) * 1e9 or row["params_computed"]


def of_one_regime(rows: Rows) -> Rows:
    """Of the rivals in a document, or in logs, that stand on several sides of boundaries, those
    after the last; the others are left out."""
    apart = far_apart(rows.kept)
    last: dict[Hashable, tuple[tuple[bool, int, str], str]] = {}
    for row in rows.kept:
        if row["regime"]:
            # The last regime is what a run of tomorrow would meet.
            at = (_since(row), row["line"] if row["origin"] == "row" else 0, row["date"] or "")
            of = _drawn(row, apart)
            last[of] = max(last.get(of, (at, row["regime"])), (at, row["regime"]))
    kept: list[Row] = []
    left: list[Row] = []
    for row in rows.kept:
        known = last.get(_drawn(row, apart))
        if known is None or row["regime"] in (None, known[1]):
            kept.append(row)
        else:
            left.append({**row, "left_out": f"other regime ({row['regime']})"})
    return Rows(tuple(kept), (*rows.left_out, *left))


def of_other_regimes(rows: Rows) -> dict[str, Any] | None:
    """The runs `left_out` since they stand on another side of a boundary, and those `ranked`."""
    others = [row for row in rows.left_out if str(row["left_out"]).startswith("other regime")]
    if not others:
        return None
    sources = {row["uri"] for row in others}
    ranked = [
        row
        for row in rows.kept
        if row["regime"] and (row["uri"] in sources or row["origin"] == "log")
    ]
    return {"left_out": others, "ranked": ranked}


def _since(row: Row) -> bool:
    return str(row["regime"]).startswith("since ")


def _drawn(row: Row, apart: tuple[float, ...]) -> Hashable:
    """Equal for rivals that the same boundaries stand between."""
    return (row["uri"] if row["origin"] == "row" else None, comparable(row, apart))


def tie(
    found: Sequence[dict[str, Any]],
    column: str,
    spreads: Mapping[str, Spread],
    group_of: Callable[[Row], Hashable],
) -> None:
    """Give each row `ties_with`: the rank of the better rival that it cannot be distinguished from,
    None if there is none. `column` is what the rows are ranked by."""
    leaders: dict[Hashable, dict[str, Any]] = {}
    for row in found:
        row["ties_with"] = None
        of = group_of(row)
        leader = leaders.get(of)
        # With the leader of a group, not the row above: ties would chain rows that do differ.
        if leader and is_tie(leader, row, column, spreads):
            row["ties_with"] = leader["rank"]
        else:
            leaders[of] = row


def is_tie(leader: Row, row: Row, column: str, spreads: Mapping[str, Spread]) -> bool:
    """Whether printed digits overlap, or jobs and known repeats do not separate the two rows."""
    if _digits_overlap(leader, row, column):
        return True
    # Memory is the same for each job of a configuration; a fit has no jobs.
    if column == "memory_gb" or "fit" in (leader["basis"], row["basis"]):
        return False
    known = common(leader, row, spreads)
    digits = rounding(leader["members"], row["members"]) if column in _BY_TIME else 0.0
    return separates(_costs(leader, column), _costs(row, column), known, digits) is False


def common(leader: Row, row: Row, spreads: Mapping[str, Spread]) -> Spread | None:
    """The spread between jobs that is known for both; of two, that of their difference over the
    root of two, with Welch's and Satterthwaite's degrees of freedom."""
    one, other = spread_of(leader, spreads), spread_of(row, spreads)
    if one is None or other is None or one is other:
        return one if one is other else None
    return _of_both(one, other)


@lru_cache(maxsize=4096)  # a ranking of thousands of rows is of some documents
def _of_both(spread: Spread, other: Spread) -> Spread:
    # Two machines may vary differently: pooling them would make the quiet one look noisy.
    a, b = spread.deviation**2, other.deviation**2
    if not a + b:
        return spread
    dof = (a + b) ** 2 / (a**2 / spread.dof + b**2 / other.dof)
    places = (*spread.places, *other.places)
    both = math.sqrt((a + b) / 2)
    return Spread(both, max(int(dof), 1), places, spread.scope, spread.clusters + other.clusters)


def _costs(row: Row, column: str) -> list[float]:
    """What each job of a row takes for a token, in any unit: less is better."""
    if column in _RATES:
        return [1 / value for value in per_job(row["members"], column) if value]
    paces = per_job(row["members"], "pace")
    if column == "energy_kwh":
        return [pace * row["device_count"] * row["power_w"] for pace in paces]
    return [pace * row["device_count"] for pace in paces] if column in _PER_DEVICE else paces


def _digits_overlap(leader: Row, row: Row, column: str) -> bool:
    """Whether single printed values, or the intervals of fits, have a part in common."""
    if column not in _BY_TIME:
        return bool(leader[column] == row[column])
    fitted = "fit" in (leader["basis"], row["basis"])  # then its interval decides, not jobs
    low, high = leader["tokens_per_s_low"], row["tokens_per_s_high"]
    if fitted:
        low, high = low or leader["tokens_per_s"], high or row["tokens_per_s"]
    elif any(not _is_one_cell(one) for one in (leader, row)):
        return False
    # Device-hours follow from the rate per device: scale to equal devices.
    counts = leader["device_count"], row["device_count"]
    if column == "tokens_per_s_per_device" and None in counts:
        return bool(leader[column] == row[column])
    scale = counts[0] / counts[1] if column in {*_PER_DEVICE, "tokens_per_s_per_device"} else 1.0
    if column == "energy_kwh":
        scale *= leader["power_w"] / row["power_w"]
    return bool(low and high and high * scale >= low)


def _is_one_cell(row: Row) -> bool:
    """Whether it is one run whose rate is a published cell; `basis` is that of a step time."""
    of_a_table = row["basis"] == "cell" or (row["basis"] is None and row["origin"] == "row")
    return bool(of_a_table and row["jobs"] == 1)


def tied(rows: Sequence[Row], column: str, spreads: Mapping[str, Spread]) -> dict[str, Any] | None:
    """The rows that tie with the first, and by which evidence; None for fewer than two rows.

    `apart` is the share by which the medians of its jobs and of one job more have to differ.
    """
    if len(rows) < 2:
        return None
    known = spread_of(rows[0], spreads)
    estimate = known if known is not None and known.deviation else None
    return {
        "first": rows[0],
        "rows": [row for row in rows if row["ties_with"] == 1],
        "column": column,
        "fitted": rows[0]["basis"] == "fit",
        "spread": estimate,
        "apart": critical_difference(estimate, rows[0]["jobs"]) if estimate else None,
        "by_ranks": rows[0]["jobs"] >= ENOUGH,
        "few_repeats": estimate is not None and estimate.dof < _FEW,
    }
