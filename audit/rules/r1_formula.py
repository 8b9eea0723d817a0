"""R1: which formula the TFLOPs of a document follow, and where that changes."""

from __future__ import annotations

from collections.abc import Iterator

from ..book import Book, Document, Table
from ..detect import testable
from ..finding import Finding, Place
from ..reading import Reading
from ..rule import Rule

_FROM_LABEL = ("F4", "F5")


def check(book: Book) -> Iterator[Finding]:
    """One note a document, and warnings where TFLOPs do not compare."""
    for document in book.documents:
        spans = _spans(document)
        if not spans:
            continue
        first = spans[0][1][0]
        told = "; ".join(f"{reading.long} ({_lines(tables)})" for reading, tables in spans)
        yield Finding(
            ("R1",),
            "note",
            "medium",
            "the formula that TFLOPs follow",
            told,
            (_head(first),),
        )
        if len({(one.formula, _factor(one, tables)) for one, tables in spans}) > 1:
            yield Finding(
                ("R1",),
                "warning",
                "high",
                "TFLOPs of two formulas in one document do not compare",
                told,
                tuple(_head(tables[0]) for _, tables in spans),
                "compare step times or model FLOP/s",
            )
        labels = [
            table for reading, tables in spans if reading.formula in _FROM_LABEL for table in tables
        ]
        if labels:
            yield Finding(
                ("R1",),
                "warning",
                "high",
                "TFLOPs are computed from the rounded size label",
                "without attention scores and exact logits, which are several percent",
                tuple(_head(table) for table in labels),
            )
        yield from _of_nodes(document)
        yield from _vocabulary(document, spans)


def _spans(document: Document) -> list[tuple[Reading, list[Table]]]:
    """The readings in order, each with its tables; those that hold for most rows only."""
    spans: dict[Reading, list[Table]] = {}
    for table in document.tables:
        found = table.detected
        if found and 3 * found.agree >= 2 * found.tested:
            spans.setdefault(found.reading, []).append(table)
    return list(spans.items())


def _factor(reading: Reading, tables: list[Table]) -> int | None:
    if reading.factor != 0:
        return reading.factor or (
            3 if reading.formula == "F5" else 4 if reading.formula == "F4" else None
        )
    recompute = {row.recompute for table in tables for row in table.rows if testable(row)}
    return {"full": 4, "none": 3}.get(recompute.pop() or "") if len(recompute) == 1 else 0


def _of_nodes(document: Document) -> Iterator[Finding]:
    rows = [
        row
        for table in document.tables
        if table.detected and table.detected.reading.divisor == "nodes"
        for row in table.rows
        if testable(row) and row.nodes and row.world and row.world > row.nodes
    ]
    if rows:
        yield Finding(
            ("R1",),
            "warning",
            "high",
            "TFLOPs are of a node, not of a process",
            f"{rows[0].world // rows[0].nodes if rows[0].world and rows[0].nodes else 0} processes "
            f"a node, l.{rows[0].line}; "
            "the value is the rounded one of a process times that",
            tuple(row.at("tflops") for row in rows),
        )


def _vocabulary(document: Document, spans: list[tuple[Reading, list[Table]]]) -> Iterator[Finding]:
    """A vocabulary that a line states and no table's TFLOPs follow: rounded, or of another run."""
    used = {one.vocab: tables for one, tables in spans if one.vocab}
    used |= {row.vocab: [table] for table in document.tables for row in table.rows if row.vocab}
    stated = sorted(
        {
            (line, said)
            for name, said, line in document.stated
            if name in ("vocab", "vocab_label") and not (said.isdigit() and int(said) in used)
        }
    )
    if stated and used:
        others = " and ".join(f"{vocab} ({_lines(tables)})" for vocab, tables in used.items())
        yield Finding(
            ("R1",),
            "note",
            "medium",
            "the stated vocabulary is not the one that TFLOPs follow",
            ", ".join(f"l.{line} says {said}" for line, said in stated)
            + f"; TFLOPs fit {others}, padded: the text rounds, or is of another run",
            tuple(Place(document.uri, line) for line, _ in stated),
        )


def _head(table: Table) -> Place:
    return Place(table.uri, table.header_line)


def _lines(tables: list[Table]) -> str:
    return ", ".join(f"l.{table.header_line}" for table in tables[:6]) + (
        " ..." if len(tables) > 6 else ""
    )


RULE = Rule(
    "R1",
    39,
    "Formula of a document",
    "most rows of a table fit one formula, factor and divisor",
    "an exact fit of most rows; reported as a note, and as a warning where a document has several",
    "warning",
    check,
)
