"""Which configuration is best: ranked as measured, normalised to one shape, ties, trade-offs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..schema.warehouse import Row
from ..vocabulary.prices import NO_PRICES, Prices
from .budget import Budget
from .comparable import (
    comparable,
    far_apart,
    labels_apart,
    model_group,
    of_one_regime,
    of_other_regimes,
    tie,
    tied,
)
from .cost import ORDERED, add_costs, facts_of, split
from .eligible import Rows
from .jobs import alike_but_stated, by_configuration, of_other_dates, unstated
from .provenance import Column, Derivation, Number, device_hours_of, input_number
from .rows import NOT_STATED, Decision, assumed_devices, lacks_device_count
from .shape_normalization import Work, labelled_flops, model_of, normalised, shapes_differ, work
from .spreads import Spread, spread_of
from .statistics import ENOUGH, critical_number


@dataclass(frozen=True, slots=True)
class RankingOrder:
    """What to rank by: a column, whether most is best, and what the first row is called."""

    column: str
    most: bool
    words: str


ORDERS = {
    "tokens_per_s": RankingOrder("tokens_per_s", True, "Fastest"),
    "samples_per_s": RankingOrder("samples_per_s", True, "Fastest"),
    "tokens_per_s_per_device": RankingOrder("tokens_per_s_per_device", True, "Fastest per device"),
    "mfu": RankingOrder("mfu", True, "Highest MFU"),
    "tflops": RankingOrder("tflops", True, "Highest printed TFLOP/s"),
    "mem": RankingOrder("memory_gb", False, "Least memory"),
    "device_hours": RankingOrder("device_hours", False, "Fewest device-hours"),
    "cost": RankingOrder("cost", False, "Cheapest"),
    "energy": RankingOrder("energy_kwh", False, "Least energy"),
}


def order_by(by: str, rows: Sequence[Row]) -> RankingOrder:
    """The requested order; TFLOPs that count recompute and others are replaced by model FLOPs."""
    found = ORDERS[by]
    # Programs count TFLOPs by different formulas: printed ones compare within one table only.
    printed = {(row["recompute"], row["table_id"]) for row in rows if row["tflops"] is not None}
    if by == "tflops" and len(printed) > 1 and all(row["model_tflops"] for row in rows):
        return RankingOrder(
            "model_tflops", True, "Highest model TFLOP/s (printed ones count differently)"
        )
    return found


def ranked(
    rows: Sequence[Row], order: RankingOrder, plan: Budget, prices: Prices
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One row per configuration, best first, with days, device-hours and costs for the budget;
    and the rows without a cost, with the reason."""
    every = by_configuration(rows)
    for row in every:
        _add_days(row, plan)
        add_costs(row, prices)
    found, lacking = split(every, order.column)
    sign = -1 if order.most else 1
    found = [row for row in found if row[order.column] is not None]
    found.sort(key=lambda row: (sign * row[order.column], row["uri"], row["line"]))
    derivation = Derivation(
        inputs=(order.column,), note=f"of {len(found)} rows, ordered by {order.column}"
    )
    for rank, row in enumerate(found, 1):
        row["rank"] = rank
        row["derivations"]["rank"] = derivation
    return found, lacking


