"""R10b: boundaries and constraints that a document states, against its rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..book import Book, Document, Row
from ..finding import Finding, Place
from ..rule import Rule

_QUERY = """SELECT uri, line, kind, subject, raw FROM statements
    WHERE kind IN ('boundary', 'constraint') ORDER BY uri, line, subject"""
_SIMPLE = re.compile(
    r"(?P<log>log2\()?(?P<name>[A-Za-z]+)(?(log)\))\s*%\s*(?P<by>\d+)\s*=\s*0", re.I
)
_NAMES = {"dp": "dp", "tp": "tp", "pp": "pp", "gbs": "gbs", "mbs": "mbs", "nhidden": "hidden",
          "hidden": "hidden", "heads": "heads", "nheads": "heads", "nlayers": "layers",
          "layers": "layers", "nodes": "nodes"}  # fmt: skip


def check(book: Book) -> Iterator[Finding]:
    """A note for each boundary, and for each constraint that rows below it do not keep."""
    stated: dict[str, list[tuple[Any, ...]]] = {}
    for uri, *rest in book.warehouse.rows(_QUERY):
        stated.setdefault(uri, []).append(tuple(rest))
    for document in book.documents:
        for line, kind, subject, raw in stated.get(document.uri, []):
            if kind == "boundary":
                yield from _boundary(document, line, raw)
            elif found := _SIMPLE.fullmatch(subject or ""):
                yield from _constraint(document, line, subject, found)


def _boundary(document: Document, line: int, raw: str) -> Iterator[Finding]:
    before = [row for row in document.rows if row.measured and row.line < line]
    after = [row for row in document.rows if row.measured and row.line > line]
    if before and after:
        yield Finding(
            ("R10b",),
            "note",
            "medium",
            "numbers above and below this line do not compare",
            f"{len(before)} rows above (to l.{before[-1].line}), {len(after)} below (from "
            f"l.{after[0].line}); rankings label them",
            (Place(document.uri, line, text=raw.strip()),),
        )


def _constraint(
    document: Document, line: int, subject: str, found: re.Match[str]
) -> Iterator[Finding]:
    name = _NAMES.get(found["name"].lower())
    by = int(found["by"])
    if name is None or not by:
        return
    asked: list[Row] = [
        row
        for row in document.rows
        if row.line > line and row.origin == "row" and getattr(row, name)
    ]
    kept = {row.run_id: _keeps(getattr(row, name), by, bool(found["log"])) for row in asked}
    broken = [row for row in asked if not kept[row.run_id]]
    if broken and 4 * len(broken) <= len(asked):
        yield _note(
            "rows that do not keep a constraint of the document",
            f"l.{line} states {subject}; it does not hold on "
            + ", ".join(f"l.{row.line} ({getattr(row, name)})" for row in broken),
            tuple(row.at(name) for row in broken),
        )
    elif broken:  # what so many rows do not keep was not meant for them, or not meant so
        values = ", ".join(map(str, sorted({getattr(row, name) for row in broken})))
        yield _note(
            "a constraint that many rows do not keep",
            f"{subject} does not hold on {len(broken)} of the {len(asked)} rows below that print "
            f"it ({values}), such as l.{broken[0].line}",
            (Place(document.uri, line, text=subject),),
        )


def _keeps(value: int, by: int, log: bool) -> bool:
    if not log:
        return value % by == 0
    power = value.bit_length() - 1
    return value == 1 << power and power % by == 0


def _note(message: str, evidence: str, cells: tuple[Place, ...]) -> Finding:
    return Finding(("R10b",), "note", "low", message, evidence, cells)


RULE = Rule(
    "R10b",
    112,
    "Boundaries and constraints",
    "rows on either side of a boundary are told apart; rows below a constraint (`DP % 4 = 0`) "
    "keep it",
    "exact; where three quarters of the rows keep it the others are named, else the constraint; "
    "never more than a note",
    "note",
    check,
)
