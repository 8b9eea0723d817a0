"""How much jobs of one configuration vary: the spread of repeats, and clusters of jobs."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import fsum
from statistics import fmean, median

from ..schema.warehouse import Row
from ..vocabulary.format import significant
from .jobs import identity, per_job
from .provenance import Derivation, Number, input_number

_OF_UNIFORM = math.sqrt(12)


@dataclass(frozen=True, slots=True)
class Spread:
    """How much jobs of one configuration vary: the standard deviation of ln(time per token).

    `dof`: its degrees of freedom; `places`: the runs that it comes from; `clusters`: configurations
    whose jobs fall into two, which make it wide.
    """

    deviation: float
    dof: int
    places: tuple[str, ...]
    scope: str
    clusters: int = 0

    def __hash__(self) -> int:
        return hash((self.scope, self.deviation))  # of thousands of places it would take long

    @property
    def number(self) -> Number:
        """The deviation and what it was made of."""
        split = input_number(
            "clusters", self.clusters, note="configurations whose jobs fall into two"
        )
        derivation = Derivation(
            expression=f"pooled over repeats, {self.dof} degrees of freedom",
            inputs=(
                input_number("dof", self.dof, note="jobs - configurations"),
                *([split] if self.clusters else []),
            ),
        )
        return Number("deviation", self.deviation, derivation, places=self.places)


@dataclass(frozen=True, slots=True)
class TwoClusters:
    """Jobs that fall into two clusters: their places in the group, fast ones first."""

    fast: tuple[int, ...]
    slow: tuple[int, ...]


def grain(rows: Iterable[Row]) -> float:
    """The standard deviation that the rounding of printed step times gives, as a share."""
    widest = 0.0
    for row in rows:
        if (
            row["basis"] == "cell"
            and (time := row["step_time_s"])
            and (low := row["step_time_low"])
        ):
            widest = max(widest, (row["step_time_high"] - low) / time)
    # A value rounded to a width is uniform over it: of deviation width / sqrt(12).
    return widest / _OF_UNIFORM


def rounding(*sides: Sequence[Row]) -> float:
    """The part of a difference of ln(time) that the digits of printed times could make: half of
    the last digit on each side."""
    return sum(math.sqrt(3) * grain(side) for side in sides)


def modes(values: Sequence[float], grain: float = 0.0) -> TwoClusters | None:
    """Two clusters of two jobs or more, if they stand too far apart for one.

    `grain` is the deviation that rounding alone gives, as a share: digits make no clusters.

    The distance of their means over the deviation within them; 4 + 220 / n^2 is what the best split
    of normal jobs exceeds once in a hundred (simulated for n of 4 to 20).
    """
    n = len(values)
    order = sorted(range(n), key=values.__getitem__)
    # Sums over the sorted values make every split cost the same: n splits in n steps.
    logs = [math.log(values[at]) for at in order]
    middle = fsum(logs) / n
    sums = [0.0, *accumulate(x - middle for x in logs)]
    squares = [0.0, *accumulate((x - middle) ** 2 for x in logs)]
    best: tuple[float, int] = (0.0, 0)
    for cut in range(2, n - 1):
        low, high = sums[cut] / cut, (sums[n] - sums[cut]) / (n - cut)
        within = max(squares[n] - cut * low**2 - (n - cut) * high**2, 0.0)
        apart = high - low
        best = max(best, (apart / max(math.sqrt(within / (n - 2)), grain, 1e-6), cut))
    ratio, cut = best
    return TwoClusters(tuple(order[:cut]), tuple(order[cut:])) if ratio > 4 + 220 / n**2 else None


def clusters(rows: Sequence[Row]) -> TwoClusters | None:
    """The two clusters that the step times of jobs fall into, if they do."""
    times = per_job(rows, "step_time_s")
    return modes(times, grain(rows)) if len(times) > 3 else None


def clusters_text(rows: Sequence[Row]) -> str | None:
    """Two clusters of jobs as a column's value: 3 jobs near 10.02 s, 2 near 12.11 s."""
    found = clusters(rows)
    if found is None:
        return None
    times = per_job(rows, "step_time_s")
    fast, slow = ([times[at] for at in part] for part in (found.fast, found.slow))
    near = f"{len(fast)} jobs near {significant(median(fast), 4)} s"
    return f"{near}, {len(slow)} near {significant(median(slow), 4)} s"


