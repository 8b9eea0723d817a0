"""Days and device-hours of a training per configuration, with their range.

Days = tokens / (tokens/s) / 86,400 / goodput (D1), of a number of steps steps x s/it / 86,400 /
goodput; device-hours = days x 24 x devices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..schema.errors import BenchError
from ..schema.warehouse import Row
from ..vocabulary.format import number
from ..vocabulary.format import tokens as as_tokens
from ..vocabulary.prices import NO_PRICES, Prices
from .best import spread_numbers
from .budget import SECONDS_A_DAY, Budget
from .comparable import (
    comparable,
    far_apart,
    labels_apart,
    of_one_regime,
    of_other_regimes,
    tie,
    tied,
)
from .cost import add_costs, facts_of, split
from .eligible import Rows
from .goodput import Goodput
from .jobs import by_configuration, unstated
from .provenance import Derivation, Number, device_hours_of, input_number
from .rampup import RampUp, Stage, days_from, forbids, ramp_up_derivations, schedule, spent
from .rate_ranges import rates
from .rows import Decision, assumed_devices
from .spreads import Spread, spread_of
from .statistics import critical_number

_GOODPUT = {"assumed": "assumed: nothing is lost", "--goodput": "as requested with --goodput"}


@dataclass(frozen=True, slots=True)
class Plan:
    """The assumptions: budget, requested goodput, ramp-up of the batch.

    `by_model`: budgets of single models by size, which override the common one.
    """

    budget: Budget
    goodput: float | None = None
    ramp: RampUp | None = None
    prices: Prices = NO_PRICES
    order: str = "days"  # or cost, energy_kwh: ascending
    by_model: Mapping[float, Budget] = field(default_factory=dict)

    def of(self, row: Row) -> Plan:
        """The plan of the model of a row."""
        own = self.by_model.get(row["params_b"])
        # Of two units that of all counts: it heads the column.
        if own is None or not own.speed(row) or (own.is_unit and self.budget.is_unit):
            return self
        return replace(self, budget=own)


def days(
    rows: Rows, plan: Plan, spreads: Mapping[str, Spread], measured: Mapping[str, Goodput]
) -> Decision:
    """The configurations, shortest or cheapest first; `measured`: goodputs by uri of a log."""
    rows = of_one_regime(_rampable(rows, plan))
    found = []
    for row in by_configuration(rows.kept):
        share = _goodput(row, plan.goodput, measured)
        _add_days(row, plan.of(row), share, spread_of(row, spreads))
        add_costs(row, plan.prices)
        found.append(row)
    found, lacking = split(found, plan.order)
    budgets = {row["budget"]: row["size"] for row in reversed(found)}
    several = len(budgets) > 1
    # Days of other budgets compare by the same work.
    found.sort(
        key=lambda row: (
            several and not row["budget_tokens"],  # without tokens it compares with none
            row[plan.order] / (row["budget_tokens"] or 1 if several else 1),
            row["uri"],
            row["line"],
        )
    )
    if len(budgets) == 1:
        plan = replace(plan, budget=next(iter(budgets)))
    for rank, row in enumerate(found, 1):
        row["rank"] = rank
    apart = far_apart(found)
    tie(
        found,
        plan.order,
        spreads,
        lambda row: (
            comparable(row, apart),
            row["goodput"],
            row["budget"],
            row["budget"].work(row),
        ),
    )
    stages = schedule(found[0], plan.ramp) if plan.ramp and found else []
    facts: dict[str, Any] = {
        "plan": plan.budget,
        "budgets": _stated(found) if several else [],
        "order": plan.order,
        **(costs := facts_of(found)),
        "tokens": sorted({row["budget_tokens"] for row in found if row["budget_tokens"]}),
        "incomparable": bool(apart or labels_apart(found)),
        "unequal": len({row["budget"].work(row) for row in found}) > 1,
        "ties": tied(found, plan.order, spreads),
        "boundary": of_other_regimes(rows),
        "fitted": any(row["basis"] == "fit" for row in found),
        "ramp": plan.ramp,
        "schedule": stages,
        "unstated": unstated(found),
        "assumed": assumed_devices(found),
        "numbers": [
            *_numbers(plan, stages),
            *spread_numbers(found, rows.left_out, spreads),
            *_critical_numbers(found, spreads),
            *costs["cost_numbers"],
        ],
    }
    return Decision("days", tuple(found), (*rows.left_out, *lacking), facts)


def _stated(rows: Sequence[Row]) -> list[tuple[str, Budget]]:
    """The models with a stated budget, each with that budget."""
    pairs = {
        (row["size"] or row["model"] or "", row["budget"]): None
        for row in sorted(rows, key=lambda row: row["params_b"] or 0.0)
        if not row["budget"].is_unit
    }
    return list(pairs)


def _rampable(rows: Rows, plan: Plan) -> Rows:
    """The rows whose batch fits the ramp-up; the others are left out, with the reason.

    Raises BenchError if the ramp-up of every row is longer than the training.
    """
    ramp = plan.ramp
    if ramp is None:
        return rows
    fitting = [row for row in rows.kept if not forbids(row, ramp)]
    late = {
        id(row): f"ramp-up: {why}"
        for row in fitting
        if (why := _too_long(row, ramp, plan.of(row).budget))
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
    """The lengths of ramp-up and training, in words, if the ramp-up is longer."""
    if budget.tokens is None:
        steps = spent(row, ramp)[0]
        text = f"{number(round(steps))} steps, of {number(budget.size)}"
        return text if steps > budget.size else None
    takes = ramp.samples * row["seq_len"]
    text = (
        f"{number(ramp.samples)} samples x {row['seq_len']} tokens = {as_tokens(takes)} tokens,"
        f" of {as_tokens(budget.tokens)}"
    )
    return text if takes > budget.tokens else None


def _goodput(row: Row, requested: float | None, measured: Mapping[str, Goodput]) -> Goodput:
    """As requested, else the lower median of the logs of the configuration, else 1."""
    if requested is not None:
        return Goodput(requested, "--goodput")
    uris = dict.fromkeys(place.rpartition(":")[0] for place in row["places"])
    # The lower middle of an even number: one log's number and words, not a mean of two.
    known = sorted((measured[uri] for uri in uris if uri in measured), key=lambda one: one.share)
    return known[(len(known) - 1) // 2] if known else Goodput(1.0, "assumed")


def _add_days(row: dict[str, Any], plan: Plan, goodput: Goodput, known: Spread | None) -> None:
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

    value, lasts = lasting(rate), f"{extra:.6g} s in all"
    repeats = known if "repeats" in source else None
    derivations = _derivations(row, plan, goodput, (low, high, source), repeats, lasts)
    row |= {
        "days": value,
        "days_low": lasting(high) if high else None,
        "days_high": lasting(low) if low else None,
        "range_from": source,
        "budget": budget,
        "budget_tokens": tokens,
        "ramp_up_steps": round(steps) if plan.ramp else None,
        "ramp_up_days": extra / SECONDS_A_DAY / goodput.share if plan.ramp else None,
        "goodput": goodput.share,
        "goodput_from": goodput.known,
        "device_hours": value * 24 * row["device_count"] if row["device_count"] else None,
        "derivations": {**row["derivations"], **derivations},
    }


def _derivations(
    row: Row,
    plan: Plan,
    goodput: Goodput,
    speeds: tuple[float | None, float | None, str],
    repeats: Spread | None,
    lasts: str,
) -> dict[str, Derivation]:
    """The derivations of the numbers of `_add_days`: with the range of `speeds`, and the spread of
    `repeats` if the range comes from it. The ramp-up `lasts` so many seconds."""
    budget, (low, high, source) = plan.budget, speeds
    unit = "steps" if budget.tokens is None else "tokens"
    rates = f", {low:.6g} to {high:.6g} {unit}/s" if low is not None and high is not None else ""
    days = (
        budget.days_from(row, " / goodput")
        if plan.ramp is None
        else days_from(plan.ramp, budget, row)
    )
    varies = (repeats.number,) if repeats else ()
    days = replace(
        days, inputs=(*days.inputs, "goodput", *varies), note=f"range from {source}{rates}"
    )
    made = {
        "days": days,
        "goodput": Derivation(note=_GOODPUT.get(goodput.known, goodput.known)),
        "budget_tokens": _tokens_from(plan, row),
        "device_hours": device_hours_of(row),
    }
    for name, end in (("days_low", "high"), ("days_high", "low")):
        made[name] = Derivation(
            expression=f"days at the {end} end of {unit}/s", inputs=("days",), unit="days",
            title=f"range from {source}",
        )  # fmt: skip
    if plan.ramp is not None:
        made |= ramp_up_derivations(plan.ramp, row, lasts)
    return made


def _tokens_from(plan: Plan, row: Row) -> Derivation:
    """The derivation of the tokens that a row trains in its days."""
    if plan.budget.tokens is not None:
        return Derivation(inputs=(plan.budget.number,), unit="tokens")
    if plan.ramp is None:
        return plan.budget.tokens_number(row).derivation
    words = "samples x seq_len + (steps - ramp_up_steps) x tokens_per_step"
    return Derivation(
        expression=words, inputs=(plan.budget.number, *plan.ramp.numbers), unit="tokens"
    )


def _numbers(plan: Plan, stages: Sequence[Stage]) -> Iterator[Number]:
    """Numbers of the sentences, of goodput and of a ramp-up."""
    if plan.goodput is None:
        yield input_number("goodput", 0.9, note="an example of how days grow with time lost")
        more = Derivation(expression="1 / 0.9 - 1", unit="of the days")
        yield Number("more days at goodput 0.9", 1 / 0.9 - 1, more)
    if plan.ramp is not None:
        yield from plan.ramp.numbers
    for batch, replicas, devices, nodes in stages:
        of = input_number("batch", batch, "sequences", "doubled from stage to stage")
        dp = Number("dp", replicas, Derivation(expression="batch / mbs", inputs=(of,)))
        many = Number("devices", devices, Derivation(expression="dp x tp x pp", inputs=(dp,)))
        yield from (of, dp, many)
        if nodes is not None:
            derivation = Derivation(expression="devices / devices_per_node", inputs=(many,))
            yield Number("nodes", nodes, derivation)


def _critical_numbers(rows: Sequence[Row], spreads: Mapping[str, Spread]) -> Iterator[Number]:
    """The critical differences behind the ranges, each once."""
    seen = set()
    for row in rows:
        known = spread_of(row, spreads)
        if known and "repeats" in row["range_from"] and (known.scope, row["jobs"]) not in seen:
            seen.add((known.scope, row["jobs"]))
            yield critical_number(known, row["jobs"])


def _rate(row: Row, budget: Budget) -> float:
    """The speed of a row; it must have one."""
    speed = budget.speed(row)
    assert speed is not None
    return speed