def best(
    rows: Rows, by: str, plan: Budget, spreads: Mapping[str, Spread], prices: Prices = NO_PRICES
) -> Decision:
    """The ranking with its caveats; days are for the budget `plan`."""
    rows = of_one_regime(rows)
    order = order_by(by, rows.kept)
    found, lacking = ranked(rows.kept, order, plan, prices)
    apart = far_apart(found)
    by_days = order.column in ("device_hours", *ORDERED.values())
    tie(
        found, order.column, spreads,
        lambda row: (comparable(row, apart), plan.work(row) if by_days else None),
    )  # fmt: skip
    _explain_ties(found, order.column, spreads)
    _mark_pareto(found, apart)
    labels = labels_apart(found)
    facts: dict[str, Any] = {
        "order": order,
        "shapes": _shapes(found, apart, labels),
        "ties": tied(found, order.column, spreads),
        "fronts": _fronts(found, apart),
        "systems": len({row["system"] for row in found}),
        "front_models": bool(apart or labels),
        "boundary": of_other_regimes(rows),
        "kinds": {name: _values(found, name) for name in ("seq_len", "dtype")},
        "dates": sorted({row["date"] for row in found if row["date"] and row["origin"] == "row"}),
        "again": of_other_dates(found[0], found) if found else [],
        "alike_but_stated": alike_but_stated(found),
        "logs_of_nowhere": len({row["uri"] for row in found if row["system"] == NOT_STATED}),
        "unstated": unstated(found),
        "assumed": assumed_devices(found),
        "leads_if": bool(found) and lacks_device_count(found[0]),
        "plan": plan,
        "unequal": len({plan.work(row) for row in found}) > 1,
        "cost_fronts": cost_fronts(found, apart, plan),
        **(costs := facts_of(found)),
        "numbers": [*spread_numbers(found, rows.left_out, spreads), *costs["cost_numbers"]],
    }
    return Decision("best", tuple(found), (*rows.left_out, *lacking), facts)


def spread_numbers(
    rows: Sequence[Row], left_out: Sequence[Row], spreads: Mapping[str, Spread]
) -> list[Number]:
    """The numbers of the sentences about spread between jobs and about other regimes."""
    known = spread_of(rows[0], spreads) if rows else None
    numbers = []
    if known is not None:
        numbers += [known.number, critical_number(known, rows[0]["jobs"])]
        numbers.append(input_number("jobs a side", ENOUGH, note="the least for a rank test"))
    others = sum(str(row["left_out"]).startswith("other regime") for row in left_out)
    if others:
        numbers.append(
            input_number("other regime", others, note="runs on another side of a boundary")
        )
    return numbers


def _explain_ties(
    found: Sequence[dict[str, Any]], column: str, spreads: Mapping[str, Spread]
) -> None:
    derivations: dict[tuple[int, str | None], Derivation] = {}  # most rows tie with one leader
    for row in found:
        if row["ties_with"] is None:
            continue
        known = spread_of(row, spreads)
        key = (row["ties_with"], known.scope if known else None)
        if key not in derivations:
            leader = found[row["ties_with"] - 1]
            derivations[key] = Derivation(
                inputs=(
                    Column(column, leader),
                    column,
                    *((critical_number(known, leader["jobs"]),) if known else ()),
                ),
                note="closer than printed digits, or repeats of one configuration, resolve",
            )
        row["derivations"]["ties_with"] = derivations[key]


def _shapes(
    found: list[dict[str, Any]], apart: tuple[float, ...], labels: Sequence[str]
) -> dict[str, Any]:
    """How models of several shapes compare; by FLOPs, rows also get normalised rates.

    `way` is labels, sizes, unknown or flops, or none if a token costs the same for all.
    """
    differ = shapes_differ(found)
    rated = all(row["tokens_per_s"] for row in found)
    common = work(found) if differ and rated and not apart else None
    if common and common.differs:
        _normalise(found, common)
    if labels:
        return {"way": "labels", "labels": labels}
    if len(found) < 2 or not differ or (common and not common.differs):
        return {"way": "none"}
    if apart or common is None:
        return {"way": "sizes" if apart else "unknown"}
    leader = min(found, key=lambda row: row["rank_normalised"])
    by_label = _leader_by_label(found, common)
    other = by_label if by_label is not leader and leader is not found[0] else None
    return {"way": "flops", "method": common.method, "leader": leader, "by_label": other}


