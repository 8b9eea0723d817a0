"""R7c: rows that differ in the number of heads only, which does not change the work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from ..finding import Finding
from ..input import AuditInput, Row
from ..rule import declared
from ..same_configuration import groups

RULE = declared(__name__)


_SLOW, _APART = 1.10, 0.05


@RULE.check
def check(data: AuditInput) -> Iterator[Finding]:
    """Slow head counts, and memory that differs between them."""
    doubted = data.doubted()
    for document in data.documents:
        alike = [
            rows
            for table in document.tables
            if "heads" in table.columns
            for rows in groups([row for row in table.rows if _clear(row, doubted)], "heads")
        ]
        yield from _slow([one for rows in alike for one in _slower(rows)])
        for rows in alike:
            yield from _memory(rows)


def _clear(row: Row, doubted: set[tuple[str, int]]) -> bool:
    return bool(row.heads and not row.invalid and (row.uri, row.line) not in doubted)


def _slower(rows: Sequence[Row]) -> Iterator[tuple[Row, float]]:
    timed = [(row, row.time.value) for row in rows if row.time and row.time.value > 0]
    if len(timed) >= 3:
        usual = median(time for _, time in timed)
        yield from ((row, time / usual) for row, time in timed if time > _SLOW * usual)


def _slow(odd: Sequence[tuple[Row, float]]) -> Iterator[Finding]:
    if odd:
        yield RULE.finding(
            "slow",
            tuple(row.at("step_time") for row, _ in odd),
            items=[
                {"row": row, "percent": 100 * (ratio - 1), "shape": _shape(row)}
                for row, ratio in odd
            ],
        )


def _shape(row: Row) -> str:
    each = f"{(row.heads or 0) / (row.tp or 1):g} heads a TP rank"
    size = (row.hidden or 0) / (row.heads or 1)
    return f"{each} of size {size:g}" if row.hidden else each


def _memory(rows: Sequence[Row]) -> Iterator[Finding]:
    known = [(row, row.memory.value) for row in rows if row.memory]
    if len(known) < 2 or len({row.memory.unit for row, _ in known if row.memory}) > 1:
        return
    known.sort(key=lambda one: one[1])
    (least, low), (most, high) = known[0], known[-1]
    slack = sum(row.memory.half for row in (least, most) if row.memory)
    if high - low - slack > _APART * high and (most.heads or 0) < (least.heads or 0):
        yield RULE.finding(
            "memory", (most.at("mem"), least.at("mem")), most=most, high=high, least=least, low=low
        )
