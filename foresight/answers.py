"""What a configuration that nobody ran would give, and the rows that an answer shows of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..decide.budget import Budget, planned
from ..decide.eligible import Candidates, candidates
from ..decide.neighbours import wordless
from ..decide.query import Query
from ..decide.rows import Decision, Row
from ..decide.selection import known_models, select
from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse
from ..vocabulary.sizes import parse_size
from .asked import all_of, base_of, made_of
from .predictor import Predictor, trained
from .setting import lacking, setting

_EQUAL = 1e-9  # of two labels of one size
_FARTHEST = 8  # times larger or smaller than any measured model: beyond, nothing tells its speed
_ALIKE = 1.25  # times farther than the nearest model that is near too
_LIKELY = 0.5  # a chance of no room above which a configuration is not ranked


def predicted(
    warehouse: Warehouse, query: Query, asked: Mapping[str, Any], every: bool = False
) -> Decision:
    """The configuration asked for with its intervals; with `every`, all feasible splits of its
    devices among the measured ones, the fastest first.

    Raises BenchError where nothing that was measured tells of it, or where it cannot be.
    """
    model, base, rows, predictor = _prepared(warehouse, query, asked)
    plan = planned(warehouse, query)
    if every:
        made = all_of(base, {**asked, **model})
        if not made:
            made_of(base, {**asked, **model})  # raises, and names the rule that is broken
            raise BenchError("no split of these devices is feasible", hint="other --nodes or --gbs")
    else:
        made = [made_of(base, {**asked, **model})]
    found = [_with_days(row, plan) for row in predictor.rated(made)]
    measured = [
        {**_with_days(row, plan), "basis": "measured"} for row in rows if _same_work(row, made[0])
    ]
    kept, left = _ranked(found, measured) if every else (found, [])
    facts: dict[str, Any] = {
        "asked": asked, "base": base, "plan": plan, "every": every, "runs": len(predictor.rows),
        "of_system": sum(row["system"] == base["system"] for row in predictor.rows),
        "model_stated": not model, "assumed": _assumptions(made[0]),
        "unused": len(predictor.left_out),
        "alike": [row for row in measured if not every and _split(row) == _split(made[0])],
    }  # fmt: skip
    return Decision("predict", tuple(kept), tuple(left), facts)


def _prepared(
    warehouse: Warehouse, query: Query, asked: Mapping[str, Any]
) -> tuple[dict[str, Any], Row, Sequence[Row], Predictor]:
    """What the model asked for changes, the run to start from, the runs, the predictor."""
    everything = candidates(warehouse, Query())
    model, chosen = _chosen(warehouse, query)
    rows = [row for row in chosen.eligible("pace").kept if not lacking(row)]
    if not rows:
        left = chosen.eligible("pace").left_out
        why = str(left[0]["left_out"] if left else lacking(chosen.rows[0]))
        raise BenchError(
            "no run of these can be a start", why=why,
            hint="bench runs shows what each states; --where and --model choose others",
        )  # fmt: skip
    size = model.get("params_b")
    near: Sequence[Row] = rows
    if size:
        near = _near(rows, size)
    base = base_of(_newest(near), asked)
    known = everything.eligible("pace")
    return model, base, rows, trained(known.kept, known.left_out, base["system"])


def _near(rows: Sequence[Row], size: float) -> Sequence[Row]:
    """The runs of the models nearest to a size, in 1e9 parameters; raises BenchError where all are
    so far away that their speed tells nothing of it."""
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
    """The runs of the source and regime that has the fastest, where all are of one model.

    A start from before a repair of the machine would predict what it was, not what it is.
    """
    if len({row["size"] for row in rows}) > 1:
        return rows
    fastest = max(rows, key=lambda row: (row["tokens_per_s_per_device"] or 0.0, row["where"]))
    here = (fastest["uri"], fastest["epoch"])
    return [row for row in rows if (row["uri"], row["epoch"]) == here]


def _size(row: Row) -> float:
    one = setting(row)
    return one.params / 1e9 if one else 0.0


def _chosen(warehouse: Warehouse, query: Query) -> tuple[dict[str, Any], Candidates]:
    """The runs of a query; of a size that nobody measured those of all sizes, and what it is."""
    size = parse_size(query.model) if query.model else None
    if size is not None:
        select(warehouse, Query())
        sizes = [known for label, _ in known_models(warehouse) if (known := parse_size(label))]
        if sizes and not any(abs(one / size - 1) <= _EQUAL for one in sizes):
            change = {
                "params_b": size, "size": query.model, "model": query.model, "layers": None,
                "hidden": None, "heads": None, "params_computed": None, "params_stated": None,
                "active_b": None, "experts": None,
            }  # fmt: skip
            return change, candidates(warehouse, replace(query, model=None))
    return {}, candidates(warehouse, query)


def _assumptions(row: Row) -> list[str]:
    """What no source states and the prediction takes for granted."""
    said = []
    if row["moved"]:
        base, moved = row["base"], row["moved"]
        words = ", ".join(f"{name.upper()} {size} for {base[name]}" for name, size in moved.items())
        said.append(f"{words}, as the sizes of the run it starts from do not fit")
    if not (row["layers"] and row["hidden"]):
        said.append("layers and hidden size of a usual model of its size")
    if row["recompute"] is None:
        said.append(f"recompute as in {row['base']['where']}, which does not state it")
    if row["peak_tflops"] is None:
        said.append("no peak of the device: speeds are relative to its own runs")
    if row["batch"] is None:
        said.append("the batch as in the runs it rests on, which do not state it")
    return said


def _with_days(row: Row, plan: Budget) -> dict[str, Any]:
    days, devices = plan.days(row), row["device_count"]
    return {
        **row,
        "basis": "predicted",
        "days": days,
        "days_low": plan.days(row, "_high"),
        "days_high": plan.days(row, "_low"),
        "device_hours": days * 24 * devices if days and devices else None,
    }


def _same_work(row: Row, of: Row) -> bool:
    """Whether a measured run stands beside a prediction: its model, system, devices and batch."""
    names = ("system", "size", "device_count", "gbs", "seq_len")
    return all(row[name] == of[name] for name in names)


def _split(row: Row) -> tuple[Any, ...]:
    """Equal for runs of one shape that are split alike."""
    return tuple(row[name] or None for name in _SPLIT)


_SPLIT = ("dp", "tp", "pp", "cp", "vpp", "mbs", "layers", "hidden", "heads", "recompute")


def _ranked(found: Sequence[Row], measured: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Predicted and measured rows by tokens/s; what was measured is not predicted as well."""
    known = set(map(_split, measured))
    new = [row for row in found if _split(row) not in known]
    full = [row for row in new if (row["out_of_memory"] or 0) > _LIKELY]
    left: list[Row] = [
        {**row, "left_out": f"out of memory with {row['out_of_memory']:.0%} probability"}
        for row in full
    ]
    kept = [row for row in new if (row["out_of_memory"] or 0) <= _LIKELY]
    both = sorted(
        (*kept, *measured), key=lambda row: (-row["tokens_per_s"], row["uri"], row["line"])
    )
    return [{**row, "rank": rank} for rank, row in enumerate(both, 1)], left


