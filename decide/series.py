"""Runs as series over time: of one configuration, by date, commit or version."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from ..project.history import committed
from ..schema.errors import BenchError
from ..schema.warehouse import Row, Warehouse
from .jobs import identity, per_job, unstated
from .ran import Ran
from .rows import configuration

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
    warehouse: Warehouse, rows: Sequence[Row], times: Mapping[str, Ran], by: str
) -> tuple[str, list[tuple[AxisPosition, Row]]]:
    """What runs are placed by, and those that have a place."""
    if by == "date":
        dated = [(times[row["run"]].at, row) for row in rows if row["run"] in times]
        return by, [(AxisPosition(f"{at:%Y-%m-%d}", (at.date(),)), row) for at, row in dated if at]
    name = _version_name(rows, by)
    texts = {row["versions"].get(name) for row in rows} - {None, "unknown"}
    first: dict[str, datetime] = {}
    for row in rows:
        text, at = row["versions"].get(name), times.get(row["run"], Ran()).at
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
