"""R3: aggregate PFLOP/s against TFLOPs and nodes."""

from __future__ import annotations

from collections.abc import Iterator

from ..book import Book, Row, Table
from ..finding import Finding
from ..interval import Interval
from ..repair import number
from ..rule import Rule

_DIVISORS = (1024.0, 1000.0)


def check(book: Book) -> Iterator[Finding]:
    """Aggregates that are not TFLOPs x units / 1024 or / 1000, and those left blank."""
    doubted = book.doubted()
    for document in book.documents:
        cut: list[Row] = []
        blank: list[Row] = []
        for table in document.tables:
            if "agg_pflops" not in table.columns:
                continue
            filled = [row for row in table.rows if "aggregate_pflops" in row.printed and row.tflops]
            good = [row for row in filled if _right(row)]
            cut += [row for row in good if not _right(row, cut_off=False)]
            blank += _blank(table, doubted)
            if len(good) >= 2 and 2 * len(good) >= len(filled):
                for row in filled:
                    if row not in good and not row.unshifted:
                        yield _wrong(row, (row.uri, row.line) in doubted)
        if cut:
            yield _cut_off(cut)
        if blank:
            said = ", ".join(f"l.{row.line} {_sum(row):.3g}" for row in blank)
            yield Finding(
                ("R3",),
                "warning",
                "high",
                "aggregates are blank though TFLOPs are not",
                "TFLOPs x nodes / 1024 gives them",
                tuple(row.at("agg_pflops") for row in blank),
                said,
            )


def _right(row: Row, *, cut_off: bool = True) -> bool:
    """Whether TFLOPs that print as shown, or exactly those, give the aggregate."""
    printed, rate = row.printed["aggregate_pflops"], row.tflops
    assert rate is not None
    allowed = printed.either if cut_off else printed.rounded
    exact = Interval(rate.value, rate.value)
    return any(
        allowed.meets((rate.rounded if cut_off else exact) * units / divisor)
        for units in (row.nodes, row.world)
        if units
        for divisor in _DIVISORS
    )


def _sum(row: Row) -> float:
    assert row.tflops is not None
    return row.tflops.value * (row.nodes or row.world or 0) / _DIVISORS[0]


def _wrong(row: Row, known: bool) -> Finding:
    printed = row.printed["aggregate_pflops"]
    assert row.tflops is not None
    return Finding(
        ("R3",),
        "error",
        "medium" if known else "high",
        "aggregate and TFLOPs contradict each other as printed",
        f"{row.tflops.value:g} TFLOPs x {row.nodes or row.world} / 1024 = {_sum(row):.4g}, printed "
        f"{printed.raw or printed.value}",
        (row.at("agg_pflops"), row.at("tflops")),
        f"Aggr. {number(_sum(row), printed.half)}, if the TFLOPs are right",
    )


def _cut_off(rows: list[Row]) -> Finding:
    lines = ", ".join(f"l.{row.line} {_sum(row):.4g}" for row in rows)
    return Finding(
        ("R3",),
        "note",
        "high",
        "aggregates are cut off, not rounded",
        f"TFLOPs x nodes / 1024: {lines}",
        tuple(row.at("agg_pflops") for row in rows),
    )


def _blank(table: Table, doubted: set[tuple[str, int]]) -> list[Row]:
    return [
        row
        for row in table.rows
        if row.tflops
        and "aggregate_pflops" not in row.printed
        and row.nodes
        and not row.unshifted
        and (row.uri, row.line) not in doubted
    ]


RULE = Rule(
    "R3",
    70,
    "Aggregate PFLOP/s",
    "the aggregate is TFLOPs x nodes (or processes) / 1024 or / 1000",
    "printed digits, rounded or cut off; where most rows of the table hold to it, another is an "
    "error; a blank "
    "that can be computed is a warning",
    "error",
    check,
)
