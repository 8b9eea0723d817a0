"""R10c: rows and cells that hold no result, and results that stand elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..book import Book, Document, Row
from ..finding import Finding, Place
from ..rule import Rule

# A word that is neither a failure nor the usual sign for nothing, where a measurement belongs.
_STAND_INS = """SELECT t.uri, c.line, c.name, trim(c.raw)
    FROM cells c JOIN tables t USING (table_id)
    WHERE c.value IS NULL AND c.kind = 'missing'
      AND c.name IN ('step_time', 'tflops', 'mem', 'agg_pflops', 'tokens_per_s', 'samples_per_s',
                     'tokens_per_s_per_device', 'mfu', 'hfu')
      AND regexp_matches(c.raw, '^\\pL') AND NOT regexp_full_match(trim(c.raw), '(?i)n\\.?/?a\\.?')
    ORDER BY t.uri, c.line, c.column_number"""
_SILENT = """SELECT uri, line, status_reason FROM runs
    WHERE origin = 'row' AND status = 'not_run' AND kind = 'measured'
      AND status_reason = 'no measured cell' ORDER BY uri, line"""
_UNFILLED = """SELECT uri, line, raw FROM statements
    WHERE kind = 'formula' AND regexp_matches(raw, '\\$\\w+\\s*=\\s*;') ORDER BY uri, line"""
_SHOWN = 12


def check(book: Book) -> Iterator[Finding]:
    """Notes on what a document leaves open: one of each kind."""
    words, silent, unfilled = (_by_uri(book, one) for one in (_STAND_INS, _SILENT, _UNFILLED))
    for document in book.documents:
        if any(row.measured for row in document.rows):
            yield from _silent(document, {one[1] for one in silent.get(document.uri, [])})
            yield from _planned(document)
        yield from _words(document, words.get(document.uri, []))
        yield from _in_notes(document)
        for _, line, raw in unfilled.get(document.uri, []):
            place = Place(document.uri, line, text=raw.strip())
            yield _note("a value in a formula is not filled in", f"l.{line}", (place,), "high")


def _by_uri(book: Book, query: str) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for row in book.warehouse.rows(query):
        found.setdefault(row[0], []).append(row)
    return found


def _note(
    message: str, evidence: str, cells: tuple[Place, ...], confidence: str = "medium"
) -> Finding:
    return Finding(("R10c",), "note", confidence, message, evidence, cells)


def _silent(document: Document, lines: set[int]) -> Iterator[Finding]:
    rows = [row for row in document.rows if row.line in lines and not row.misfits]
    if rows:
        yield _note(
            "rows without a result, and no word why",
            f"{_told(rows)}: not run, failed or lost",
            tuple(row.at() for row in rows),
        )


def _planned(document: Document) -> Iterator[Finding]:
    rows = [row for row in document.rows if row.kind == "planned"]
    if rows:
        yield _note(
            "rows that are a plan, not a measurement",
            f"{_told(rows)}: their tables have no column of results",
            tuple(row.at() for row in rows),
            "high",
        )


def _words(document: Document, found: Sequence[tuple[Any, ...]]) -> Iterator[Finding]:
    if found:
        texts: dict[str, list[int]] = {}
        for _, line, _, text in found:
            texts.setdefault(text, []).append(line)
        yield _note(
            "words where a number belongs, read as no value",
            "; ".join(f"{text!r} in {_lines(lines)}" for text, lines in texts.items()),
            tuple(Place(document.uri, line, name) for _, line, name, _ in found),
            "high",
        )


def _in_notes(document: Document) -> Iterator[Finding]:
    """Memory that only a remark prints: the unit stands there, the column does not."""
    rows = [
        row
        for table in document.tables
        if "mem" not in table.columns and "notes" in table.columns
        for row in table.rows
        if row.memory and row.origin == "row"
    ]
    if rows:
        yield _note(
            "memory stands among the notes",
            f"{_told(rows)}: read as the memory of a device",
            tuple(row.at("notes") for row in rows),
        )


def _told(rows: Sequence[Row]) -> str:
    return _lines([row.line for row in rows])


def _lines(lines: Sequence[int]) -> str:
    several = list(dict.fromkeys(lines))
    more = f" and {len(several) - _SHOWN} more" if len(several) > _SHOWN else ""
    return ", ".join(f"l.{line}" for line in several[:_SHOWN]) + more


RULE = Rule(
    "R10c",
    113,
    "Gaps",
    "rows that are measured print a result or a reason; a measurement is a number in a column of "
    "its own",
    "one finding a document and cause; never more than a note",
    "note",
    check,
)
