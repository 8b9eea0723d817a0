"""R3: aggregate PFLOP/s against TFLOPs and nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..book import Book, Row, Table
from ..finding import Finding
from ..mend import mends, suggestion
from ..repair import number
from ..rule import Rule

_DIVISORS = (1024.0, 1000.0)


@dataclass(frozen=True, slots=True)
class _Sum:
    """What a table divides the sum of its TFLOPs by, 1024 or 1000."""

    divisor: float

    def of(self, row: Row) -> float:
        """The aggregate in PFLOP/s that a row's TFLOPs give."""
        assert row.tflops is not None
        return row.tflops.value * (row.nodes or row.world or 0) / self.divisor

    def is_right(self, row: Row) -> bool:
        """Whether TFLOPs that print as shown give the aggregate, rounded or cut off."""
        printed, rate = row.printed["aggregate_pflops"], row.tflops
        assert rate is not None
        return any(
            printed.either.meets(rate.rounded * units / self.divisor)
            for units in (row.nodes, row.world)
            if units
        )

    def is_cut(self, row: Row) -> bool:
        """Whether it is what the TFLOPs give with its last digits cut off, and not rounded."""
        printed, exact = row.printed["aggregate_pflops"], self.of(row)
        return printed.value + printed.half < exact < printed.value + 2 * printed.half


def check(book: Book) -> Iterator[Finding]:
    """Aggregates that are not TFLOPs x units / 1024 or / 1000, and those left blank."""
    doubted = book.doubted()
    for document in book.documents:
        cut: list[tuple[Row, float]] = []
        blank: list[tuple[Row, float]] = []
        divisors: set[float] = set()
        for table in document.tables:
            if "agg_pflops" not in table.columns:
                continue
            filled = [row for row in table.rows if "aggregate_pflops" in row.printed and row.tflops]
            total = max(map(_Sum, _DIVISORS), key=lambda one: sum(map(one.is_right, filled)))
            divisors.add(total.divisor)
            good = [row for row in filled if any(_Sum(one).is_right(row) for one in _DIVISORS)]
            cut += [(row, total.of(row)) for row in good if total.is_cut(row)]
            blank += [(row, total.of(row)) for row in _blank(table, doubted)]
            right = set(map(id, good))
            if len(good) >= 2 and 2 * len(good) >= len(filled):
                for row in filled:
                    if id(row) not in right and not row.unshifted:
                        yield _wrong(table, row, total, (row.uri, row.line) in doubted)
        by = " or ".join(f"{divisor:g}" for divisor in sorted(divisors, reverse=True))
        if cut:
            yield _cut_off(cut, by)
        if blank:
            said = ", ".join(f"l.{row.line} {value:.3g}" for row, value in blank)
            yield Finding(
                ("R3",),
                "warning",
                "high",
                "aggregates are blank though TFLOPs are not",
                f"TFLOPs x nodes / {by} gives them",
                tuple(row.at("agg_pflops") for row, _ in blank),
                said,
            )


def _wrong(table: Table, row: Row, total: _Sum, known: bool) -> Finding:
    printed = row.printed["aggregate_pflops"]
    assert row.tflops is not None
    found = mends(table, row)
    names = ("agg_pflops", "tflops", *(one.name for one in found))
    return Finding(
        ("R3",),
        "error",
        "medium" if known else "high",
        "aggregate and TFLOPs contradict each other as printed",
        f"{row.tflops.value:g} TFLOPs x {row.nodes or row.world} / {total.divisor:g} = "
        f"{total.of(row):.4g}, printed {printed.raw or printed.value}",
        tuple(row.at(name) for name in dict.fromkeys(names)),
        suggestion(found)
        or f"Aggr. {number(total.of(row), printed.half)}, if the TFLOPs are right",
    )


def _cut_off(rows: list[tuple[Row, float]], by: str) -> Finding:
    lines = ", ".join(f"l.{row.line} {value:.4g}" for row, value in rows)
    return Finding(
        ("R3",),
        "note",
        "high",
        "aggregates are cut off, not rounded",
        f"TFLOPs x nodes / {by}: {lines}",
        tuple(row.at("agg_pflops") for row, _ in rows),
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
