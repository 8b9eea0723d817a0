"""R10b: boundaries and constraints that a document states, against its rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..finding import Finding, Place
from ..input import AuditInput, Document, Row
from ..rule import declared

RULE = declared(__name__)


_QUERY = """SELECT uri, line, kind, subject, raw FROM statements
    WHERE kind IN ('boundary', 'constraint') ORDER BY uri, line, subject"""
_SIMPLE = re.compile(
    r"(?P<log>log2\()?(?P<name>[A-Za-z]+)(?(log)\))\s*%\s*(?P<by>\d+)\s*=\s*0", re.I
)
_NAMES = {"dp": "dp", "tp": "tp", "pp": "pp", "gbs": "gbs", "mbs": "mbs", "nhidden": "hidden",
          "hidden": "hidden", "heads": "heads", "nheads": "heads", "nlayers": "layers",
          "layers": "layers", "nodes": "nodes"}  # fmt: skip


@RULE.check
def check(data: AuditInput) -> Iterator[Finding]:
    """A note for each boundary, and for each constraint that rows below it violate."""
    stated: dict[str, list[tuple[Any, ...]]] = {}
    for uri, *rest in data.warehouse.rows(_QUERY):
        stated.setdefault(uri, []).append(tuple(rest))
    for document in data.documents:
        for line, kind, subject, raw in stated.get(document.uri, []):
            if kind == "boundary":
                yield from _boundary(document, line, raw)
            elif match := _SIMPLE.fullmatch(subject or ""):
                yield from _constraint(document, line, subject, match)


def _boundary(document: Document, line: int, raw: str) -> Iterator[Finding]:
    before = [row for row in document.rows if row.measured and row.line < line]
    after = [row for row in document.rows if row.measured and row.line > line]
    if before and after:
        yield RULE.finding(
            "boundary",
            (Place(document.uri, line, text=raw.strip()),),
            number=len(before),
            last=before[-1].line,
            after_number=len(after),
            after=after,
        )


def _constraint(
    document: Document, line: int, subject: str, match: re.Match[str]
) -> Iterator[Finding]:
    name = _NAMES.get(match["name"].lower())
    by = int(match["by"])
    if name is None or not by:
        return
    applicable: list[Row] = [
        row
        for row in document.rows
        if row.line > line and row.origin == "row" and getattr(row, name)
    ]
    kept = {row.run_id: _keeps(getattr(row, name), by, bool(match["log"])) for row in applicable}
    broken = [row for row in applicable if not kept[row.run_id]]
    if broken and 4 * len(broken) <= len(applicable):
        yield RULE.finding(
            "rows",
            [row.at(name) for row in broken],
            line=line,
            subject=subject,
            items=[{"row": row, "value": getattr(row, name)} for row in broken],
        )
    elif broken:  # a constraint that so many rows violate was not meant for them, or was misread
        values = ", ".join(map(str, sorted({getattr(row, name) for row in broken})))
        yield RULE.finding(
            "constraint",
            (Place(document.uri, line, text=subject),),
            subject=subject,
            number=len(broken),
            total=len(applicable),
            values=values,
            row=broken[0],
        )


def _keeps(value: int, by: int, log: bool) -> bool:
    if not log:
        return value % by == 0
    power = value.bit_length() - 1
    return value == 1 << power and power % by == 0