def spreads(rows: Sequence[Row]) -> dict[str, Spread]:
    """The spread between jobs by document, and by system and model where documents have none."""
    # Printed TFLOPs do not count: how they were rounded is not known.
    groups: dict[Hashable, list[Row]] = {}
    for row in rows:
        if row["pace"] and row["measure"] != "tflops":
            groups.setdefault((row["measure"], identity(row)), []).append(row)
    sets: dict[str, list[_Repeats]] = {}
    for group in groups.values():
        if not (whole := _repeated(group)):
            continue
        if group[0]["origin"] == "row":
            sets.setdefault(group[0]["uri"], []).append(whole)
        # Labels round: one configuration may bear two, which are two models here.
        for name, part in _by(group, system_name).items():
            repeats = whole if len(part) == len(group) else _repeated(part)
            sets.setdefault(name, []).extend([repeats] if repeats else [])
    return {name: spread for name, of in sets.items() if (spread := _spread(of, name))}


def _by(rows: Iterable[Row], key: Callable[[Row], str]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def spread_of(row: Row, known: Mapping[str, Spread]) -> Spread | None:
    """The spread known for a run: that of its document, else of its system and model."""
    return known.get(row["uri"]) or known.get(system_name(row))


def system_name(row: Row) -> str:
    """The system that a spread is known for, as a text."""
    return f"{row['size'] or 'model'} on {row['system']}"


def pooled(sets: Sequence[Sequence[Row]], scope: str) -> Spread | None:
    """The spread over the configurations that several jobs ran; None where none was repeated.

    Runs of different sets are not jobs of one configuration, whatever they state. Printed TFLOPs do
    not count: how they were rounded is not known.
    """
    groups: dict[Hashable, list[Row]] = {}
    for at, rows in enumerate(sets):
        for row in rows:
            if row["measure"] != "tflops":
                groups.setdefault((at, row["measure"], identity(row)), []).append(row)
    return _spread([one for group in groups.values() if (one := _repeated(group))], scope)


@dataclass(frozen=True, slots=True)
class _Repeats:
    """Jobs of one configuration: how they vary, and what their rounded times alone would."""

    squares: float
    dof: int
    rounded: float
    split: bool
    places: tuple[str, ...]


def _repeated(group: Sequence[Row]) -> _Repeats | None:
    # Most runs have no repeat.
    paces = per_job(group, "pace") if len(group) > 1 else ()
    if len(paces) < 2:
        return None
    rounded = grain(group)
    # Of logarithms, so that configurations of other speeds have one spread to pool.
    logs = [math.log(pace) for pace in paces]
    middle = fmean(logs)
    squares = sum((log - middle) ** 2 for log in logs)
    split = len(paces) > 3 and modes(paces, rounded) is not None
    return _Repeats(squares, len(logs) - 1, rounded, split, tuple(row["where"] for row in group))


def _spread(repeats: Sequence[_Repeats], scope: str) -> Spread | None:
    """The same over groups of jobs of one configuration each.

    Jobs in two clusters vary as all of them do, since the cluster of a single job is unknown;
    rounded times vary at least as rounding does.
    """
    if not repeats:
        return None
    dof = sum(repeat.dof for repeat in repeats)
    # Repeats that print the same digits would else claim no spread at all.
    least = max(repeat.rounded for repeat in repeats)
    deviation = max(math.sqrt(sum(repeat.squares for repeat in repeats) / dof), least)
    places = tuple(place for repeat in repeats for place in repeat.places)
    return Spread(deviation, dof, places, scope, sum(repeat.split for repeat in repeats))
