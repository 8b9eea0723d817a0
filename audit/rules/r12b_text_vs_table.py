"""R12b: numbers that the text repeats from a table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from ...vocabulary.cell_pieces import half_digit
from ..finding import Finding, Place
from ..input import AuditInput, Document, Row
from ..interval import Interval
from ..rule import declared

RULE = declared(__name__)


_QUERY = """SELECT uri, line, raw, detail FROM statements WHERE kind = 'summary'
    ORDER BY uri, line"""
_SETTINGS = ("nodes", "dp", "tp", "pp", "cp", "mbs", "gbs", "layers", "hidden", "heads")
_UNITS = {"step_time_s": "s", "tflops": "TFLOPs"}


@RULE.check
def check(data: AuditInput) -> Iterator[Finding]:
    """Summaries (`DP=4, PP=12: 123 secs/it | 130 TFLOPs`) against rows of that configuration."""
    documents = {document.uri: document for document in data.documents}
    cut: dict[str, list[tuple[int, str, Row]]] = {}
    for uri, line, raw, detail in data.warehouse.rows(_QUERY):
        stated: Mapping[str, str] = json.loads(detail) if isinstance(detail, str) else detail
        if uri not in documents or not (rows := _rows_named(documents[uri], stated)):
            continue
        rows.sort(key=lambda row: abs(row.line - line))
        if any(_agrees(row, stated, cut_off=False) for row in rows):
            continue
        if found := [row for row in rows if _agrees(row, stated, cut_off=True)]:
            cut.setdefault(uri, []).append((line, raw, found[0]))
        else:
            yield _wrong(uri, line, raw, stated, rows[0])
    for uri, all_of_it in cut.items():
        yield RULE.finding(
            "cut",
            tuple(Place(uri, line, text=raw.strip()) for line, raw, _ in all_of_it),
            items=[
                {"line": line, "row": row, "numbers": _numbers(row)} for line, _, row in all_of_it
            ],
        )


def _rows_named(document: Document, stated: Mapping[str, str]) -> list[Row]:
    """The rows with all the settings that the text names, two or more."""
    wanted = {name: int(stated[name]) for name in _SETTINGS if stated.get(name, "").isdigit()}
    if len(wanted) < 2:
        return []
    return [
        row
        for row in document.rows
        if row.origin == "row"
        and row.time
        and row.tflops
        and all(getattr(row, name) == value for name, value in wanted.items())
    ]


def _agrees(row: Row, stated: Mapping[str, str], *, cut_off: bool) -> bool:
    for name in _UNITS:
        text, printed = stated[name], row.printed[name]
        step = 2 * half_digit(text)
        low = float(text) - (0 if cut_off else step / 2)
        both = Interval(
            min(low, float(text) - step / 2), float(text) + (step if cut_off else step / 2)
        )
        if not both.meets(printed.value):
            return False
    return True


def _wrong(uri: str, line: int, raw: str, stated: Mapping[str, str], row: Row) -> Finding:
    text_numbers = ", ".join(f"{stated[name]} {unit}" for name, unit in _UNITS.items())
    return RULE.finding(
        "wrong",
        (Place(uri, line, text=raw.strip()),),
        line=line,
        text_numbers=text_numbers,
        row=row,
        numbers=_numbers(row),
    )


def _numbers(row: Row) -> str:
    return ", ".join(f"{row.printed[name].value:g} {unit}" for name, unit in _UNITS.items())
