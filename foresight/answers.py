"""Predictions for configurations that were never run, and the rows of answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..decide.best import cost_fronts
from ..decide.budget import Budget
from ..decide.budget_choice import planned
from ..decide.comparable import far_apart
from ..decide.cost import ORDERED, STATED, add_costs, facts_of, split
from ..decide.eligible import Candidates, Rows, candidates
from ..decide.query import Query
from ..decide.rows import Decision
from ..decide.selection import has_model, known_models, select
from ..schema.errors import BenchError
from ..schema.warehouse import Row, Warehouse
from ..vocabulary.format import chance
from ..vocabulary.prices import Prices
from ..vocabulary.sizes import parse_size
from .assumptions import LIKELY, START, assumptions, change, elsewhere, with_room
from .failures import Failures, failures, lacking, only_failed, split_of
from .predictor import Predictor, trained
from .refusals import among_measured, refuse_format, refuse_shape, refuse_splits
from .setting import setting, system_of
from .sizes import SHAPE, all_splits, base_of, changed, with_sizes

_EQUAL = 1e-9  # tolerance between two labels of one size
_FARTHEST = 8  # times larger or smaller than any measured model: beyond, its speed is unknown
_ALIKE = 1.25  # models up to so many times the distance of the nearest count as near
SPEED = "tokens_per_s"
_MODEL = (
    "params_b", "size", "model", "layers", "hidden", "heads", "params_computed", "params_stated",
    "active_b", "experts", "moe_top_k",
)  # fmt: skip
_WITH_DAYS = (
    "device_hours", "cost", "cost_per_100b_tokens", "energy_kwh", "joules_per_token",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Start:
    """The basis of an answer: the run nearest to the request, the runs it was selected from, the
    requested model if its size was never measured, and the predictor from the warehouse's runs."""

    model: Mapping[str, Any]
    base: Row
    rows: Sequence[Row]
    predictor: Predictor
    plan: Budget
    prices: Prices
    by: str  # tokens_per_s, days, cost, energy
    known: Rows  # what the predictor is trained on
    failed: Failures

    @property
    def column(self) -> str:
        """The column for ordering configurations."""
        return ORDERED.get(self.by, self.by)

    def splits(self, request: Mapping[str, Any]) -> list[Row]:
        """Every feasible split of the requested devices or of the base's; by cost or energy, which
        depend on the number of nodes, on every node count on which the base's model was
        measured."""
        wanted = {**self.model, **request}
        if self.by not in ORDERED or not self.base["nodes"] or {"nodes", "dp"} & request.keys():
            return all_splits(self.base, wanted)
        alike = [row for row in self.rows if _is_of(row, self.base)]
        sizes = sorted({row["nodes"] for row in alike if row["nodes"]})
        return [row for nodes in sizes for row in all_splits(self.base, {**wanted, "nodes": nodes})]

    def rated(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Configurations with their predictions, days and costs."""
        return [
            {**_with_days(self.failed.told(row), self), "basis": "predicted"}
            for row in self.predictor.rated(rows)
        ]

    def measured(self, rows: Sequence[Row], every: bool = True) -> list[dict[str, Any]]:
        """The comparable runs for configurations: of their model, system, sizes and batch; those
        of the query, or with `not every` all that the predictor knows."""
        alike = ("system", "size", "device_count", "gbs", "seq_len")
        of = {tuple(row[name] for name in alike) for row in rows}
        return [
            self.timed(row)
            for row in (self.rows if every else self.known.kept)
            if not lacking(row) and tuple(row[name] for name in alike) in of
        ]

    def is_of_now(self, row: Row) -> bool:
        """Whether a run tells of the machine as it was in the base: none before its last change."""
        return bool(row["uri"] != self.base["uri"] or row["regime"] == self.base["regime"])

    def timed(self, row: Row) -> dict[str, Any]:
        """A measured row with its days and costs."""
        return {**_with_days(self.predictor.with_speed(row), self), "basis": "measured"}

    def ranked(
        self, found: Sequence[dict[str, Any]], measured: Sequence[dict[str, Any]]
    ) -> tuple[list[Row], list[Row]]:
        """Predicted and measured rows in order; without predictions for measured configurations."""
        known = {split_of(row, dated=False) for row in measured if self.is_of_now(row)}
        new = [row for row in found if split_of(row, dated=False) not in known]
        full = [row for row in new if (row["out_of_memory"] or 0) > LIKELY]
        left: list[Row] = [
            {**row, "left_out": "ran out of memory as measured" if row["failed"] else
             f"out of memory with {chance(row['out_of_memory'])} probability"}
            for row in full
        ]  # fmt: skip
        kept = [row for row in new if (row["out_of_memory"] or 0) <= LIKELY]
        both, lacking = split([*kept, *measured], self.column)
        sign = -1 if self.by == SPEED else 1
        both = [row for row in both if row[self.column] is not None]
        both.sort(key=lambda row: (sign * row[self.column], row["uri"], row["line"]))
        return [{**row, "rank": rank} for rank, row in enumerate(both, 1)], [*left, *lacking]


def predicted(
    warehouse: Warehouse, query: Query, request: Mapping[str, Any], every: bool = False
) -> Decision:
    """The requested configuration with its intervals; with `every`, all feasible splits of its
    devices among the measured ones, in the order of `query.by`: the fastest first.

    Raises BenchError without related measurements, or for an impossible configuration.
    """
    start = prepared(warehouse, query, request)
    base, wanted = start.base, {**start.model, **request}
    if every:
        made = start.splits(request)
        if not made:
            refuse_splits(base, wanted)
    else:
        made = [with_sizes(base, wanted)]
    measured = start.measured(made, every)
    alike = [row for row in measured if not every and split_of(row) == split_of(made[0])]
    other_days = _on_other_days(start, measured, alike, made[0]) if not every else []
    start, found, blind = _without(start, alike, made)
    predictor = start.predictor
    kept, left = start.ranked(found, measured) if every else (found, [])
    fronts = cost_fronts(kept, far_apart(kept), start.plan) if every else []
    facts: dict[str, Any] = {
        "asked": request, "base": base, "plan": start.plan, "every": every, "order": start.column,
        "runs": len(predictor.rows), "predictor": predictor,
        "elsewhere": elsewhere(start),
        "failed_size": [row for row in start.failed.rows if row["size"] == start.model.get("size")],
        "of_system": sum(system_of(row) == system_of(base) for row in predictor.rows),
        "model_stated": not start.model, "assumed": assumptions(found[0], predictor),
        "unused": len(predictor.left_out), "failures": predictor.failures,
        "cost_fronts": fronts, "front_models": False,
        "alike": alike, "blind": blind, "other_days": other_days,
        "start_change": None if every else change(found[0]),
        "roomy": None if every or alike else with_room(start, found[0], request),
        **facts_of(kept),
    }  # fmt: skip
    return Decision("predict", tuple(kept), tuple(left), facts)


def _on_other_days(
    start: Start, measured: Sequence[Row], alike: Sequence[Row], made: Row
) -> list[Row]:
    """The runs of a configuration on other days than that of the prediction, which train it."""
    runs, split = {row["run"] for row in alike}, split_of(made, dated=False)
    return [
        row for row in measured
        if row["run"] not in runs and start.is_of_now(row) and split_of(row, dated=False) == split
    ]  # fmt: skip


def _without(
    start: Start, alike: Sequence[Row], rows: Sequence[Row]
) -> tuple[Start, list[dict[str, Any]], bool]:
    """A basis that does not know the runs of what is asked for, and the predictions from it: from
    the measurement itself they would only hand it back. False where no runs are left without them
    that tell anything of it."""
    if not alike:
        return start, start.rated(rows), False
    runs = {row["run"] for row in alike}
    kept = [row for row in start.known.kept if row["run"] not in runs]
    # A machine that was not steady stays so, whatever the prediction rests on.
    jobs = (start.predictor.rows, start.predictor.pace.settings)
    try:
        predictor = trained(kept, start.known.left_out, system_of(start.base))
        blind = replace(start, predictor=replace(predictor, jobs=jobs))
        return blind, blind.rated(rows), True
    except BenchError:  # too few runs, or all of them far smaller
        return start, start.rated(rows), False


def prepared(warehouse: Warehouse, query: Query, request: Mapping[str, Any]) -> Start:
    """The base run, its neighbors and the predictor trained on all runs; raises BenchError if none
    can be a base, or train."""
    everything = candidates(warehouse, Query())
    try:
        model, chosen = _chosen(warehouse, query)
    except BenchError as error:
        raise among_measured(error, query.where) from error
    rows = [row for row in chosen.eligible("pace").kept if not lacking(row)]
    if not rows:
        left = chosen.eligible("pace").left_out
        why = str(left[0]["left_out"] if left else lacking(chosen.rows[0]))
        raise BenchError(
            "no run of these can be a start", why=why,
            hint="bench runs shows what each states; --where and --model choose others",
        )  # fmt: skip
    size = model.get("params_b")
    near: Sequence[Row] = _near(rows, size) if size else rows
    base = base_of(_newest(near), request)
    refuse_format(base, request.get("dtype"))
    if shape := {name: request[name] for name in SHAPE if name in request}:
        refuse_shape(size, shape)
        _near(rows, _size(changed(base, {**model, **shape})) or 1.0)
    known = everything.eligible("pace")
    predictor = trained(known.kept, known.left_out, system_of(base))
    rows, base = [predictor.with_speed(row) for row in rows], predictor.with_speed(base)
    if model:  # other documents plan the training of other models
        warehouse.rows("DELETE FROM selected WHERE uri <> ?", [base["uri"]])
    plan = planned(warehouse, query)
    by = query.by or SPEED
    failed = failures(known.left_out)
    return Start(model, base, rows, predictor, plan, query.prices, by, known, failed)


def _near(rows: Sequence[Row], size: float) -> Sequence[Row]:
    """The runs of the models nearest to a size, in 1e9 parameters; raises BenchError if all are too
    far to tell its speed."""
    apart = {id(row): abs(math.log(_size(row) / size)) if _size(row) else math.inf for row in rows}
    nearest = min(rows, key=lambda row: apart[id(row)])
    if apart[id(nearest)] > math.log(_FARTHEST):
        known = _size(nearest)
        raise BenchError(
            f"no run of a model near {size:g}B",
            why=f"the nearest is of {known:.3g}B, more than {_FARTHEST} times away"
            if known else "no run states a model",
            hint="bench report --model lists what was measured",
        )  # fmt: skip
    limit = apart[id(nearest)] + math.log(_ALIKE)
    return [row for row in rows if apart[id(row)] <= limit]


def _newest(rows: Sequence[Row]) -> Sequence[Row]:
    """The runs of each source in the regime of its fastest run, if all are of one model.

    A base from before a repair of the machine would predict its former speed.
    """
    if len({row["size"] for row in rows}) > 1:
        return rows
    slow_first = sorted(rows, key=lambda row: (row["tokens_per_s_per_device"] or 0.0, row["where"]))
    regimes = {row["uri"]: row["regime"] for row in slow_first}
    return [row for row in rows if row["regime"] == regimes[row["uri"]]]


def _size(row: Row) -> float:
    one = setting(row)
    return one.params / 1e9 if one else 0.0


def _chosen(warehouse: Warehouse, query: Query) -> tuple[dict[str, Any], Candidates]:
    """The runs of a query; for a size of which no run has a speed, those of all sizes, and the
    size."""
    size = parse_size(query.model) if query.model else None
    if size is None:
        return {}, candidates(warehouse, query)
    select(warehouse, Query())
    sizes = [known for label, _ in known_models(warehouse) if (known := parse_size(label))]
    change: dict[str, Any] = dict.fromkeys(_MODEL) | {
        "params_b": size, "size": query.model, "model": query.model,
    }  # fmt: skip
    of_size = any(abs(one / size - 1) <= _EQUAL for one in sizes)
    if not sizes or of_size or has_model(warehouse, str(query.model)):
        every = candidates(warehouse, Query(model=query.model)).rows
        try:
            found = candidates(warehouse, query)
            stated = only_failed(found.rows)
            if stated is None:
                return {}, found
        except BenchError:  # measured, but by none of the runs that the query selects
            stated = max(every, key=lambda row: bool(row["layers"] and row["hidden"]))
        change |= {name: stated[name] for name in _MODEL} | {"params_b": size}
    return change, candidates(warehouse, replace(query, model=None))


def _with_days(row: Row, start: Start) -> dict[str, Any]:
    """A row with days, device-hours, money and energy, each with its interval."""
    plan = start.plan
    days, devices = plan.days(row), row["device_count"]
    found = {
        **row,
        "days": days,
        "days_low": plan.days(row, "_high"),
        "days_high": plan.days(row, "_low"),
        "device_hours": days * 24 * devices if days and devices else None,
    }
    add_costs(found, start.prices)
    if found["power_from"] == STATED and row["origin"] == "prediction":
        found["power_from"] = START
    return found | dict(_ends(found))


def _ends(row: Row) -> Iterator[tuple[str, float | None]]:
    """The ends of values proportional to days."""
    for end in ("low", "high"):
        ratio = row[f"days_{end}"] / row["days"] if row["days"] and row[f"days_{end}"] else None
        for name in _WITH_DAYS:
            yield f"{name}_{end}", row[name] * ratio if row[name] and ratio else None


def _is_of(row: Row, base: Row) -> bool:
    """Whether a run has the model and system of another."""
    return bool(row["system"] == base["system"] and row["size"] == base["size"])
