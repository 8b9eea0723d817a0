"""Proposals of runs: gain and information of each, within devices, hours and money."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..decide.cost import ORDERED, facts_of
from ..decide.jobs import by_configuration
from ..decide.neighbours import inexpressible
from ..decide.query import Query
from ..decide.rows import Decision
from ..schema.errors import BenchError
from ..schema.warehouse import Row, Warehouse
from ..vocabulary.format import chance, counted
from .answers import SPEED, Start, prepared
from .assumptions import assumptions
from .failures import split_of
from .refusals import refuse_splits
from .setting import words_of
from .sizes import changed

_TRIED = 256  # numbers of nodes, down from the limit


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the proposed runs: devices of each, device-hours and money of all."""

    devices: int | None = None
    device_hours: float | None = None
    steps: int = 20  # of each run
    money: float | None = None  # in the currency of the price


def proposed(
    warehouse: Warehouse, query: Query, request: Mapping[str, Any], most: int, limits: Limits
) -> Decision:
    """The configurations most worth running next, each with its expected results.

    Splits of the requested devices, else of the best measured run's within the limit, on fewer
    nodes if all exceeded it, or, by cost or energy, of all node counts; a measured one again if
    noise, not a new split, is the question. Raises BenchError if no split is within the limits, and
    for a limit of money without a price.
    """
    start = prepared(warehouse, query, request)
    room = limits.devices or math.inf
    if not request:
        small = [row for row in start.rows if row["device_count"] <= room] or start.rows
        start = replace(start, base=max(_middles(small), key=lambda row: row[SPEED] or 0.0))
    request = {**request, **_fewer_nodes(start, request, room)}
    splits = start.splits(request)
    if not splits and request:
        refuse_splits(start.base, {**start.model, **request})
    within = [row for row in splits if row["device_count"] <= room]
    if not within:
        fewest = min((row["device_count"] for row in splits), default=start.base["device_count"])
        raise BenchError(
            "no split of these devices is feasible within the limits",
            why=f"{counted(fewest, 'device')}, {limits.devices or 'any number'} allowed",
            hint="a larger --devices: one node has more"
            if start.base["nodes"] and room * start.base["nodes"] < start.base["device_count"]
            else "--nodes asks for fewer",
        )  # fmt: skip
    measured = start.measured(within)
    ranked, left = start.ranked(start.rated(within), measured)
    new = [row for row in ranked if row["basis"] == "predicted"]
    if not new:
        raise BenchError(
            "nothing is left to run",
            why=f"{len(measured)} splits are measured, {len(left)} are likely to be out of memory",
            hint="--nodes or --gbs asks for others",
        )  # fmt: skip
    sound = [start.timed(row) for row in _middles(measured)]
    best = min(sound, key=lambda row: _order(row, start.column), default=start.base)
    found = start.predictor.proposed(new, most, per_device=start.by != SPEED)
    chosen, spent = _affordable(_with_repeats(found, _repeats(start, measured))[:most], limits)
    if not chosen:
        raise BenchError(
            "no run is within the limits",
            why=f"the first takes up to {_words(_with_hours(found[0], limits))} for"
            f" {limits.steps} steps",
            hint="fewer --run-steps, or more --device-hours or --money",
        )  # fmt: skip
    rows = [
        {**_settled(row), "rank": rank, "changes": _changes(best, row), "why": _why(row)}
        for rank, row in enumerate(chosen, 1)
    ]
    gains = [row["expected_gain"] for row in rows if row["expected_gain"] is not None]
    facts: dict[str, Any] = {
        "assumed": assumptions(chosen[0], start.predictor),
        "repeats": sum(row["again"] for row in rows), "base": best,
        "largest_gain": max(gains, default=None), "plan": start.plan, "has_best": bool(gains),
        "candidates": len(new), "measured": len(measured),
        "limits": limits, "spent": spent, "runs": len(start.predictor.rows), "every": True,
        "unplanned": inexpressible(start.base), "order": start.column, "cost_fronts": [],
        "front_models": False, **facts_of(rows),
    }  # fmt: skip
    return Decision("proposals", tuple(rows), tuple(left), facts)


def _middles(rows: Sequence[Row]) -> list[Row]:
    """The measured configurations, each as the median of its runs: of runs that contradict each
    other the fastest is no best, and none is that is faster than its device computes."""
    sound = [row for row in rows if (row["mfu"] or 0.0) <= 1]
    return [*by_configuration(sound or rows)]


def _settled(row: Row) -> dict[str, Any]:
    """A proposal with the settings that its prediction infers, so that its plan runs with them."""
    stage, full = row["stage_inferred"], row["recompute_inferred"]
    found = {"zero_stage": stage} if row["zero_stage"] is None and stage is not None else {}
    return {**row, **found, **({"recompute": "full"} if full else {})}


