"""R7b and R8: speed-ups that more nodes or a faster clock do not explain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations

from ..alike import groups
from ..book import Book, Row
from ..finding import Finding
from ..rule import Rule


def check(book: Book) -> Iterator[Finding]:
    """Super-linear steps of a sweep over nodes, and clock pairs faster than their clocks."""
    doubted = book.doubted()
    for document in book.documents:
        clear = [
            [row for row in table.rows if _timed(row) and (row.uri, row.line) not in doubted]
            for table in document.tables
        ]
        steps = [
            pair
            for rows in clear
            for group in groups(rows, "nodes", "devices", "ranks", "dp", "grad_accum")
            for pair in _steps(group)
        ]
        if steps:
            odd = {row.run_id: row for pair in steps for row in pair}
            yield Finding(
                ("R7b",),
                "note",
                "medium",
                "faster than the number of nodes explains",
                "; ".join(_told(first, second) for first, second in steps),
                tuple(row.at("step_time") for row in odd.values()),
            )
        yield from _clocks(clear)


def _timed(row: Row) -> bool:
    return bool(row.time and row.time.value > 0 and row.world)


def _steps(rows: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    ordered = sorted(rows, key=lambda row: row.world or 0)
    for first, second in pairwise(ordered):
        if (
            not (first.world and second.world and first.time and second.time)
            or first.world == second.world
        ):
            continue
        most = first.time.either.low / second.time.either.high
        if most > second.world / first.world:
            yield first, second


def _told(first: Row, second: Row) -> str:
    assert first.time and second.time and first.world and second.world
    return (
        f"l.{first.line} to l.{second.line}: {first.time.value / second.time.value:.3f} times as "
        "fast on "
        f"{second.world / first.world:g} times the processes"
    )


def _clocks(tables: Sequence[Sequence[Row]]) -> Iterator[Finding]:
    told, odd = [], []
    alike = [group for rows in tables for group in groups(rows, "env")]
    clocked = [group for group in alike if any(_named(row) for row in group)]
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
    "the printed digits; noise is 2-4%, so never more than a note",
    "note",
    check,
)
