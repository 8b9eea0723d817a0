"""Curves of scaling: runs that differ in devices alone, as points of strong or weak scaling."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..schema.warehouse import Row
from .fits import Fit, fits, likeliest
from .jobs import combined
from .provenance import Derivation, devices_of
from .rows import CONFIGURATION, configured, follows_ranks
from .spreads import grain

FREE = (
    "nodes",
    "devices",
    "world_size",
    "dp",
    "dp_replicate",
    "dp_shard",
)  # what may differ besides the batch
# The column that efficiencies compare, by measure: tokens/s of a job; sequences/s if no sequence
# length is stated; the TFLOP/s of all its devices if nothing else is printed.
RATES = {
    "tokens_per_s": "tokens_per_s",
    "step_time_s": "sequences_per_s",
    "samples_per_s": "samples_per_s",
    "tflops": "tflops_of_all",
}


@dataclass(frozen=True, slots=True)
class Point:
    """The runs of one size: `x` devices (or nodes), and one row with the medians of their jobs."""

    x: float
    row: Row
    rows: tuple[Row, ...]

    @property
    def rate(self) -> float:
        """What efficiencies compare: the column that RATES name for the measure."""
        return float(self.row[RATES[self.row["measure"]]])

    @property
    def low(self) -> float | None:
        """The least of the jobs or within the printed digits; None for the intervals of one log."""
        return self._end("tokens_per_s_low", "step_time_high")

    @property
    def high(self) -> float | None:
        """The most of the jobs, or within the printed digits."""
        return self._end("tokens_per_s_high", "step_time_low")

    def _end(self, name: str, time: str) -> float | None:
        row = self.row
        # The intervals of one log vary less than jobs do, and would be taken for their range.
        if row["jobs"] < 2 and row["basis"] != "cell":
            return None
        if row["measure"] == "step_time_s":
            return float(row["batch"] / row[time]) if row[time] else None
        return float(row[name]) if row[name] else None


@dataclass(frozen=True)
class Group:
    """Runs that differ in size alone: strong (one batch) or weak (one batch a device) scaling, or
    unknown where no batch is."""

    kind: str  # strong, weak or unknown
    unit: str  # nodes or device_count
    points: tuple[Point, ...]

    @property
    def base(self) -> Point:
        return self.points[0]

    def efficiency(self, point: Point) -> float:
        """The rate per device against that of the base point."""
        return point.rate / point.x / (self.base.rate / self.base.x)

    # A law takes thousands of refits, and each row, sentence and explanation needs it.
    @cached_property
    def laws(self) -> list[Fit]:
        """The laws fitted to all points."""
        return self._fitted_laws(0)

    @cached_property
    def law(self) -> tuple[Fit | None, int]:
        """The likeliest law, and the point that is its base: the first, or the second where the
        law misses a point by far and is twice as good without the first."""
        law = likeliest(self.laws)
        # One node has no network to wait for: often the first point is off the law of the others.
        # With fewer than five points no law could be chosen from the rest.
        if law is None or not law.misses or len(self.points) < 5:
            return law, 0
        again = likeliest(self._fitted_laws(1))
        return (again, 1) if again and again.rms <= law.rms / 2 else (law, 0)

    def _fitted_laws(self, first: int) -> list[Fit]:
        """The laws fitted to the points from `first` on, which is their base."""
        points = self.points[first:]
        per_unit = [point.rate / point.x for point in points]
        shares = [one / per_unit[0] for one in per_unit]
        rounded = grain(row for point in points for row in point.rows)
        return fits([point.x / points[0].x for point in points], shares, rounded)


@dataclass(frozen=True, slots=True)
class Candidate:
    """The runs of a curve before their points are made."""

    kind: str
    unit: str
    rows: tuple[Row, ...]

    @property
    def sizes(self) -> int:
        return len({row[self.unit] for row in self.rows})

    def group(self) -> Group:
        """The curve with its points."""
        return Group(self.kind, self.unit, _points(self.rows, self.unit))


def groups(rows: Sequence[Row]) -> tuple[list[Group], list[Row]]:
    """Strong and weak scaling groups of two sizes or more, and the rows that are in none."""
    found = list(curves_among(rows))
    used = {id(row) for one in found for row in one.rows}
    return [one.group() for one in found], [row for row in rows if id(row) not in used]


def curves_among(rows: Sequence[Row]) -> Iterator[Candidate]:
    """The sets of runs, of two sizes or more, that strong or weak scaling ties."""
    free = _free(rows)
    for kind in ("strong", "weak", "unknown"):
        sets: dict[Hashable, list[Row]] = {}
        for row in rows:
            if (row["nodes"] or row["device_count"]) and (key := _key(row, kind, free)) is not None:
                sets.setdefault(key, []).append(row)
        for alike in sets.values():
            yield from curves_of(kind, alike)


def curves_of(kind: str, alike: Sequence[Row]) -> Iterator[Candidate]:
    """The curves of runs that scale into each other."""
    unit = "nodes" if grows_by_nodes(alike) else "device_count"
    for members in _by_day([row for row in alike if row[unit]], unit):
        candidate = Candidate(kind, unit, tuple(members))
        if candidate.sizes > 1:
            yield candidate


def grows_by_nodes(rows: Sequence[Row]) -> bool:
    """Whether all rows state their nodes, and as many devices on each: then nodes are counted."""
    shares = {(row["device_count"] or 0) / row["nodes"] for row in rows if row["nodes"]}
    return all(row["nodes"] for row in rows) and len(shares) == 1


def has_one_layout(rows: Sequence[Row]) -> bool:
    """Whether each number of devices is spread over one number of nodes.

    Then 1, 2, 4 and 8 devices of a node and 16 of two are one curve; otherwise the layout is a
    separate variable.
    """
    nodes: dict[Hashable, set[Hashable]] = {}
    for row in rows:
        nodes.setdefault(row["device_count"], set()).add(row["nodes"])
    return all(len(node) == 1 for node in nodes.values())


def _free(rows: Sequence[Row]) -> tuple[str, ...]:
    """What may differ between the sizes of a curve, besides the batch."""
    layout = ("procs_per_node",) if has_one_layout(rows) else ()
    return (*FREE, *follows_ranks(rows), *layout)


def _key(row: Row, kind: str, always: tuple[str, ...]) -> Hashable | None:
    """Equal for runs that scale into each other; of tables within one document."""
    batch, known = row["batch"], bool(row["batch"] or row["device_batch"])
    if known == (kind == "unknown") or (kind == "strong" and not batch):
        return None
    if kind == "weak" and not row["device_count"]:
        return None
    # With one batch in all, that of a device shrinks as devices grow.
    free = (*always, "gbs", *(("device_batch",) if kind == "strong" else ()))
    columns = tuple(
        value
        for name, value in zip(CONFIGURATION, configured(row), strict=True)
        if name not in free
    )
    if kind == "weak":
        batch = batch / row["device_count"] if batch else None
    document = row["uri"] if row["origin"] == "row" else None
    env = frozenset(item for item in row["env"].items() if f"env {item[0]}" not in free)
    # Of another version the runs may be slower for a reason that is no device.
    stated = (row["versions"], row["arguments"], row["others"])
    more = (frozenset(one.items()) for one in stated)
    return (document, row["regime"], row["measure"], batch, columns, env, *more)


def _by_day(rows: Sequence[Row], unit: str) -> list[list[Row]]:
    """The rows apart by date where one size was measured on several days: days are not pooled."""
    days: dict[Hashable, set[Hashable]] = {}
    for row in rows:
        days.setdefault(row[unit], set()).add(row["date"] if row["origin"] == "row" else None)
    # Sizes measured on different days are a curve still: there is no other.
    if all(len(day) == 1 for day in days.values()):
        return [list(rows)]
    apart: dict[Hashable, list[Row]] = {}
    for row in rows:
        apart.setdefault(row["date"], []).append(row)
    return list(apart.values())


def _points(rows: Sequence[Row], unit: str) -> tuple[Point, ...]:
    sizes: dict[float, list[Row]] = {}
    for row in rows:
        sizes.setdefault(float(row[unit]), []).append(row)
    return tuple(
        Point(x, _with_rate(combined(members)), tuple(members))
        for x, members in sorted(sizes.items())
    )


def _with_rate(row: Row) -> dict[str, Any]:
    """A row with the rate of its measure, if that is not tokens/s."""
    name, many = RATES[row["measure"]], devices_of(row)
    if row["measure"] == "step_time_s":
        value = row["batch"] / row["step_time_s"]
        words, of, unit = "gbs / step_time_s", ("gbs", "step_time_s"), "sequences/s"
    elif row["measure"] == "tflops":
        value = row["tflops"] * row["device_count"]
        words, of, unit = f"tflops x {many}", ("tflops", many), "TFLOP/s"
    else:
        return dict(row)
    derivation = Derivation(expression=words, inputs=of, unit=unit)
    return {**row, name: value, "derivations": {**row["derivations"], name: derivation}}
