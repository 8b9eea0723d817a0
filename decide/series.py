"""Runs as series over time: of one configuration, by date, commit or version; where their level
changes, judged by the spread of the values.

ruptures is not used: the number of changes follows from a penalty, and they have no p-values.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from ..project.git import committed
from ..schema.errors import BenchError
from ..schema.warehouse import Row, Warehouse
from .distributions import t_tail
from .jobs import identity, per_job, unstated
from .rows import configuration
from .run_dates import RunDates

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    Array = NDArray[float64]

BY = ("date", "commit", "version")
_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class AxisPosition:
    """Where a run stands on the axis: its text, and what places are ordered by."""

    text: str
    order: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """The jobs of one configuration, place by place: ln of the metric, and the runs."""

    places: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    rows: tuple[tuple[Row, ...], ...]

    @property
    def medians(self) -> list[float]:
        """One value a place: jobs of one day or commit share the effect of that day or commit."""
        return [median(value) for value in self.values]


def placed_by(
    warehouse: Warehouse, rows: Sequence[Row], times: Mapping[str, RunDates], by: str
) -> tuple[str, list[tuple[AxisPosition, Row]]]:
    """What runs are placed by, and those that have a place."""
    if by == "date":
        dated = [(times[row["run"]].at, row) for row in rows if row["run"] in times]
        return by, [(AxisPosition(f"{at:%Y-%m-%d}", (at.date(),)), row) for at, row in dated if at]
    name = _version_name(rows, by)
    texts = {row["versions"].get(name) for row in rows} - {None, "unknown"}
    first: dict[str, datetime] = {}
    for row in rows:
        text, at = row["versions"].get(name), times.get(row["run"], RunDates()).at
        if text in texts and at:
            first[text] = min(at, first.get(text, at))
    order: dict[str, tuple[Any, ...]] = {text: _version_key(text) for text in texts}
    if "commit" in name:
        # The order of history where the repository is here, else of the first run of each.
        root = warehouse.home
        known = committed(root, texts)
        clock = known if texts <= {*known} else first
        order = {text: (text not in clock, clock.get(text, datetime.min), text) for text in texts}
    stated = [(row["versions"].get(name), row) for row in rows]
    return name, [(AxisPosition(text, order[text]), row) for text, row in stated if text in order]


def _version_name(rows: Sequence[Row], by: str) -> str:
    """The version to order by: that of this name, or the commonest that logs state."""
    counts = Counter(name for row in rows for name in row["versions"])
    wanted = by if by in counts else f"{by}_version"
    if wanted in counts:
        return wanted
    ends = [name for name, _ in counts.most_common() if by in BY and name.endswith(f"_{by}")]
    if ends:
        return str(ends[0])
    raise BenchError(
        f"no run states a {by}",
        why=f"stated: {', '.join(sorted(counts))}" if counts else "nor any other version",
        hint="--by date, or one of these" if counts else "--by date",
    )


def _version_key(text: str) -> tuple[Any, ...]:
    """Numbers within a version count as numbers: 2.10 comes behind 2.9."""
    parts = _DIGITS.split(text)
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in parts)


def grouped(
    placed: Sequence[tuple[AxisPosition, Row]], column: str
) -> list[dict[AxisPosition, list[Row]]]:
    """Runs by configuration, then by place; versions and arguments are what changes over time."""
    groups: dict[Hashable, dict[AxisPosition, list[Row]]] = {}
    for place, row in placed:
        if row[column] > 0:
            stated = sorted(
                (name, str(value))
                for name, value in configuration(row).items()
                if name not in ("date", "regime")
            )
            alone = identity(row) if unstated([row]) else ()
            groups.setdefault((*stated, *alone), {}).setdefault(place, []).append(row)
    return [
        {place: [{**row, "_value": row[column]} for row in of] for place, of in group.items()}
        for group in groups.values()
    ]


def series(group: Mapping[AxisPosition, Sequence[Row]]) -> Series:
    """The places of a configuration in order, a value of each job."""
    places = sorted(group, key=lambda place: place.order)
    return Series(
        tuple(place.text for place in places),
        tuple(tuple(map(math.log, per_job(group[place], "_value"))) for place in places),
        tuple(tuple(group[place]) for place in places),
    )


STRICT = 0.005  # of each test: a history is looked at in many places, and in two ways
FEWEST = 8  # values: of fewer, hardly an order of them is rare enough
_SIDE = 2  # values on either side of a change
_FAR = 3.0  # deviations from the median, where values are cut off
_MANY = 200  # values: of more, fewer shuffles are enough work
_SHUFFLES, _FEW_SHUFFLES = 1999, 499
_SEED = 20200101  # so that the same values give the same answer


@dataclass(frozen=True, slots=True)
class Change:
    """A change of level: the index of the first value after it, and the p of its test."""

    at: int
    p: float


def changes(values: Sequence[float], level: float = STRICT) -> list[Change]:
    """The changes of level of values in order of time; fewer than FEWEST show none.

    Binary segmentation (Vostrikova 1981) and, where one split shows nothing, a stretch that
    differs from what is on both sides of it (circular binary segmentation, Olshen et al. 2004).
    Both compare the largest difference of means with that of shuffled values, so that the
    choice of the place is accounted for; outliers are cut off, so that a single one is no change.
    """
    if len(values) < FEWEST or min(values) == max(values):
        return []
    for found, p in _most_apart(values):
        if p < level:
            inside = [at for at in found if 0 < at < len(values)]
            ends = [0, *inside, len(values)]
            parts = [
                Change(begin + change.at, change.p)
                for begin, end in pairwise(ends)
                for change in changes(values[begin:end], level)
            ]
            return sorted([*parts, *(Change(at, p) for at in inside)], key=lambda change: change.at)
    return []


def newest_p(before: Sequence[float], newest: Sequence[float], known: float, dof: int) -> float:
    """p of newest jobs against the level before them, by Student's t as of a prediction interval
    (Hahn and Meeker, Statistical Intervals, 4.8): `known` is the spread of single jobs."""
    error = known * math.sqrt(1 / len(before) + 1 / len(newest))
    apart = abs(fmean(newest) - fmean(before))
    return t_tail(dof, apart / error) if error else float(apart == 0)


def levels(values: Sequence[float], found: Sequence[Change]) -> list[tuple[int, int, float]]:
    """The stretches between changes: their first place, the place after the last, their median."""
    ends = [0, *(change.at for change in found), len(values)]
    return [(begin, end, median(values[begin:end])) for begin, end in pairwise(ends)]


def _most_apart(values: Sequence[float]) -> list[tuple[tuple[int, ...], float]]:
    """The split, then the stretch, that differs most from the rest, each with its p."""
    import numpy

    cut = numpy.array(_cut_off(values))
    cut -= cut.mean()
    count = len(values)
    shuffles = _SHUFFLES if count <= _MANY else _FEW_SHUFFLES
    rows = numpy.tile(cut, (shuffles + 1, 1))
    rows[1:] = numpy.random.default_rng(_SEED).permuted(rows[1:], axis=1)
    sums = numpy.zeros((shuffles + 1, count + 1))
    numpy.cumsum(rows, axis=1, out=sums[:, 1:])

    sizes = numpy.arange(_SIDE, count - _SIDE + 1)
    splits = numpy.abs(sums[:, sizes]) / numpy.sqrt(sizes * (count - sizes) / count)
    at = int(splits[0].argmax()) + _SIDE

    best = numpy.zeros(shuffles + 1)
    stretch, widest = (0, count), 0.0
    for size in range(_SIDE, count - _SIDE + 1):
        apart = numpy.abs(sums[:, size:] - sums[:, :-size])
        apart /= math.sqrt(size * (count - size) / count)
        best = numpy.maximum(best, apart.max(axis=1))
        if best[0] > widest:
            begin = int(apart[0].argmax())
            stretch, widest = (begin, begin + size), float(best[0])
    # A stretch that begins or ends next to an end of the series has no other side there.
    begin = stretch[0] if stretch[0] >= _SIDE else 0
    end = stretch[1] if count - stretch[1] >= _SIDE else count
    return [((at,), _share(splits.max(axis=1))), ((begin, end), _share(best))]


def _share(statistics: Array) -> float:
    """How many of the shuffled values are as far apart as the first, which are not shuffled."""
    return float((statistics >= statistics[0] - 1e-9).mean())


def _cut_off(values: Sequence[float]) -> list[float]:
    """The values without what lies beyond _FAR deviations: of neighbours, as steps widen others."""
    steps = [abs(after - before) for before, after in pairwise(values)]
    deviation = 1.4826 * median(steps) / math.sqrt(2)
    if not deviation:  # most neighbours are equal, as rounded values are
        return list(values)
    middle = median(values)
    low, high = middle - _FAR * deviation, middle + _FAR * deviation
    return [min(max(value, low), high) for value in values]