def _leader_by_label(rows: Sequence[Row], common: Work) -> Row | None:
    """The row that would lead by size labels, where these are not what FLOPs are counted by."""
    by_label = [labelled_flops(row) for row in rows]
    # A label such as 1.3B is rounded, so it may reverse an order that follows from the shape.
    if "label" in common.method or not all(by_label):
        return None
    rates = [
        row["tokens_per_s"] * flops for row, flops in zip(rows, by_label, strict=True) if flops
    ]
    return rows[rates.index(max(rates))]


def _fronts(rows: Sequence[Row], apart: tuple[float, ...]) -> list[list[Row]]:
    """The Pareto fronts of two rows or more, each of rivals, by devices."""
    fronts: dict[Hashable, list[Row]] = {}
    for row in rows:
        if row["pareto"]:
            fronts.setdefault(comparable(row, apart), []).append(row)
    ordered = [sorted(front, key=lambda row: row["device_count"]) for front in fronts.values()]
    return [front for front in ordered if len(front) > 1]


def cost_fronts(rows: Sequence[Row], apart: tuple[float, ...], plan: Budget) -> list[list[Row]]:
    """The Pareto fronts of cost against days, across systems: money makes them comparable."""
    fronts: dict[Hashable, list[Row]] = {}
    priced = [row for row in rows if row["cost"] and row["days"]]
    for row in sorted(priced, key=lambda row: (row["cost"], row["days"])):
        front = fronts.setdefault((model_group(row, apart), plan.work(row)), [])
        # From the cheapest upwards: a row faster than all cheaper ones is on the front.
        if not front or row["days"] < front[-1]["days"]:
            front.append(row)
    return [front for front in fronts.values() if len(front) > 1]


def _values(rows: Sequence[Row], name: str) -> list[Any]:
    """The values of a column in which rows differ: another length or format is other work."""
    values = sorted({row[name] for row in rows if row[name] is not None})
    return values if len(values) > 1 else []


def _add_days(row: dict[str, Any], plan: Budget) -> None:
    days = plan.days(row)
    hours = days * 24 * row["device_count"] if days and row["device_count"] else None
    made = {"days": plan.days_from(row), "device_hours": device_hours_of(row)}
    row |= {"days": days, "device_hours": hours, "pareto": False}
    row["derivations"] = {**row["derivations"], **made}


def _mark_pareto(found: list[dict[str, Any]], apart: tuple[float, ...]) -> None:
    """Marks rows that no rival beats in days on as few devices."""
    sized = [row for row in found if row["device_count"] and row["days"]]
    fewest: dict[Hashable, float] = {}
    for row in sorted(sized, key=lambda row: (row["device_count"], row["days"])):
        of = comparable(row, apart)
        # From few devices upwards: a row faster than all on fewer devices is on the front.
        if row["days"] < fewest.get(of, float("inf")):
            fewest[of], row["pareto"] = row["days"], True


def _normalise(found: list[dict[str, Any]], common: Work) -> None:
    rates = normalised(found, common)
    models = Counter(map(model_of, found))
    derivation = Derivation(
        expression="tokens_per_s x flops_per_token / flops_per_token_of_the_first",
        inputs=(
            "tokens_per_s",
            "flops_per_token",
            Column("flops_per_token", found[0], "flops_per_token_of_the_first"),
        ),
        unit="tokens/s",
        title="tokens/s at equal FLOP/s with the shape of the first row",
    )
    ranked = Derivation(
        expression="1 + rows of a higher tokens_per_s_normalised",
        inputs=("tokens_per_s_normalised",),
    )
    for row, rate, per_token in zip(found, rates, common.per_token, strict=True):
        row["tokens_per_s_normalised"] = rate
        row["flops_per_token"] = per_token
        row["derivations"] |= {
            "tokens_per_s_normalised": derivation,
            "rank_normalised": ranked,
            "flops_per_token": common.derivation(models[model_of(row)]),
        }
    for rank, at in enumerate(sorted(range(len(found)), key=lambda at: -rates[at]), 1):
        found[at]["rank_normalised"] = rank
