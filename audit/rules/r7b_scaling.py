"""R7b and R8: speed-ups that more nodes or a faster clock do not explain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations

from ..alike import groups
from ..book import Book, Row
from ..finding import Finding
from ..rule import Rule

_SUPER = 1.01


def check(book: Book) -> Iterator[Finding]:
    """Super-linear steps of a sweep over nodes, and clock pairs faster than their clocks."""
    doubted = book.doubted()
    for table in book.tables:
        clear = [
            row
            for row in table.rows
            if row.time and row.time.value > 0 and row.world and (row.uri, row.line) not in doubted
        ]
        found: list[str] = []
        odd: list[Row] = []
        for rows in groups(clear, "nodes", "devices", "ranks", "dp", "grad_accum"):
            for first, second in _steps(rows):
                found.append(_told(first, second))
                odd += [row for row in (first, second) if row not in odd]
        if found:
            yield Finding(
                ("R7b",),
                "note",
                "medium",
                "faster than the number of nodes explains",
                "; ".join(found),
                tuple(row.at("step_time") for row in odd),
            )
        yield from _clocks(clear)


def _steps(rows: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    ordered = sorted(rows, key=lambda row: row.world or 0)
    for first, second in pairwise(ordered):
        if (
            not (first.world and second.world and first.time and second.time)
            or first.world == second.world
        ):
            continue
        most = first.time.either.low / second.time.either.high
        if most > _SUPER * second.world / first.world:
            yield first, second


def _told(first: Row, second: Row) -> str:
    assert first.time and second.time and first.world and second.world
    return (
        f"l.{first.line} to l.{second.line}: {first.time.value / second.time.value:.3f} times as "
        "fast on "
        f"{second.world / first.world:g} times the processes"
    )


def _clocks(rows: Sequence[Row]) -> Iterator[Finding]:
    told, odd = [], []
    clocked = [group for group in groups(rows, "env") if any(_named(row) for row in group)]
    for slow, fast in (pair for group in clocked for pair in permutations(group, 2)):
        ratio = _clock(fast) / _clock(slow)
        if ratio <= 1 or _rest(slow) != _rest(fast) or not (slow.time and fast.time):
            continue
        if slow.time.either.low / fast.time.either.high > ratio:
            told.append(
                f"l.{slow.line} to l.{fast.line}: {slow.time.value / fast.time.value:.3f} times, "
                f"the clock only {ratio:.2f}"
            )
            odd.append(fast)
    if told:
        yield Finding(
            ("R8",),
            "note",
            "medium",
            "faster than the clock explains",
            "; ".join(told),
            tuple(row.at("step_time") for row in odd),
            "another setting changed too, or the slower run was slow: do not put it down to the "
            "clock",
        )


def _named(row: Row) -> bool:
    return any(flag.startswith("clock_ghz=") for flag in row.env)


def _rest(row: Row) -> tuple[str, ...]:
    return tuple(flag for flag in row.env if not flag.startswith("clock_ghz="))


def _clock(row: Row) -> float:
    """GHz; 2.0 where an A64FX's boost is not named."""
    said = [flag.partition("=")[2] for flag in row.env if flag.startswith("clock_ghz=")]
    return float(said[0]) if said and said[0] else 2.0


RULE = Rule(
    "R7b",
    91,
    "Scaling and clocks",
    "n times the nodes make a step at most n times as fast, a clock its ratio (R8)",
    "1% beyond the printed digits; noise is 2-4%, so never more than a note",
    "note",
    check,
)
