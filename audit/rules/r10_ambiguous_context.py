"""R10: columns that differ from the line above their table."""

from __future__ import annotations

from collections.abc import Iterator

from ..finding import Finding
from ..formula_detection import fits
from ..input import AuditInput, Document
from ..rule import declared

RULE = declared(__name__)


@RULE.check
def check(data: AuditInput) -> Iterator[Finding]:
    """Columns that contradict the line right above their table."""
    for document in data.documents:
        yield from _layers(document)


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
                yield RULE.finding(
                    "layers",
                    tuple(row.at(name) for row in off),
                    name=name,
                    line=line,
                    value=value,
                    more="; TFLOPs agree with the column" if borne else "",
                )
