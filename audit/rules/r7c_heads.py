"""R7c: rows that differ in the number of heads only, which does not change the work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from ..alike import groups
from ..book import Book, Row
from ..finding import Finding
from ..rule import Rule

_SLOW, _APART = 1.10, 0.05


def check(book: Book) -> Iterator[Finding]:
    """Slow counts of heads, and memory that differs between them."""
    doubted = book.doubted()
    for document in book.documents:
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
    return bool(row.heads and not row.misfits and (row.uri, row.line) not in doubted)


def _slower(rows: Sequence[Row]) -> Iterator[tuple[Row, float]]:
    timed = [(row, row.time.value) for row in rows if row.time and row.time.value > 0]
    if len(timed) >= 3:
        usual = median(time for _, time in timed)
        yield from ((row, time / usual) for row, time in timed if time > _SLOW * usual)


def _slow(odd: Sequence[tuple[Row, float]]) -> Iterator[Finding]:
    if odd:
        yield Finding(
            ("R7c",),
            "note",
            "medium",
            "slow for the number of heads",
            "; ".join(
                f"l.{row.line} +{100 * (ratio - 1):.0f}%, {_shape(row)}" for row, ratio in odd
            )
            + ": kernels have sizes that they are fast at, and the work is the same",
            tuple(row.at("step_time") for row, _ in odd),
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
        yield Finding(
            ("R7c",),
            "note",
            "low",
            "fewer heads take more memory",
            f"l.{most.line} {high:g} with {most.heads} heads, l.{least.line} {low:g} with "
            f"{least.heads}; attention scores take more with every head",
            (most.at("mem"), least.at("mem")),
        )


RULE = Rule(
    "R7c",
    92,
    "Number of heads",
    "rows that differ in the number of heads only are alike in time and memory",
    "three rows, 10% above their median; memory 5% apart the wrong way round; never more than a "
    "note",
    "note",
    check,
)
