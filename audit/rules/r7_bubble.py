"""R7: step time against batch size, by the pipeline's bubble."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from statistics import median

from ..alike import groups
from ..book import Book, Row, Table
from ..finding import Finding
from ..repair import number
from ..rule import Rule

_WARN, _GRAVE = 1.10, 1.20
_OUTLIER = 3.0


def check(book: Book) -> Iterator[Finding]:
    """Rows that differ in GBS only and whose times do not scale as m + p - 1."""
    doubted = book.doubted()
    for table in book.tables:
        clear = [
            row
            for row in table.rows
            if row.time
            and row.time.value > 0
            and (row.uri, row.line) not in doubted
            and not row.misfits
        ]
        for rows in groups([row for row in clear if _slots(row)], "gbs", "grad_accum"):
            yield from _judge(table, sorted(rows, key=lambda row: row.gbs or 0))
        yield from _outliers(clear)


def _slots(row: Row) -> float | None:
    """m + p - 1, the micro-batches' times that a step takes; None where m is small."""
    dp, p = row.data_parallel, row.pp or 1
    if not (row.gbs and row.mbs and dp) or row.gbs % (row.mbs * dp):
        return None
    m = row.gbs // (row.mbs * dp)
    return m + (p - 1) / (row.vpp or 1) if m >= 2 * p else None


def _judge(table: Table, rows: Sequence[Row]) -> Iterator[Finding]:
    for first, second in itertools.pairwise(rows):
        one, two = _slots(first), _slots(second)
        if first.gbs == second.gbs or not (one and two and first.time and second.time):
            continue
        off = (first.time.value / one) / (second.time.value / two)
        if 1 / _WARN < off < _WARN:
            continue
        odd, other = (first, second) if _odd(table, first, second) else (second, first)
        assert odd.time is not None and other.time is not None
        wanted = other.time.value * (_slots(odd) or 1) / (_slots(other) or 1)
        grave = not 1 / _GRAVE < off < _GRAVE and _slower(odd, wanted) and _steady(table, odd)
        yield Finding(
            ("R7",),
            "error" if grave else "warning",
            "medium" if grave else "low",
            "step time does not scale with the batch",
            f"GBS {odd.gbs} takes {odd.time.value:g} s, GBS {other.gbs} takes {other.time.value:g} "
            f"s (l.{other.line}); "
            f"by the pipeline's m + p - 1 it would be about {wanted:.1f} s "
            f"({100 * (odd.time.value / wanted - 1):+.1f}%)",
            (odd.at("step_time"), odd.at("tflops")) if odd.tflops else (odd.at("step_time"),),
            f"none certain: about Sec/it {number(wanted, odd.time.half)}; keep it out of "
            "comparisons by batch size",
        )


def _slower(row: Row, wanted: float) -> bool:
    """A step that is faster than the model is more likely a fixed cost than an error."""
    return bool(row.time and row.time.value > wanted)


def _steady(table: Table, odd: Row) -> bool:
    """Whether the other rows of the table are alike enough to call one odd."""
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
    speeds = [speed for row in table.rows if (speed := _speed(row))]
    middle, one, two = median(speeds), _speed(first), _speed(second)
    return bool(one and two and abs(one - middle) >= abs(two - middle))


def _outliers(rows: Sequence[Row]) -> Iterator[Finding]:
    """Rows several times slower than those that differ in micro batch or flags only."""
    for group in groups(rows, "mbs", "env", "grad_accum"):
        speeds = [(speed, row) for row in group if (speed := _speed(row))]
        if len(speeds) < 3:
            continue
        middle = median(speed for speed, _ in speeds)
        for speed, row in speeds:
            if speed < middle / _OUTLIER:
                yield Finding(
                    ("R7",),
                    "warning",
                    "medium",
                    "far slower than rows like it",
                    f"{row.time.value if row.time else 0:g} s: {middle / speed:.1f} times the time "
                    "that rows with "
                    "other micro batch or flags take",
                    (row.at("step_time"),),
                )


RULE = Rule(
    "R7",
    90,
    "Step time against batch size",
    "of rows that differ in GBS only, times go as m + p - 1 micro-batch slots",
    "10% off is a warning; an error where a row is 20% slower than that and 10% slower a sequence "
    "than the median "
    "of its table; never below m = 2p. Three times slower than rows with other MBS or flags is a "
    "warning",
    "error",
    check,
)
