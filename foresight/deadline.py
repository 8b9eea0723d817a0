"""The fewest nodes that train a model within a number of days, each with its fastest split."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from ..decide.cost import facts_of
from ..decide.query import Query
from ..decide.rows import Decision
from ..schema.errors import BenchError
from ..schema.warehouse import Row, Warehouse
from ..vocabulary.format import counted, significant
from .answers import Start, prepared
from .assumptions import assumptions
from .predictor import FARTHEST
from .setting import system_of
from .sizes import all_splits, changed

_STEPS = 4  # numbers of nodes tried first of each doubling
_ABOUT = 4  # times fewer and more nodes than the answers that are shown


@dataclass(slots=True)
class Fastest:
    """The fastest split that has room on each number of nodes, predicted or measured."""

    start: Start
    request: Mapping[str, Any]
    known: dict[int, Row | None] = field(default_factory=dict)

    def splits(self, nodes: int) -> list[Row]:
        """The feasible splits of so many nodes."""
        return all_splits(self.start.base, {**self.start.model, **self.request, "nodes": nodes})

    def of(self, nodes: int) -> Row | None:
        """The split with the fewest days; None if none has room."""
        if nodes not in self.known:
            made = self.splits(nodes)
            found = self.start.rated(made) if made else []
            kept, _ = self.start.ranked(found, self.start.measured(made))
            timed = [row for row in kept if row["days"] is not None]
            self.known[nodes] = min(timed, key=lambda row: row["days"], default=None)
        return self.known[nodes]

    def fewest(self, sizes: Sequence[int], is_enough: Callable[[Row], bool]) -> int:
        """The index of the first size that is enough, `len(sizes)` if none is: more nodes take
        fewer days, and have more room."""

        def enough(nodes: int) -> bool:
            row = self.of(nodes)
            return row is not None and is_enough(row)

        return bisect_left(sizes, True, key=enough)


def within_days(
    warehouse: Warehouse, query: Query, request: Mapping[str, Any], days: float
) -> Decision:
    """The fewest nodes on which a model trains in so many days, by the prediction and by the slow
    end of its interval, among others about them; each with its fastest split.

    Raises BenchError without related measurements, or if all nodes that a prediction reaches take
    longer.
    """
    if not 0 < days < math.inf:
        raise BenchError("--days has to be above 0", hint="--days 30")
    if asked := [name for name in ("nodes", "dp") if name in request]:
        raise BenchError(
            f"--days asks for nodes, so that --{asked[0]} cannot be set",
            hint="--nodes alone predicts its days",
        )
    start = prepared(warehouse, replace(query, by="days"), request)
    fastest = Fastest(start, request)
    sizes = _sizes(fastest)
    likely = _refined(fastest, sizes, lambda row: row["days"] <= days)
    if likely is None:
        _refuse(fastest, sizes, days)
    sure = _refined(fastest, sizes, lambda row: (row["days_high"] or row["days"]) <= days)
    about = range(likely // _ABOUT, max(likely, sure or 0) * _ABOUT + 1)
    near = [row for nodes, row in sorted(fastest.known.items()) if row and nodes in about]
    rows = [{**row, "rank": rank} for rank, row in enumerate(near, 1)]
    first = next(row for row in rows if row["nodes"] == likely)
    facts: dict[str, Any] = {
        "asked": request, "base": start.base, "plan": start.plan, "every": True,
        "order": "device_count", "runs": len(start.predictor.rows), "predictor": start.predictor,
        "of_system": sum(system_of(row) == system_of(start.base) for row in start.predictor.rows),
        "elsewhere": (), "failed_size": (), "model_stated": not start.model,
        "assumed": assumptions(first, start.predictor) if first["basis"] == "predicted" else (),
        "unused": len(start.predictor.left_out), "failures": start.predictor.failures,
        "cost_fronts": [], "front_models": False, "alike": (), "blind": False, "other_days": (),
        "start_change": None, "roomy": None,
        "deadline": days, "likely": first,
        "sure": next((row for row in rows if row["nodes"] == sure), None),
        **facts_of(rows),
    }  # fmt: skip
    return Decision("predict", tuple(rows), (), facts)


def _sizes(fastest: Fastest) -> list[int]:
    """Numbers of nodes with a feasible split, a few of each doubling, as far as a prediction
    reaches."""
    start = fastest.start
    one = changed(start.base, {"nodes": 1})["device_count"]
    same = [of for of in start.predictor.pace.settings if of.system == system_of(start.base)]
    most = FARTHEST * max(run.devices for run in same or start.predictor.pace.settings) / one
    count = int(_STEPS * math.log2(max(most, 1)))
    tried = sorted({math.floor(2 ** (at / _STEPS)) for at in range(count + 1)})
    return [nodes for nodes in tried if nodes <= most and fastest.splits(nodes)]


def _refined(
    fastest: Fastest, sizes: Sequence[int], is_enough: Callable[[Row], bool]
) -> int | None:
    """The fewest nodes that are enough, also between the sizes; None if none is."""
    at = fastest.fewest(sizes, is_enough)
    if at == len(sizes):
        return None
    low = sizes[at - 1] if at else 0
    between = [nodes for nodes in range(low + 1, sizes[at]) if fastest.splits(nodes)]
    place = fastest.fewest(between, is_enough)
    return between[place] if place < len(between) else sizes[at]


def _refuse(fastest: Fastest, sizes: Sequence[int], days: float) -> NoReturn:
    """Raises BenchError with the days of the most nodes."""
    rows = [row for nodes in sizes if (row := fastest.known.get(nodes))]
    last = min(rows, key=lambda row: row["days"], default=None)
    raise BenchError(
        f"no number of nodes trains it in {days:g} days",
        why=f"{counted(last['nodes'], 'node')} would take {significant(last['days'], 3)} days, and"
        f" predictions reach {FARTHEST} times the measured devices" if last
        else "no split of the nodes that a prediction reaches has room",
        hint="a larger --gbs splits over more devices; fewer --tokens or --steps take less",
    )  # fmt: skip