def _fewer_nodes(start: Start, request: Mapping[str, Any], room: float) -> dict[str, int]:
    """The most whole nodes within the limit of devices with a feasible split, if the base has more
    and no number was requested."""
    devices, nodes = start.base["device_count"], start.base["nodes"]
    if devices <= room or not nodes or start.by in ORDERED or {"nodes", "dp"} & request.keys():
        return {}
    most = int(room * nodes // devices)
    tried = ({"nodes": fewer} for fewer in range(most, max(0, most - _TRIED), -1))
    return next((one for one in tried if start.splits({**request, **one})), {})


def _repeats(start: Start, measured: Sequence[Row]) -> list[dict[str, Any]]:
    """The measured splits that one more job may distinguish: of the base's shape, as all splits
    are, and of its regime, as earlier ones cannot be run again."""
    here = ("uri", "regime", "layers", "hidden", "heads")
    newest: dict[Any, Row] = {}  # one more job would be of its day, if of any
    for row in sorted(measured, key=lambda row: str(row["date"] or "")):
        if all(row[name] == start.base[name] for name in here):
            newest[split_of(row, dated=False)] = row
    rated = start.rated([changed(row, {}) for row in newest.values()])
    # It ran: its memory is as printed, and it fits.
    seen = dict.fromkeys(("memory_gb_predicted", "out_of_memory"))
    rated = [{**row, **seen, "memory_gb": row["base"]["memory_gb"]} for row in rated]
    return start.predictor.repeated(rated, per_device=start.by != SPEED)


def _with_repeats(
    rows: Sequence[Row], repeats: Sequence[Row], least: float = 1e-6
) -> list[dict[str, Any]]:
    """New runs in order, each after the repeats with a higher worth."""
    both: list[dict[str, Any]] = []
    no_new = {"chance_of_best": None, "narrows": None}
    left = [{**row, **no_new, "again": True} for row in repeats if row["expected_gain"] > least]
    for row in rows:
        while left and left[0]["expected_gain"] > (row["expected_gain"] or 0.0):
            both.append(left.pop(0))
        both.append({**row, "again": False})
    return both + left


def _order(row: Row, column: str) -> float:
    return -float(row[SPEED] or 0.0) if column == SPEED else float(row[column] or float("inf"))


def _words(row: Row) -> str:
    hours = f"{row['run_device_hours']:.3g} device-hours"
    if row["run_cost"] is None:
        return hours
    return f"{hours}, {' '.join(filter(None, (row['currency'], format(row['run_cost'], '.3g'))))}"


def _changes(base: Row, row: Row) -> str:
    names = {"nodes": "nodes", "dp": "DP", "tp": "TP", "pp": "PP", "mbs": "MBS"}
    moved = [
        f"{title} {row[name]}" if base[name] is None else f"{title} {base[name]} → {row[name]}"
        for name, title in names.items()
        if base[name] != row[name]
    ]
    if row["again"]:
        moved += _other_settings(base, row)
    same = ", ".join(moved) or "the same"
    return f"{same}, again" if row["again"] else same


def _other_settings(base: Row, row: Row) -> list[str]:
    """The settings without a size in which a measured run differs from another."""
    before, after = words_of(base), words_of(row)
    names = sorted((before.keys() | after.keys()) - {"date"})
    return [
        f"{name.removeprefix('column ')} {before.get(name, 'not stated')} →"
        f" {after.get(name, 'not stated')}"
        for name in names
        if before.get(name) != after.get(name)
    ]


_INFORMATIVE = 0.05  # reduction of a deviation below which a run says little about another


def _why(row: Row) -> str:
    """The reason for a proposal: its probability of being the best, and its information."""
    of = row["tells_of"]
    if row["again"]:
        apart = abs((row[SPEED] or 1.0) / (of[SPEED] or 1.0) - 1)
        other = ", ".join(_other_settings(row, of)) if _split(of) == _split(row) else _split(of)
        return f"a repeat: only {apart:.1%} from {other or 'another run of it'}, within the noise"
    share = row["chance_of_best"]
    wins = "no run to beat" if share is None else f"{chance(share)} chance to beat the best"
    if of is None or row["narrows_most"] < _INFORMATIVE:
        return f"{wins}; narrows no other prediction"
    return f"{wins}; narrows the prediction of {_split(of)} by {row['narrows_most']:.0%}"


def _split(row: Row) -> str:
    sizes = (("DP", row["dp"]), ("TP", row["tp"]), ("PP", row["pp"]), ("MBS", row["mbs"]))
    return " ".join(f"{name}{size}" for name, size in sizes if size)


def _with_hours(row: Row, limits: Limits) -> dict[str, Any]:
    """A run with its device-hours and money at the slow end of its interval."""
    time, price = row["step_time_high"], row["price_per_device_hour"]
    hours = time * limits.steps * row["device_count"] / 3600 if time else None
    return {
        **row,
        "run_device_hours": hours,
        "run_cost": hours * price if hours and price else None,
    }


def _affordable(chosen: Sequence[Row], limits: Limits) -> tuple[list[Row], dict[str, float]]:
    """The runs, in order, within the limits of device-hours and money, and the sums of both."""
    of = {"run_device_hours": limits.device_hours, "run_cost": limits.money}
    spent = dict.fromkeys(of, 0.0)
    kept: list[Row] = []
    for row in (_with_hours(row, limits) for row in chosen):
        if limits.money is not None and row["price_per_device_hour"] is None:
            raise BenchError(
                f"no price of {row['device'] or 'a device that is not stated'}",
                why="--money limits what runs cost",
                hint="--price 'USD 2.10' for a device-hour, or [prices] in bench.toml",
            )  # fmt: skip
        if any(most is not None and row[name] is None for name, most in of.items()):
            continue  # its cost is unknown without a step time
        if any(most is not None and spent[name] + row[name] > most for name, most in of.items()):
            continue
        spent = {name: spent[name] + (row[name] or 0.0) for name in of}
        kept.append(row)
    return kept, spent
