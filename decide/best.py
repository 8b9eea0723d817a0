"""Which configuration is best: ranked as measured, brought to one shape, ties and trade-offs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..reports.budget import UNEQUAL, Budget
from ..reports.format import days_words, number, significant
from ..reports.short import Names
from ..reports.words import text_of
from .answer import (
    MEASURED,
    RUN,
    Answer,
    configuration_words,
    devices_words,
    left_out_words,
    place,
    time_words,
    with_words,
)  # fmt: skip
from .comparison_words import modes_words
from .factors import order as level_order
from .jobs import Spread, alike_but_stated, by_configuration, unstated_words
from .rivals import epoch_words, far_apart, labels_apart, of_one_epoch, rivals
from .rows import NOT_STATED, Row, Rows, assumed_words
from .ties import tie, tie_words
from .work import Work, labelled_flops, normalised, shapes_differ, work

_SHOWN = (
    ("rank", "Rank"), ("ties_with", "Ties with"), ("size", "Model"), ("system", "System"),
    ("nodes", "Nodes (devices)"), ("split", "DP/TP/PP"), ("mbs", "MBS"), ("gbs", "GBS"),
    ("device_batch", "Batch/device"),
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


def ranked(rows: Sequence[Row], order: Order, plan: Budget) -> list[dict[str, Any]]:
    """One row a configuration, best first, with days and device-hours for the budget."""
    found = [_with_days(row, plan) for row in by_configuration(rows)]
    sign = -1 if order.most else 1
    found = [row for row in found if row[order.column] is not None]
    found.sort(key=lambda row: (sign * row[order.column], row["uri"], row["line"]))
    return [{**row, "rank": rank} for rank, row in enumerate(found, 1)]


def best(
    names: Names,
    rows: Rows,
    by: str,
    plan: Budget,
    spreads: Mapping[str, Spread],
    most: int = 0,
    budget: str = "",
) -> Answer:
    """The ranking with all that qualifies it; `most` limits the rows that people are shown.

    `plan` is what the days are for, `budget` where that comes from.
    """
    rows = of_one_epoch(rows)
    order = order_by(by, rows.kept)
    found = ranked(rows.kept, order, plan)
    apart = far_apart(found)
    by_days = order.column == "device_hours"
    tie(
        found, order.column, spreads,
        lambda row: (rivals(row, apart), plan.work(row) if by_days else None),
    )  # fmt: skip
    _mark_pareto(found, apart)
    common = work(found) if shapes_differ(found) and not apart else None
    if common and common.differs:
        _normalise(found, common)
    said = (
        *_leader(names, found, order),
        *_shape_words(names, found, common),
        *tie_words(names, found, order.column, spreads),
        *_bimodal_words(names, found),
        *_pareto_words(names, found, order, apart),
        *epoch_words(names, rows),
        *_kinds_words(found),
        *_date_words(found),
        *_stated_words(found),
        *_system_words(found),
        *unstated_words(found),
        *_budget_words(found, plan, budget),
        *assumed_words(found),
    )
    cells = tuple(_cells(names, row) for row in (found[:most] if most else found))
    more = (f"{len(found) - most} more: --all.",) if most and len(found) > most else ()
    notes = (*more, *left_out_words(names, rows.left_out))
    return Answer(said, COLUMNS, _SHOWN, tuple(found), rows.left_out, notes, cells)


def _budget_words(found: Sequence[Row], plan: Budget, budget: str) -> list[str]:
    if all(row["days"] is None for row in found):
        return []
    own = " of each row" if plan.tokens is None else ""
    unequal = f": {UNEQUAL}" if len({plan.work(row) for row in found}) > 1 else ""
    return [f"Days and device-hours are for {plan.amount}{own} ({budget}){unequal}."]


def _with_days(row: Row, plan: Budget) -> dict[str, Any]:
    days = plan.days(row)
    hours = days * 24 * row["device_count"] if days and row["device_count"] else None
    return {**row, "days": days, "device_hours": hours, "pareto": False}


def _mark_pareto(found: list[dict[str, Any]], apart: tuple[float, ...]) -> None:
    """Rows that none of their rivals beats in days with as few devices."""
    sized = [row for row in found if row["device_count"] and row["days"]]
    fewest: dict[Hashable, float] = {}
    for row in sorted(sized, key=lambda row: (row["device_count"], row["days"])):
        of = rivals(row, apart)
        if row["days"] < fewest.get(of, float("inf")):
            fewest[of], row["pareto"] = row["days"], True


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
        f"Best by {order.words}: {configuration_words(row)}: {_value(row, order)}{jobs}"
        f" ({place(names, row)}).",
    )


def _value(row: Row, order: Order) -> str:
    """What a row is ranked by, and its speed."""
    ranked = {
        "memory_gb": f"{number(row['memory_gb'], 1)} GB",
        "device_hours": f"{significant(row['device_hours'], 3)} device-hours",
    }.get(order.column, f"{significant(row[order.column], 4)} TFLOPs")
    told = [] if order.column == "tokens_per_s" else [ranked]
    told += [f"{time_words(row)} s/it"] if row["step_time_s"] is not None else []
    told += [f"{number(row['tokens_per_s'], 0)} tokens/s"] if row["tokens_per_s"] else []
    return ", ".join(told)


def _shape_words(names: Names, found: Sequence[Row], common: Work | None) -> tuple[str, ...]:
    if labels := labels_apart(found):
        shown = ", ".join(labels[:4]) + (f" and {len(labels) - 4} more" if len(labels) > 4 else "")
        return (
            f"These are different models ({shown}), which are not rivals: --model LABEL, or --group"
            " model for the best of each.",
        )
    if len(found) < 2 or not shapes_differ(found) or (common and not common.differs):
        return ()
    if far_apart(found):
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


def _label_words(found: Sequence[Row], best: Row, common: Work) -> str:
    """Where the size labels would tell another story than the FLOPs."""
    by_label = [labelled_flops(row) for row in found]
    if "label" in common.method or not all(by_label):
        return ""
    rates = [row["tokens_per_s"] * one for row, one in zip(found, by_label, strict=True) if one]
    leader = found[rates.index(max(rates))]
    return "" if leader is best else f" By the size labels alone {time_words(leader)} s/it would."


def _bimodal_words(names: Names, found: Sequence[Row]) -> list[str]:
    """Configurations whose jobs fall into two clusters: the median tells of one alone."""
    told = [(row, modes_words(row["members"])) for row in found]
    return [
        f"Bimodal: {configuration_words(row)} ({place(names, row)}): {said}."
        for row, said in told
        if said
    ]


def _pareto_words(
    names: Names, found: Sequence[Row], order: Order, apart: tuple[float, ...]
) -> tuple[str, ...]:
    timed = order.column in ("tokens_per_s", "device_hours")
    among = "" if timed else f", of rows that state {order.column}"  # others may be better
    fronts: dict[Hashable, list[Row]] = {}
    for row in found:
        if row["pareto"]:
            fronts.setdefault(rivals(row, apart), []).append(row)
    systems = len({row["system"] for row in found})
    told = []
    for front in fronts.values():
        front.sort(key=lambda row: row["device_count"])
        if len(front) > 1:
            listed = ", ".join(
                f"{devices_words(row)} {days_words(row['days'])} ({place(names, row)})"
                for row in front[:8]
            )
            more = f" and {len(front) - 8} more" if len(front) > 8 else ""
            where = f" on {names.system(front[0]['system'])}" if systems > 1 else ""
            sizes = sorted(
                {row["size"] or row["model"] or "models without a size" for row in front},
                key=level_order,
            )
            what = f" for {', '.join(sizes)}" if apart or labels_apart(found) else ""
            told.append(
                f"Devices against days{what}{where}{among}, none better in both: {listed}{more}."
            )
    return tuple(told)


def _kinds_words(found: Sequence[Row]) -> tuple[str, ...]:
    """What people take for one thing and is not: another length or number format is other work."""
    kinds = {"seq_len": "sequence length", "dtype": "number format"}
    told = [
        f"{words} ({', '.join(map(text_of, values))})"
        for name, words in kinds.items()
        if len(values := sorted({row[name] for row in found if row[name] is not None})) > 1
    ]
    return (f"The rows differ in {' and '.join(told)}: --where ranks one of them.",) if told else ()


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
