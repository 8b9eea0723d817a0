"""R10: units, marks and context that do not say what they seem to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..book import Book, Document, Row
from ..detect import fits
from ..finding import Finding, Place
from ..rule import Rule

_CLOCKS = """SELECT t.uri, c.line, any_value(c.name), any_value(c.raw)
    FROM cells c JOIN tables t USING (table_id)
    WHERE regexp_matches(c.raw, '(?i)(^|[^\\d.])\\d(\\.\\d+)?\\s?hz\\b')
    GROUP BY t.uri, c.line ORDER BY t.uri, c.line"""
_MARKS = """SELECT t.uri, c.line, c.name, c.marks FROM cells c JOIN tables t USING (table_id)
    WHERE t.number IS NOT NULL AND len(c.marks) > 0 ORDER BY t.uri, c.line, c.column_number"""
_LEGENDS = "SELECT uri, subject FROM statements WHERE kind = 'legend'"
_RATES = ("tokens_per_s", "tokens_per_s_per_device", "samples_per_s", "mfu")


def check(book: Book) -> Iterator[Finding]:
    """Clocks in Hz, marks without a legend, columns that contradict the lines above them."""
    clocks, marks, legends = (
        _grouped(book, _CLOCKS),
        _grouped(book, _MARKS),
        _grouped(book, _LEGENDS),
    )
    for document in book.documents:
        yield from _clocks(document, clocks.get(document.uri, []))
        explained = {mark for _, mark in legends.get(document.uri, [])}
        yield from _marks(document, marks.get(document.uri, []), explained)
        yield from _layers(document)
        yield from _unverifiable(document)


def _grouped(book: Book, query: str) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for row in book.warehouse.rows(query):
        found.setdefault(row[0], []).append(row)
    return found


def _clocks(document: Document, found: Sequence[tuple[Any, ...]]) -> Iterator[Finding]:
    if found:
        said = re.search(r"[\d.]+\s?[Hh]z", found[0][3])
        text = said[0] if said else ""
        yield Finding(
            ("R10",),
            "warning",
            "high",
            "a clock in Hz",
            f"{text!r} in {len(found)} rows; no processor is that slow",
            tuple(Place(document.uri, line, name or "") for _, line, name, _ in found),
            re.sub("(?i)hz", "GHz", text),
        )


def _marks(
    document: Document, found: Sequence[tuple[Any, ...]], explained: set[str]
) -> Iterator[Finding]:
    lost: dict[str, list[Place]] = {}
    for _, line, name, marks in found:
        for mark in marks:
            if mark not in explained and set(mark) != {"?"}:
                lost.setdefault(mark, []).append(Place(document.uri, line, name or ""))
    for mark, places in lost.items():
        yield Finding(
            ("R10",),
            "warning",
            "high",
            f"the mark {mark} has no legend",
            f"on {len(places)} cells, such as l.{places[0].line}",
            tuple(places),
        )


def _layers(document: Document) -> Iterator[Finding]:
    """A column that differs from the line right above its table."""
    for table in document.tables:
        for name in ("layers", "hidden", "heads"):
            above = [
                (value, line)
                for field, value, line in document.stated
                if field == name and table.header_line - 6 <= line < table.header_line
            ]
            if name not in table.columns or not above or not above[-1][0].isdigit():
                continue
            value, line = above[-1]
            off = [row for row in table.rows if getattr(row, name) not in (None, int(value))]
            if off and len(off) < len(table.rows):
                reading = table.detected.reading if table.detected else None
                borne = reading and any(fits(row, reading) for row in off)
                yield Finding(
                    ("R10",),
                    "warning",
                    "medium",
                    f"the column differs from the line above the table in {name}",
                    f"l.{line} says {value}" + ("; TFLOPs agree with the column" if borne else ""),
                    tuple(row.at(name) for row in off),
                )


def _unverifiable(document: Document) -> Iterator[Finding]:
    rows: list[Row] = [
        row
        for row in document.rows
        if row.origin == "row"
        and row.tflops
        and not row.time
        and row.tp is None
        and not any(name in row.printed for name in _RATES)
    ]
    if len(rows) >= 2:
        yield Finding(
            ("R10",),
            "warning",
            "medium",
            "TFLOPs without time and topology cannot be checked",
            f"{len(rows)} rows from l.{rows[0].line} on",
            tuple(row.at("tflops") for row in rows),
        )


RULE = Rule(
    "R10",
    110,
    "Context, units and marks",
    "clocks are in GHz, marks have legends, columns agree with the lines above their table, "
    "TFLOPs have a time",
    "one finding a document and cause; TFLOPs decide between column and heading (R1)",
    "warning",
    check,
)
