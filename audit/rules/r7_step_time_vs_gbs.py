"""R7: step time against batch size, by the pipeline's bubble."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from statistics import median

from ..finding import Finding
from ..formula_fixes import number
from ..input import AuditInput, Row, Table
from ..rule import declared
from ..same_configuration import groups

RULE = declared(__name__)


# Reruns of one configuration differ by 4 to 6% (R6b): twice that is a warning, more an error.
_WARN, _ERROR = 1.10, 1.20
_OUTLIER = 3.0


@RULE.check
def check(data: AuditInput) -> Iterator[Finding]:
    """Rows that differ in GBS only and whose times do not scale as m + p - 1."""
    doubted = data.doubted()
    for table in data.tables:
        clear = [
            row
            for row in table.rows
            if row.time
            and row.time.value > 0
            and (row.uri, row.line) not in doubted
            and not row.invalid
        ]
        for rows in groups([row for row in clear if pipeline_slots(row)], "gbs", "grad_accum"):
            yield from _judge(table, sorted(rows, key=lambda row: row.gbs or 0))
        yield from _outliers(clear)


def pipeline_slots(row: Row) -> float | None:
    """m + (p - 1) / v, the length of a step in micro-batches; None for small m.

    GPipe and 1F1B leave p - 1 slots idle, v virtual stages a v-th of them (2104.04473, 2.2). Below
    m = 2p the fixed costs of a step (optimizer, first batch) hide the bubble.
    """
    dp, p = row.data_parallel, row.pp or 1
    if not (row.gbs and row.mbs and dp) or row.gbs % (row.mbs * dp):
        return None
    m = row.gbs // (row.mbs * dp)
    return m + (p - 1) / (row.vpp or 1) if m >= 2 * p else None


def _judge(table: Table, rows: Sequence[Row]) -> Iterator[Finding]:
    for first, second in itertools.pairwise(rows):
        one, two = pipeline_slots(first), pipeline_slots(second)
        if first.gbs == second.gbs or not (one and two and first.time and second.time):
            continue
        off = (first.time.value / one) / (second.time.value / two)
        if 1 / _WARN < off < _WARN:
            continue
        odd, other = (first, second) if _odd(table, first, second) else (second, first)
        assert odd.time is not None and other.time is not None
        wanted = other.time.value * (pipeline_slots(odd) or 1) / (pipeline_slots(other) or 1)
        is_error = not 1 / _ERROR < off < _ERROR and _slower(odd, wanted) and _steady(table, odd)
        yield RULE.finding(
            "scaling",
            (odd.at("step_time"), odd.at("tflops")) if odd.tflops else (odd.at("step_time"),),
            severity="error" if is_error else "warning",
            confidence="medium" if is_error else "low",
            odd=odd,
            other=other,
            wanted=wanted,
            percent=100 * (odd.time.value / wanted - 1),
            needed=number(wanted, odd.time.half),
        )


def _slower(row: Row, wanted: float) -> bool:
    """A step that is faster than the model is more likely a fixed cost than an error."""
    return bool(row.time and row.time.value > wanted)


def _steady(table: Table, odd: Row) -> bool:
    """Whether the other rows of the table are similar enough to call one odd."""
    speeds = [speed for row in table.rows if row is not odd and (speed := _speed(row))]
    mine = _speed(odd)
    return bool(mine and len(speeds) >= 3 and mine < 0.9 * median(speeds))


def _speed(row: Row) -> float | None:
    """Sequences a second and process."""
    if not (row.time and row.gbs and row.world):
        return None
    return row.gbs / row.time.value / row.world if row.time.value > 0 else None


def _odd(table: Table, first: Row, second: Row) -> bool:
    """Whether the first of two is further from the speed of the table."""
    one, two = _speed(first), _speed(second)
    if not (one and two):  # of rows without devices none may have a speed
        return False
    if "speed" not in table.counted:  # cached: pairs of rows are many
        table.counted["speed"] = median(speed for row in table.rows if (speed := _speed(row)))
    middle = table.counted["speed"]
    return bool(abs(one - middle) >= abs(two - middle))


def _outliers(rows: Sequence[Row]) -> Iterator[Finding]:
    """Rows several times slower than those that differ in micro batch or flags only."""
    for group in groups(rows, "mbs", "env", "grad_accum"):
        speeds = [(speed, row) for row in group if (speed := _speed(row))]
        if len(speeds) < 3:
            continue
        middle = median(speed for speed, _ in speeds)
        for speed, row in speeds:
            if speed < middle / _OUTLIER:
                yield RULE.finding(
                    "outliers",
                    (row.at("step_time"),),
                    seconds=row.time.value if row.time else 0,
                    slower=middle / speed,
                )
