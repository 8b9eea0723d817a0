"""Days and device-hours to train so much, per configuration, with what makes them vary.

Days = tokens / (tokens/s) / 86,400 / goodput (D1), of a number of steps steps x s/it / 86,400 /
goodput; device-hours = days x 24 x devices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..reports.budget import SECONDS_A_DAY, UNEQUAL, Budget
from ..reports.format import days_words, number, percent, range_text, significant
from ..reports.format import tokens as as_tokens
from ..reports.short import Names
from ..schema.errors import BenchError
from .answer import (
    MEASURED,
    RUN,
    Answer,
    configuration_words,
    left_out_words,
    place,
    with_words,
)  # fmt: skip
from .goodput import Goodput
from .jobs import Spread, by_configuration, spread_of, unstated_words
from .rampup import RampUp, forbids, schedule, spent
from .rivals import epoch_words, far_apart, of_one_epoch, rivals
from .rows import Row, Rows, assumed_words
from .statistics import limit
from .ties import tie, tie_words

COLUMNS = (
    "rank", "ties_with", "days", "days_low", "days_high", "range_from", "goodput", "goodput_from",
    "budget_tokens", "ramp_up_steps", "ramp_up_days", "device_hours", *RUN, *MEASURED, "left_out",
)  # fmt: skip
_SHOWN = (
    ("rank", "Rank"), ("ties_with", "Ties with"), ("days", "Days"), ("range", "Range"),
    ("range_from", "Range from"), ("tokens", "Tokens"), ("ramp_up_days", "Ramp-up"),
    ("device_hours", "Device-hours"),
    ("size", "Model"), ("system", "System"),
    ("nodes", "Nodes (devices)"), ("split", "DP/TP/PP"), ("mbs", "MBS"), ("gbs", "GBS"),
    ("device_batch", "Batch/device"),
    ("recompute", "Recompute"), ("zero_stage", "ZeRO"), ("heads", "Heads"),
    ("settings", "Settings"), ("step_time_s", "Sec/it"), ("jobs", "Jobs"),
    ("tokens_per_s_per_device", "Tokens/s/device"),
    ("goodput", "Goodput"), ("goodput_from", "Goodput from"), ("date", "Date"), ("where", "Where"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """What is trained, who said so, the goodput asked for, a ramp-up of the batch."""

    budget: Budget
    words: str
    goodput: float | None = None
    ramp: RampUp | None = None


def days(
    names: Names,
    rows: Rows,
    plan: Plan,
    spreads: Mapping[str, Spread],
    measured: Mapping[str, Goodput],
    most: int = 0,
) -> Answer:
    """The configurations by days, shortest first; `measured` holds goodputs by uri of a log."""
    rows = of_one_epoch(_rampable(rows, plan))
    found = []
    for row in by_configuration(rows.kept):
        share = _goodput(row, plan.goodput, measured)
        found.append(_with_days(row, plan, share, spread_of(row, spreads)))
    found.sort(key=lambda row: (row["days"], row["uri"], row["line"]))
    found = [{**row, "rank": rank} for rank, row in enumerate(found, 1)]
    apart = far_apart(found)
    tie(
        found,
        "days",
        spreads,
        lambda row: (rivals(row, apart), row["goodput"], plan.budget.work(row)),
    )
    said = (
        *_leader(names, found),
        _budget_words(found, plan),
        *tie_words(names, found, "days", spreads),
        *epoch_words(names, rows),
        *_ramp_words(found, plan.ramp),
        *_said(found, plan.ramp),
        *unstated_words(found),
        *assumed_words(found),
    )
    cells = tuple(_cells(names, row, plan) for row in (found[:most] if most else found))
    more = (f"{len(found) - most} more: --all.",) if most and len(found) > most else ()
    notes = (*more, *left_out_words(names, rows.left_out))
    return Answer(said, COLUMNS, _SHOWN, tuple(found), rows.left_out, notes, cells)


def _rampable(rows: Rows, plan: Plan) -> Rows:
    """The rows whose batch can ramp up so; the others are left out, and say why.

    Raises BenchError where the ramp-up of all takes more tokens than the training has.
    """
    ramp = plan.ramp
    if ramp is None:
        return rows
    fitting = [row for row in rows.kept if not forbids(row, ramp)]
    late = {
        id(row): f"ramp-up: {why}" for row in fitting if (why := _too_long(row, ramp, plan.budget))
    }
    if late and len(late) == len(fitting):
        raise BenchError(
            "the ramp-up is longer than the training",
            why=next(iter(late.values())).removeprefix("ramp-up: "),
            hint="fewer samples in --ramp-up, or more --tokens",
        )  # fmt: skip
    judged = [(row, forbids(row, ramp) or late.get(id(row))) for row in rows.kept]
    left = tuple({**row, "left_out": why} for row, why in judged if why)
    return Rows(tuple(row for row, why in judged if not why), (*rows.left_out, *left))


def _too_long(row: Row, ramp: RampUp, budget: Budget) -> str | None:
    """A ramp-up beside the training, in words, where it is the longer."""
    if budget.tokens is None:
        steps = spent(row, ramp)[0]
        told = f"{number(round(steps))} steps, of {number(budget.steps)}"
        return told if steps > budget.steps else None
    takes = ramp.samples * row["seq_len"]
    told = (
        f"{number(ramp.samples)} samples x {row['seq_len']} tokens = {as_tokens(takes)} tokens,"
        f" of {as_tokens(budget.tokens)}"
    )
    return told if takes > budget.tokens else None


def _goodput(row: Row, asked: float | None, measured: Mapping[str, Goodput]) -> Goodput:
    """As asked, else the middle of what the logs of the configuration tell, else 1."""
    if asked is not None:
        return Goodput(asked, "--goodput")
    uris = dict.fromkeys(place.rpartition(":")[0] for place in row["places"])
    known = sorted((measured[uri] for uri in uris if uri in measured), key=lambda one: one.share)
    return known[(len(known) - 1) // 2] if known else Goodput(1.0, "assumed")


def _with_days(row: Row, plan: Plan, goodput: Goodput, known: Spread | None) -> dict[str, Any]:
    budget, extra, steps, size = plan.budget, 0.0, 0.0, float(plan.budget.size)
    tokens = budget.tokens_of(row)
    if plan.ramp:
        steps, extra = spent(row, plan.ramp)
        ramped = plan.ramp.samples * row["seq_len"]
        size -= steps if budget.tokens is None else ramped
        tokens = budget.tokens or round(ramped + size * row["tokens_per_step"])
    low, high, source = rates(row, known, budget)
    rate = _rate(row, budget)

    def lasting(speed: float) -> float:  # a slower step is slower in the ramp-up too
        return (size / speed + extra * rate / speed) / SECONDS_A_DAY / goodput.share

    value = lasting(rate)
    return {
        **row,
        "days": value,
        "days_low": lasting(high) if high else None,
        "days_high": lasting(low) if low else None,
        "range_from": source,
        "budget_tokens": tokens,
        "ramp_up_steps": round(steps) if plan.ramp else None,
        "ramp_up_days": extra / SECONDS_A_DAY / goodput.share if plan.ramp else None,
        "goodput": goodput.share,
        "goodput_from": goodput.known,
        "device_hours": value * 24 * row["device_count"] if row["device_count"] else None,
    }


def _rate(row: Row, budget: Budget) -> float:
    """The speed of a row that is known to have one."""
    speed = budget.speed(row)
    assert speed is not None
    return speed


def _budget_words(found: Sequence[Row], plan: Plan) -> str:
    """What is trained; of so many steps, the tokens that they come to."""
    if plan.budget.tokens is not None or not found:
        return f"For {plan.budget.amount} ({plan.words})."
    told = f"For {plan.budget.amount} of each row ({plan.words})"
    known = sorted({row["budget_tokens"] for row in found if row["budget_tokens"]})
    if len({plan.budget.work(row) for row in found}) > 1:
        span = f", {as_tokens(known[0])} to {as_tokens(known[-1])} tokens" if known else ""
        return f"{told}{span}: {UNEQUAL}."
    if not known:
        return f"{told}."
    return f"{told}: {as_tokens(known[0])} tokens, {number(found[0]['tokens_per_step'])} a step."


def rates(
    row: Row, known: Spread | None, budget: Budget | None = None
) -> tuple[float | None, float | None, str]:
    """The range of tokens/s, of a `budget` of steps of steps/s, and what it comes from: known
    repeats, else jobs or printed digits.

    Of repeats: the 95% prediction interval of a new job about the median of those measured, by
    Student's t (Hahn and Meeker, Statistical Intervals, 4.7, for means).
    """
    ends = ("", "_low", "_high")
    speeds = [budget.speed(row, end) if budget else row[f"tokens_per_s{end}"] for end in ends]
    rate, low, high = speeds
    if row["basis"] == "fit":
        return low, high, row["range_from"]
    count = row["jobs"]
    if known is None or not known.deviation or not rate:
        alone = "intervals of the log" if row["origin"] == "log" else "printed digits"
        return low, high, f"{count} jobs" if count > 1 else alone
    about = 1 + limit(known, count)
    lowest, highest = min(low or rate, rate / about), max(high or rate, rate * about)
    told = f"{count} jobs, repeats" if count > 1 else "repeats"
    return lowest, highest, f"{told} (±{percent(about - 1, 1)})"


def _leader(names: Names, found: Sequence[Row]) -> tuple[str, ...]:
    if not found:
        return ("No run here has a usable time, so there are no days to tell.",)
    row = found[0]
    span = range_text(row["days_low"], row["days_high"], "days")
    return (
        f"Shortest: {days_words(row['days'])} ({span}; {row['range_from']}) on"
        f" {configuration_words(row)} ({place(names, row)}).",
    )


def _ramp_words(found: Sequence[Row], ramp: RampUp | None) -> tuple[str, ...]:
    if ramp is None or not found:
        return ()
    first = found[0]
    return (
        f"Ramp-up from {ramp.start} by {ramp.increment} over {number(ramp.samples)} samples:"
        f" {number(first['ramp_up_steps'])} steps, {days_words(first['ramp_up_days'])} of it; every"
        f" batch must be a multiple of MBS x DP. {schedule(first, ramp)}",
    )


def _said(found: Sequence[Row], ramp: RampUp | None) -> tuple[str, ...]:
    told = []
    if any(row["goodput_from"] == "assumed" for row in found):
        without = "evaluation" if ramp else "ramp-up, evaluation"
        told.append(
            f"Goodput 1.00 is assumed, not measured: no {without}, saving or restarts;"
            " --goodput 0.9 adds 11%."
        )
    if any(row["basis"] == "fit" for row in found):
        told.append(
            "Nobody measured these sizes: rates come from fits, ranges are those of a new"
            " measurement, and a network's next level can break any fit."
        )
    if len({row["size"] for row in found}) > 1:
        told.append("Days of different models are not rivals: --model LABEL.")
    return tuple(told)


def _cells(names: Names, row: Row, plan: Plan) -> dict[str, Any]:
    told = row["budget_tokens"] if plan.budget.tokens is None else None
    return {
        **with_words(names, row),
        "tokens": as_tokens(told) if told else None,
        "days": significant(row["days"], 3),
        "range": range_text(row["days_low"], row["days_high"], significant),
        "device_hours": significant(row["device_hours"], 3),
        "ramp_up_days": significant(row["ramp_up_days"], 3),
        "jobs": row["jobs"] if row["jobs"] > 1 else None,
        "goodput": f"{row['goodput']:.2f}",
    }
