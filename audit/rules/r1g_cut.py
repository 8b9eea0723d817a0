"""R1g: times that were cut off, not rounded."""

from __future__ import annotations

from collections.abc import Iterator

from ..book import Book, Row
from ..detect import expected, rate_of, time_of
from ..finding import Finding
from ..reading import Reading
from ..rule import Rule


def check(book: Book) -> Iterator[Finding]:
    """One note a document: rows whose TFLOPs fit a time that was cut off only."""
    doubted = book.doubted()
    for document in book.documents:
        cut = [
            row
            for table in document.tables
            if table.detected and table.detected.certain
            for row in table.rows
            if row.origin == "row"
            and (row.uri, row.line) not in doubted
            and "averaged" not in row.flags
            and _only_cut(row, table.detected.reading)
        ]
        if cut:
            yield Finding(
                ("R1g",),
                "note",
                "medium",
                "step times that were cut off, not rounded",
                ", ".join(f"l.{row.line}" for row in cut)
                + ": the printed TFLOPs need a time above what rounding allows",
                tuple(row.at("step_time") for row in cut),
            )


def _only_cut(row: Row, reading: Reading) -> bool:
    if row.time is None or row.tflops is None:
        return False
    wanted = expected(row, reading)
    if wanted is None:
        return False
    # The work of a step, and the rate at the longest time that rounds to the printed one.
    slowest = wanted.low * time_of(row).high / row.time.rounded.high
    rate = rate_of(row, reading)
    return slowest > rate.high * (1 + 1e-9) and wanted.meets(rate)


RULE = Rule(
    "R1g",
    41,
    "Times that were cut off",
    "a time that was rounded gives the printed TFLOPs too",
    "printed digits; never more than a note",
    "note",
    check,
)
