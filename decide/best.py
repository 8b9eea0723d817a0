"""Which configuration is best: ranked as measured, brought to one shape, ties and trade-offs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..reports.format import days_words, number, percent, significant
from ..reports.format import tokens as as_tokens
from ..reports.short import Names
from .answer import (
    MEASURED,
    RUN,
    Answer,
    configuration_words,
    devices_words,
    left_out_words,
    place,
    places,
    time_words,
    with_words,
)  # fmt: skip
from .jobs import Spread, alike_but_stated, by_configuration, spread_of
from .rows import NOT_STATED, Row, Rows
from .work import Work, labelled_flops, normalised, shapes_differ, work

SECONDS_A_DAY = 86_400
_RIVALS = 1.5  # models that differ more in size are not compared
_SHOWN = (
    ("rank", "Rank"), ("ties_with", "Ties with"), ("size", "Model"), ("system", "System"),
    ("nodes", "Nodes (devices)"), ("split", "DP/TP/PP"), ("mbs", "MBS"), ("gbs", "GBS"),
    ("recompute", "Recompute"), ("zero_stage", "ZeRO"), ("heads", "Heads"),
    ("settings", "Settings"), ("memory_gb", "GB"),
    ("step_time_s", "Sec/it"), ("jobs", "Jobs"), ("tokens_per_s", "Tokens/s"),
    ("tokens_per_s_normalised", "Normalised"), ("rank_normalised", "Its rank"),
    ("tokens_per_s_per_device", "Tokens/s/device"), ("tflops", "TFLOPs"), ("days", "Days"),
    ("device_hours", "Device-hours"), ("pareto", "Pareto"), ("date", "Date"), ("where", "Where"),
)  # fmt: skip
COLUMNS = (
    "rank", "ties_with", *RUN, *MEASURED, "tokens_per_s_normalised", "rank_normalised", "days",
    "device_hours", "pareto", "left_out",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Order:
    """What to rank by: a column, whether most is best, its words, and what it needs."""

    column: str
    most: bool
    words: str


ORDERS = {
    "tokens_per_s": Order("tokens_per_s", True, "tokens/s"),
    "tflops": Order("tflops", True, "printed TFLOPs"),
    "mem": Order("memory_gb", False, "memory"),
    "device_hours": Order("device_hours", False, "device-hours"),
}


def order_by(by: str, rows: Sequence[Row]) -> Order:
    """The order asked for; TFLOPs that count recompute and others are replaced by model FLOPs."""
    found = ORDERS[by]
    printed = {(row["recompute"], row["table_id"]) for row in rows if row["tflops"] is not None}
    if by == "tflops" and len(printed) > 1 and all(row["model_tflops"] for row in rows):
        return Order("model_tflops", True, "model TFLOP/s (printed ones count differently)")
    return found


def ranked(rows: Sequence[Row], order: Order, tokens: int) -> list[dict[str, Any]]:
    """One row a configuration, best first, with days and device-hours for so many tokens."""
    found = [_with_days(row, tokens) for row in by_configuration(rows)]
    sign = -1 if order.most else 1
    found = [row for row in found if row[order.column] is not None]
    found.sort(key=lambda row: (sign * row[order.column], row["uri"], row["line"]))
    return [{**row, "rank": rank} for rank, row in enumerate(found, 1)]


def best(
    names: Names,
    rows: Rows,
    by: str,
    tokens: int,
    spreads: Mapping[str, Spread],
    most: int = 0,
    budget: str = "",
) -> Answer:
    """The ranking with all that qualifies it; `most` limits the rows that people are shown.

    `tokens` is what the days are for, `budget` where that comes from.
    """
    order = order_by(by, rows.kept)
    found = ranked(rows.kept, order, tokens)
    _tie(found, order, spreads)
    _mark_pareto(found)
    common = work(found) if shapes_differ(found) and not _far_apart(found) else None
    if common and common.differs:
        _normalise(found, common)
    said = (
        *_leader(names, found, order),
        *_shape_words(names, found, common),
        *_tie_words(names, found, spreads),
        *_pareto_words(names, found, order),
        *_date_words(found),
        *_stated_words(found),
        *_system_words(found),
        *_budget_words(found, tokens, budget),
    )
    cells = tuple(_cells(names, row) for row in (found[:most] if most else found))
    more = (f"{len(found) - most} more: --all.",) if most and len(found) > most else ()
    notes = (*more, *left_out_words(names, rows.left_out))
    return Answer(said, COLUMNS, _SHOWN, tuple(found), rows.left_out, notes, cells)


def _budget_words(found: Sequence[Row], tokens: int, budget: str) -> list[str]:
    told = any(row["days"] is not None for row in found)
    return [f"Days and device-hours are for {as_tokens(tokens)} tokens ({budget})."] if told else []


def _with_days(row: Row, tokens: int) -> dict[str, Any]:
    days = tokens / row["tokens_per_s"] / SECONDS_A_DAY if row["tokens_per_s"] else None
    hours = days * 24 * row["device_count"] if days and row["device_count"] else None
    return {**row, "days": days, "device_hours": hours, "pareto": False}


def _tie(found: list[dict[str, Any]], order: Order, spreads: Mapping[str, Spread]) -> None:
    """Mark rows that printed digits, or repeats of one configuration, do not tell from a better.

    Rows of other systems, or of models that are no rivals, tie with none.
    """
    leaders: dict[Hashable, dict[str, Any]] = {}
    apart = _far_apart(found)
    for row in found:
        row["ties_with"] = None
        of = (row["system"], row["size"] if apart else None)
        leader = leaders.get(of)
        if leader and order.column != "memory_gb" and _alike(leader, row, order, spreads):
            row["ties_with"] = leader["rank"]
        else:
            leaders[of] = row


def _alike(leader: Row, row: Row, order: Order, spreads: Mapping[str, Spread]) -> bool:
    known = spread_of(row, spreads)
    apart = abs(row[order.column] / leader[order.column] - 1)
    if known and known is spread_of(leader, spreads) and apart <= known.limit:
        return True
    cells = all(one["basis"] == "cell" and one["jobs"] == 1 for one in (leader, row))
    high, low = row["tokens_per_s_high"], leader["tokens_per_s_low"]
    return bool(order.column == "tokens_per_s" and cells and low and high and high >= low)


def _mark_pareto(found: list[dict[str, Any]]) -> None:
    """Rows that no other of their system beats in days with as few devices."""
    sized = [row for row in found if row["device_count"] and row["days"]]
    fewest: dict[str, float] = {}
    for row in sorted(sized, key=lambda row: (row["device_count"], row["days"])):
        if row["days"] < fewest.get(row["system"], float("inf")):
            fewest[row["system"]], row["pareto"] = row["days"], True


def _normalise(found: list[dict[str, Any]], common: Work) -> None:
    rates = normalised(found, common)
    for row, rate in zip(found, rates, strict=True):
        row["tokens_per_s_normalised"] = rate
    for rank, at in enumerate(sorted(range(len(found)), key=lambda at: -rates[at]), 1):
        found[at]["rank_normalised"] = rank


def _leader(names: Names, found: Sequence[Row], order: Order) -> tuple[str, ...]:
    if not found:
        return ("No run here can be ranked.",)
    row = found[0]
    jobs = f", median of {row['jobs']} jobs" if row["jobs"] > 1 else ""
    return (
        f"Best by {order.words}: {configuration_words(row)}: {_speed(row)}{jobs}"
        f" ({place(names, row)}).",
    )


def _speed(row: Row) -> str:
    time = f"{time_words(row)} s/it, " if row["step_time_s"] is not None else ""
    return f"{time}{number(row['tokens_per_s'], 0)} tokens/s"


def _shape_words(names: Names, found: Sequence[Row], common: Work | None) -> tuple[str, ...]:
    if len(found) < 2 or not shapes_differ(found) or (common and not common.differs):
        return ()
    if _far_apart(found):
        return (
            "These are models of very different size, which are not rivals: --model LABEL, or"
            " --group size for the best of each.",
        )
    if common is None:
        return ("The models differ in shape, and nothing here tells by how many FLOPs.",)
    best = min(found, key=lambda row: row["rank_normalised"])
    shape = f"the shape of {place(names, found[0])} by FLOPs ({common.method})"
    if best is found[0]:
        return (f"The models differ in shape; normalised to {shape}, it still leads.",)
    time = f"{time_words(best)} s/it" if best["step_time_s"] is not None else place(names, best)
    return (
        f"The models differ in shape: {time} ({place(names, best)}) leads when normalised to"
        f" {shape}: {number(best['tokens_per_s_normalised'], 0)} against"
        f" {number(found[0]['tokens_per_s_normalised'], 0)} tokens/s."
        + _label_words(found, best, common),
    )


def _far_apart(found: Sequence[Row]) -> bool:
    """Whether the largest model is more than half as large again as the smallest."""
    sizes = [
        row["params_stated"] or (row["params_b"] or 0) * 1e9 or row["params_computed"]
        for row in found
    ]
    known = sorted(size for size in sizes if size)
    return bool(known) and known[-1] > _RIVALS * known[0]


def _label_words(found: Sequence[Row], best: Row, common: Work) -> str:
    """Where the size labels would tell another story than the FLOPs."""
    by_label = [labelled_flops(row) for row in found]
    if "label" in common.method or not all(by_label):
        return ""
    rates = [row["tokens_per_s"] * one for row, one in zip(found, by_label, strict=True) if one]
    leader = found[rates.index(max(rates))]
    return "" if leader is best else f" By the size labels alone {time_words(leader)} s/it would."


def _tie_words(
    names: Names, found: Sequence[Row], spreads: Mapping[str, Spread]
) -> tuple[str, ...]:
    if len(found) < 2:
        return ()
    tied = [row for row in found if row["ties_with"] == 1]
    known = spread_of(found[0], spreads)
    if known is None:
        told = f"To the printed digits it ties with {places(names, tied)}. " if tied else ""
        return (
            f"{told}No configuration was repeated here: how much jobs vary is not known, and small"
            " differences may be chance.",
        )
    runs = names.within(", ".join(known.places[:4])) + (", ..." if len(known.places) > 4 else "")
    heard = f"repeats of one configuration vary by up to {percent(known.limit, 1)} ({runs})"
    return (
        f"{f'It ties with {places(names, tied)}' if tied else 'Nothing ties with it'}: {heard}.",
    )


def _pareto_words(names: Names, found: Sequence[Row], order: Order) -> tuple[str, ...]:
    timed = order.column in ("tokens_per_s", "device_hours")
    among = "" if timed else f", of rows that state {order.column}"  # others may be better
    several = len({row["system"] for row in found}) > 1
    told = []
    for system in sorted({row["system"] for row in found}):
        front = [row for row in found if row["pareto"] and row["system"] == system]
        front.sort(key=lambda row: row["device_count"])
        if len(front) > 1:
            listed = ", ".join(
                f"{devices_words(row)} {days_words(row['days'])} ({place(names, row)})"
                for row in front[:8]
            )
            more = f" and {len(front) - 8} more" if len(front) > 8 else ""
            where = f" on {names.system(system)}" if several else ""
            told.append(f"Devices against days{where}{among}, none better in both: {listed}{more}.")
    return tuple(told)


def _date_words(found: Sequence[Row]) -> tuple[str, ...]:
    dates = sorted({row["date"] for row in found if row["date"] and row["origin"] == "row"})
    if len(dates) < 2:
        return ()
    return (
        f"Rows of several days ({dates[0]} to {dates[-1]}): what changed on the machine between"
        " them is in the numbers too.",
    )


def _stated_words(found: Sequence[Row]) -> tuple[str, ...]:
    count = alike_but_stated(found)
    if not count:
        return ()
    return (
        f"{count} rows of logs differ in versions or arguments alone and stand apart:"
        " bench compare A B names them.",
    )


def _system_words(found: Sequence[Row]) -> tuple[str, ...]:
    """Logs of nowhere: whoever reads has to know whether they are of one machine."""
    logs = {row["uri"] for row in found if row["system"] == NOT_STATED}
    if len(logs) < 2:
        return ()
    return (
        f"{len(logs)} logs state no device and are taken to be of one machine; facts.toml can"
        " state it.",
    )


def _cells(names: Names, row: Row) -> dict[str, Any]:
    return {
        **with_words(names, row),
        "jobs": row["jobs"] if row["jobs"] > 1 else None,
        "days": significant(row["days"], 3),
        "device_hours": significant(row["device_hours"], 3),
        "pareto": "yes" if row["pareto"] else "",
    }
