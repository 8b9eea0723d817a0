"""R5b and R5c: memory against the model and the device."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from ..finding import Finding
from ..input import AuditInput, Row
from ..memory import capacity, gigabytes, ratio
from ..rule import declared

RULE = declared(__name__)


_SIZED = re.compile(r"(?<!\d)\d+\s?GB", re.I)
_UNUSUAL = 1.35
_ABSURD = 20.0
_FEWEST = 3  # rows beyond the device that tell what a column is
_ROUNDING = 1.02  # a GB of 2**30 bytes, and memory reserved by the driver


@RULE.check
def check(data: AuditInput) -> Iterator[Finding]:
    """Rows with more memory than the device has, or far from that of similar rows."""
    doubted, from_afar = data.doubted(), _devices_from_afar(data)
    for document in data.documents:
        for table in document.tables:
            beyond = _beyond(table.rows)
            if beyond:
                yield RULE.finding(
                    "column",
                    tuple(row.at("mem") for row in beyond),
                    count=len(beyond),
                    first=beyond[0],
                )
                continue
            alike = _similar_rows(table.rows)
            units = _units(table.rows)
            for row in table.rows:
                have = gigabytes(row)
                if not have or row.invalid:
                    continue
                limit = capacity(row)
                if limit and have > limit * _ROUNDING:
                    # A device may exist in sizes that its bare name does not distinguish, and the
                    # one that a document names elsewhere may not be that of the row.
                    named = _SIZED.search(row.device or "") and row.run_id not in from_afar
                    yield RULE.finding(
                        "capacity" if named else "usual_capacity",
                        (row.at("mem"),),
                        raw=_raw(row), have=have, limit=limit, row=row,
                    )  # fmt: skip
                elif row.memory and units and row.memory.unit != units[0] and far(have, units[1]):
                    yield RULE.finding(
                        "unit", (row.at("mem"),), raw=_raw(row), units=units, row=row
                    )
                elif (row.uri, row.line) not in doubted:
                    yield from _unusual(row, _like(row, alike))


def _devices_from_afar(data: AuditInput) -> set[str]:
    """The runs whose device is stated for the whole document alone."""
    query = "SELECT run_id FROM facts WHERE field = 'device' AND scope = 'document'"
    return {run_id for (run_id,) in data.warehouse.rows(query)}


def _beyond(rows: Sequence[Row]) -> list[Row]:
    """The rows with more memory than the device has, if they are most: the column is another."""
    limited = [
        (row, have, limit)
        for row in rows
        if not row.invalid and (have := gigabytes(row)) and (limit := capacity(row))
    ]
    found = [row for row, have, limit in limited if have > limit * _ROUNDING]
    return found if len(found) >= _FEWEST and 2 * len(found) > len(limited) else []


Like = dict[tuple[object, ...], list[tuple[str, float]]]


def far(value: float, middle: float) -> bool:
    """Whether a value is of another order of magnitude than a column."""
    return not 1 / _ABSURD < value / middle < _ABSURD


def _units(rows: Sequence[Row]) -> tuple[str, float] | None:
    """The unit of most rows and their median in GB."""
    count = Counter(row.memory.unit for row in rows if row.memory)
    if sum(count.values()) < 3 or len(count) < 2:
        return None
    unit, number = count.most_common(1)[0]
    values = [
        one for row in rows if row.memory and row.memory.unit == unit and (one := gigabytes(row))
    ]
    return (unit, median(values)) if 2 * number > sum(count.values()) and values else None


def _similar_rows(rows: Sequence[Row]) -> Like:
    like: Like = {}
    for row in rows:
        if one := ratio(row):
            like.setdefault(_key(row), []).append((row.run_id, one))
    return like


def _key(row: Row) -> tuple[object, ...]:
    return (row.params_b, row.layers, row.dp, row.tp, row.pp, row.zero_stage)


def _like(row: Row, alike: Like) -> float | None:
    """The usual ratio of the rows with the same DP, TP and PP, if there are three others."""
    found = [one for run_id, one in alike.get(_key(row), ()) if run_id != row.run_id]
    return median(found) if len(found) >= 3 else None


def _unusual(row: Row, middle: float | None) -> Iterator[Finding]:
    found = ratio(row)
    off = max(found / middle, middle / found) if found and middle else 1.0
    if found and off > _UNUSUAL:
        yield RULE.finding(
            "unusual",
            (row.at("mem"),),
            severity="error" if off > _ABSURD else "warning",
            confidence="high" if off > _ABSURD else "low",
            raw=_raw(row),
            found=found,
            middle=middle,
        )


def _raw(row: Row) -> str:
    return row.memory.raw if row.memory else ""