@dataclass(frozen=True, slots=True)
class Limits:
    """What the proposed runs may take: devices of each, device-hours and money of all."""

    devices: int | None = None
    device_hours: float | None = None
    steps: int = 20  # of each run


def proposed(
    warehouse: Warehouse, query: Query, asked: Mapping[str, Any], most: int, limits: Limits
) -> Decision:
    """The configurations worth most to run next, with what each is expected to give.

    Splits of the devices asked for, else of the best measured run's; a repeat of that run where
    others come too near to tell. Raises BenchError where no split is within the limits.
    """
    model, base, rows, predictor = _prepared(warehouse, query, asked)
    fastest = max(rows, key=lambda row: row["tokens_per_s"] or 0.0)
    base = base if asked else fastest
    plan = planned(warehouse, query)
    within = all_of(base, {**asked, **model})
    if limits.devices is not None:
        within = [row for row in within if row["device_count"] <= limits.devices]
    if not within:
        raise BenchError(
            "no split of these devices is feasible within the limits",
            why=f"{base['device_count']} devices, {limits.devices or 'any number'} allowed",
            hint="--nodes asks for fewer",
        )  # fmt: skip
    guessed = [_with_days(row, plan) for row in predictor.rated(within)]
    measured = [
        {**_with_days(row, plan), "basis": "measured"} for row in rows if _same_work(row, within[0])
    ]
    ranked, left = _ranked(guessed, measured)
    new = [row for row in ranked if row["basis"] == "predicted"]
    if not new:
        raise BenchError(
            "nothing is left to run",
            why=f"{len(measured)} splits are measured, {len(left)} are likely to be out of memory",
            hint="--nodes or --gbs asks for others",
        )  # fmt: skip
    chosen, spent = _affordable(predictor.proposed(new, most), limits)
    rows = [
        {**row, "rank": rank, "changes": _changes(base, row)} for rank, row in enumerate(chosen, 1)
    ]
    facts: dict[str, Any] = {
        "base": base, "plan": plan, "candidates": len(new), "measured": len(measured),
        "limits": limits, "spent": spent, "runs": len(predictor.rows), "every": True,
        "unplanned": wordless(base),
    }  # fmt: skip
    return Decision("proposals", tuple(rows), tuple(left), facts)


def _changes(base: Row, row: Row) -> str:
    names = ("nodes", "dp", "tp", "pp", "mbs")
    moved = [
        f"{name.upper()} {base[name]} → {row[name]}" for name in names if base[name] != row[name]
    ]
    return ", ".join(moved) or "the same"


def _affordable(chosen: Sequence[Row], limits: Limits) -> tuple[list[Row], float]:
    """The runs, in order, that device-hours allow, with those of each; and the sum."""
    kept: list[Row] = []
    spent = 0.0
    for row in chosen:
        time = row["step_time_high"]
        hours = time * limits.steps * row["device_count"] / 3600 if time else None
        if limits.device_hours is not None and hours and spent + hours > limits.device_hours:
            continue
        spent += hours or 0.0
        kept.append({**row, "run_device_hours": hours})
    return kept, spent
