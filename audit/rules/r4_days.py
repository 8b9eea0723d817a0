"""R4: days to train against steps and step time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from ..book import Book, Document
from ..finding import Finding, Place
from ..load import half_of
from ..rule import Rule

_QUERY = """SELECT uri, line, kind, subject, value, detail, raw FROM statements
    WHERE kind IN ('plan', 'days') ORDER BY uri, line"""


def check(book: Book) -> Iterator[Finding]:
    """Stated days that are not steps x step time / 86,400."""
    wanted = {document.uri: document for document in book.documents}
    for uri, found in groupby(book.warehouse.rows(_QUERY), key=lambda row: row[0]):
        steps: float | None = None
        off: list[tuple[Any, float]] = []
        for _, line, kind, subject, value, detail, raw in found:
            if kind == "plan" and subject == "steps":
                steps = value
            elif kind == "days" and steps and value is not None:
                days = steps * float(dict(detail)["step_time_s"]) / 86400
                if abs(days - value) > half_of(value) * (1 + 1e-9):
                    off.append(((line, value, raw), days))
        if off and uri in wanted:
            yield _finding(wanted[uri], steps or 0, off)


def _finding(document: Document, steps: float, off: list[tuple[Any, float]]) -> Finding:
    said = "; ".join(f"l.{line}: {days:.4g}, printed {value:g}" for (line, value, _), days in off)
    return Finding(
        ("R4",),
        "warning",
        "high",
        "days are not steps x step time / 86,400 to the printed digits",
        f"{steps:,.0f} steps give {said}",
        tuple(Place(document.uri, line, text=f"{value:g}") for (line, value, _), _ in off),
        ", ".join(f"l.{line} {days:.2f}" for (line, _, _), days in off),
    )


RULE = Rule(
    "R4",
    71,
    "Days to train",
    "stated days are steps x step time / 86,400",
    "printed digits, rounded; a statement outside rows, so a warning",
    "warning",
    check,
)
