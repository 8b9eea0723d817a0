"""R4b: a column of days to train against the tokens a second of its rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..book import Book, Row, Table
from ..finding import Finding
from ..interval import Interval, Printed, largest_agreement
from ..relations import MEANS
from ..repair import number
from ..rule import Rule
from ..titles import TITLES

_QUERY = """SELECT table_id, row_number, value, decimals, raw FROM cells
    WHERE name = 'days' AND kind = 'number' AND value > 0"""
_BUDGET = re.compile(r"\d\s*[TB]\s*tokens", re.I)  # `(10T tokens, 1K GPUs)`
_RATES = ("tokens_per_s_per_device", "tokens_per_s")
_Told = tuple[Row, Printed, Interval]


def check(book: Book) -> Iterator[Finding]:
    """Rows whose days x tokens/s are not the tokens that the others train on."""
    days = {
        (table, row): Printed(value, 0.5 * 10.0 ** -(decimals or 0), raw=raw)
        for table, row, value, decimals, raw in book.warehouse.rows(_QUERY)
    }
    doubted = book.doubted() if days else set()
    for table in book.tables:
        told = [
            (row, days[table.table_id, row.number])
            for row in table.rows
            if (table.table_id, row.number) in days and not row.misfits
        ]
        tried = [(rate, _agreement(_products(rate, told))) for rate in _RATES]
        rate, (rows, main) = max(tried, key=lambda one: len(one[1][1]))
        if len(main) >= 3 and 4 * len(main) >= 3 * len(rows):
            for place, one in enumerate(rows):
                if place not in main and (one[0].uri, one[0].line) not in doubted:
                    yield _finding(table, rate, one, [rows[other] for other in main])


def _products(rate: str, told: Sequence[tuple[Row, Printed]]) -> list[_Told]:
    """Days x tokens/s: the tokens of a device, or of the job, that all rows train on alike."""
    found = []
    for row, days in told:
        if (speed := row.printed.get(rate)) and speed.value > 0:
            value = (days.rounded * speed.either).widened(MEANS / 2)
            found.append((row, days, value))
    return found


def _agreement(rows: list[_Told]) -> tuple[list[_Told], list[int]]:
    return rows, largest_agreement([value for _, _, value in rows]) if len(rows) >= 3 else []


def _finding(table: Table, rate: str, one: _Told, others: Sequence[_Told]) -> Finding:
    row, days, _ = one
    low = max(value.low for _, _, value in others)
    work = (low + min(value.high for _, _, value in others)) / 2
    speed = row.printed[rate]
    heading = table.headings[table.columns.index("days")]
    stated = bool(_BUDGET.search(heading))
    return Finding(
        ("R4b",),
        "error" if stated else "warning",
        "medium",
        "days and tokens/s contradict each other as printed"
        if stated
        else "days do not follow from tokens/s as in the other rows: of another budget, or wrong",
        f"{speed.raw or speed.value} {TITLES[rate]} would take about {work / speed.value:.3g} "
        f"days, by what {len(others)} other rows need (such as l.{others[0][0].line}); printed "
        f"{days.raw}",
        (row.at("days"), row.at(rate)),
        f"Days about {number(work / speed.value, days.half)}, or {TITLES[rate]} about "
        f"{number(work / days.value, speed.half)}",
    )


RULE = Rule(
    "R4b",
    72,
    "Days of a table",
    "days x tokens/s of the rows of a table are one number, the tokens to train on",
    "printed digits and 2%; three quarters of the rows, three or more; an error where the heading "
    "tells the tokens, else a warning, since a model may have a budget of its own",
    "error",
    check,
)
