"""Days and device-hours to train a budget of tokens, per configuration, with what makes them vary.

Days = tokens / (tokens/s) / 86,400 / goodput (D1); device-hours = days x 24 x devices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..reports.format import days_words, percent, range_text, significant
from ..reports.format import tokens as as_tokens
from ..reports.short import Names
from .answer import (
    MEASURED,
    RUN,
    Answer,
    configuration_words,
    left_out_words,
    place,
    with_words,
)  # fmt: skip
from .jobs import REPEATABILITY, Spread, by_configuration, spread_of
from .rows import Row, Rows

SECONDS_A_DAY = 86_400
COLUMNS = (
    "rank", "days", "days_low", "days_high", "range_from", "goodput", "goodput_from",
    "device_hours", *RUN, *MEASURED, "left_out",
)  # fmt: skip
_SHOWN = (
    ("rank", "Rank"), ("days", "Days"), ("range", "Range"), ("range_from", "Range from"),
    ("device_hours", "Device-hours"), ("size", "Model"), ("system", "System"),
    ("nodes", "Nodes (devices)"), ("split", "DP/TP/PP"), ("mbs", "MBS"), ("gbs", "GBS"),
    ("recompute", "Recompute"), ("zero_stage", "ZeRO"), ("settings", "Settings"),
    ("step_time_s", "Sec/it"), ("jobs", "Jobs"), ("tokens_per_s_per_device", "Tokens/s/device"),
    ("goodput", "Goodput"), ("goodput_from", "Goodput from"), ("date", "Date"), ("where", "Where"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Goodput:
    """The share of the time that trains, and how it is known."""

    share: float
    known: str


def days(
    names: Names,
    rows: Rows,
    tokens: int,
    budget_words: str,
    spreads: Mapping[str, Spread],
    goodput: float | None = None,
    measured: Mapping[str, Goodput] | None = None,
    most: int = 0,
) -> Answer:
    """The configurations by days, shortest first; `measured` holds goodputs by run id."""
    found = []
    for row in by_configuration(rows.kept):
        share = _goodput(row, goodput, measured or {})
        found.append(_with_days(row, tokens, share, spread_of(row, spreads)))
    found.sort(key=lambda row: (row["days"], row["uri"], row["line"]))
    found = [{**row, "rank": rank} for rank, row in enumerate(found, 1)]
    said = (
        *_leader(names, found),
        f"For {as_tokens(tokens)} tokens ({budget_words}).",
        *_said(found),
    )
    cells = tuple(_cells(names, row) for row in (found[:most] if most else found))
    more = (f"{len(found) - most} more: --all.",) if most and len(found) > most else ()
    notes = (*more, *left_out_words(names, rows.left_out))
    return Answer(said, COLUMNS, _SHOWN, tuple(found), rows.left_out, notes, cells)


def _goodput(row: Row, asked: float | None, measured: Mapping[str, Goodput]) -> Goodput:
    if asked is not None:
        return Goodput(asked, "--goodput")
    return measured.get(row["run"]) or Goodput(1.0, "assumed")


def _with_days(row: Row, tokens: int, goodput: Goodput, known: Spread | None) -> dict[str, Any]:
    scale = tokens / SECONDS_A_DAY / goodput.share
    low, high, source = _rates(row, known)
    value = scale / row["tokens_per_s"]
    return {
        **row,
        "days": value,
        "days_low": scale / high if high else None,
        "days_high": scale / low if low else None,
        "range_from": source,
        "goodput": goodput.share,
        "goodput_from": goodput.known,
        "device_hours": value * 24 * row["device_count"] if row["device_count"] else None,
    }


def _rates(row: Row, known: Spread | None) -> tuple[float | None, float | None, str]:
    """The range of tokens/s, and what it comes from: jobs, else repeats elsewhere, else digits."""
    low, high = row["tokens_per_s_low"], row["tokens_per_s_high"]
    if row["jobs"] > 1:
        return low, high, f"{row['jobs']} jobs"
    if known is None or not known.deviation:
        told = "printed digits" if row["basis"] == "cell" else "intervals of the log"
        return low, high, told
    about = 1 + REPEATABILITY / 2**0.5 * known.deviation
    rate = row["tokens_per_s"]
    lowest, highest = min(low or rate, rate / about), max(high or rate, rate * about)
    return lowest, highest, f"repeats (±{percent(about - 1, 1)})"


def _leader(names: Names, found: Sequence[Row]) -> tuple[str, ...]:
    if not found:
        return ("No run here has a usable time, so there are no days to tell.",)
    row = found[0]
    span = range_text(row["days_low"], row["days_high"], "days")
    return (
        f"Shortest: {days_words(row['days'])} ({span}; {row['range_from']}) on"
        f" {configuration_words(row)} ({place(names, row)}).",
    )


def _said(found: Sequence[Row]) -> tuple[str, ...]:
    told = []
    if any(row["goodput_from"] == "assumed" for row in found):
        told.append(
            "Goodput 1.00 is assumed, not measured: no ramp-up, evaluation, saving or restarts;"
            " --goodput 0.9 adds 11%."
        )
    if len({row["size"] for row in found}) > 1:
        told.append("Days of different models are not rivals: --model LABEL.")
    return tuple(told)


def _cells(names: Names, row: Row) -> dict[str, Any]:
    return {
        **with_words(names, row),
        "days": significant(row["days"], 3),
        "range": range_text(row["days_low"], row["days_high"], "days"),
        "device_hours": significant(row["device_hours"], 3),
        "jobs": row["jobs"] if row["jobs"] > 1 else None,
        "goodput": f"{row['goodput']:.2f}",
    }
