"""R6: rows printed twice."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from ..finding import Finding
from ..input import AuditInput, Document, Row
from ..rule import declared
from ..same_configuration import configuration, groups

RULE = declared(__name__)


REPEATED = 3  # rows of one configuration in a table: that many are repeats
SURE = 6  # digits of a number whose last three differ between repeats


@RULE.check
def check(data: AuditInput) -> Iterator[Finding]:
    """Rows of one table that are identical; repeats in other tables are notes."""
    for document in data.documents:
        for table in document.tables:
            for rows in groups(table.rows):
                detailed = [row for row in rows if _is_detailed(row)]
                yield from _copies(detailed, repeated=len(detailed) >= REPEATED)
        yield from _repeats(document)


def _is_detailed(row: Row) -> bool:
    return row.measured and not row.invalid and row.origin == "row"


def _copies(rows: Sequence[Row], repeated: bool) -> Iterator[Finding]:
    """Equal rows; where a table repeats a configuration, jobs agree in the few digits that vary:
    there one number must agree in too many digits for chance."""
    found: dict[Hashable, list[Row]] = {}
    for row in rows:
        numbers = tuple(sorted((name, one.value) for name, one in row.printed.items()))
        found.setdefault((row.date, row.other_cells, numbers), []).append(row)
    for alike in found.values():
        enough = _longest(alike[0]) >= SURE if repeated else _digits(alike[0]) >= 6
        if len(alike) > 1 and enough:
            yield RULE.finding(
                "copies", tuple(row.at() for row in alike), items=[{"row": row} for row in alike]
            )


def _digits(row: Row) -> int:
    """Digits that would have to agree by chance."""
    return sum(number.digits for number in row.printed.values())


def _longest(row: Row) -> int:
    """The digits of the longest number."""
    return max((number.digits for number in row.printed.values()), default=0)


def _repeats(document: Document) -> Iterator[Finding]:
    first: dict[object, Row] = {}
    again: list[tuple[Row, Row]] = []
    for row in document.rows:
        if not _is_detailed(row) or _digits(row) < 6:
            continue
        key = (
            configuration(row),
            *((name, one.value) for name, one in sorted(row.printed.items())),
        )
        original = first.setdefault(key, row)
        if original.table_id != row.table_id and original is not row:
            again.append((row, original))
    for row, original in again:
        if row.date and original.date and row.date != original.date:
            yield RULE.finding("dates", (row.at("notes"),), row=row, original=original)
    if again:
        yield RULE.finding(
            "repeats",
            tuple(row.at() for row, _ in again),
            items=[{"row": row, "first": original} for row, original in again],
        )
