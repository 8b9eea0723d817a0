"""R6: rows that are printed twice."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from ..alike import configuration, groups
from ..book import Book, Document, Row
from ..finding import Finding
from ..rule import Rule

REPEATED = 3  # rows of one set-up in a table: that many are repeats
SURE = 6  # digits of one number, of which repeats do not agree in the last three


def check(book: Book) -> Iterator[Finding]:
    """Rows of one table that are alike in all they say; repeats in other tables are notes."""
    for document in book.documents:
        for table in document.tables:
            for rows in groups(table.rows):
                told = [row for row in rows if _says_much(row)]
                yield from _copies(told, repeated=len(told) >= REPEATED)
        yield from _repeats(document)


def _says_much(row: Row) -> bool:
    return row.measured and not row.misfits and row.origin == "row"


def _copies(rows: Sequence[Row], repeated: bool) -> Iterator[Finding]:
    """Rows alike; where a table repeats a set-up, jobs agree in the few digits that vary: there
    one number has to agree in so many that chance is out of the question."""
    found: dict[Hashable, list[Row]] = {}
    for row in rows:
        said = tuple(sorted((name, one.value) for name, one in row.printed.items()))
        found.setdefault((row.date, row.besides, said), []).append(row)
    for alike in found.values():
        enough = _longest(alike[0]) >= SURE if repeated else _digits(alike[0]) >= 6
        if len(alike) > 1 and enough:
            yield Finding(
                ("R6",),
                "error",
                "high",
                "the same row is printed twice",
                f"l.{', l.'.join(str(row.line) for row in alike)} are alike in every cell",
                tuple(row.at() for row in alike),
                "keep one, unless it was measured twice",
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
        if not _says_much(row) or _digits(row) < 6:
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
            yield Finding(
                ("R6",),
                "warning",
                "medium",
                "one measurement under two dates",
                f"l.{row.line} repeats every number of l.{original.line}, which is of "
                f"{original.date}",
                (row.at("notes"),),
                original.date,
            )
    if again:
        yield Finding(
            ("R6",),
            "note",
            "high",
            "rows repeated from other tables of the document",
            ", ".join(f"l.{row.line} = l.{original.line}" for row, original in again),
            tuple(row.at() for row, _ in again),
            "count each once",
        )


RULE = Rule(
    "R6",
    60,
    "Rows printed twice",
    "no two rows of a table agree in set-up, date and every number",
    "exact, six digits or more together; repeats in another table are on purpose, so a note",
    "error",
    check,
)
