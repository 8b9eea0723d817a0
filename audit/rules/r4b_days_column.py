"""R4b: a column of days to train against the tokens a second of its rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..finding import Finding
from ..formula_fixes import number
from ..input import AuditInput, Row, Table
from ..input import title as title_of
from ..interval import Interval, Printed, largest_agreement
from ..relations import MEANS
from ..rule import declared

RULE = declared(__name__)


_QUERY = """SELECT table_id, row_number, value, decimals, raw FROM cells
    WHERE name = 'days' AND kind = 'number' AND value > 0"""
_BUDGET = re.compile(r"\d\s*[TB]\s*tokens", re.I)  # `(10T tokens, 1K GPUs)`
_RATES = ("tokens_per_s_per_device", "tokens_per_s")
_Budgeted = tuple[Row, Printed, Interval]


@RULE.check
def check(data: AuditInput) -> Iterator[Finding]:
    """Rows whose days x tokens/s differ from the token budget of the others."""
    days = {
        (table, row): Printed(value, 0.5 * 10.0 ** -(decimals or 0), raw=raw)
        for table, row, value, decimals, raw in data.warehouse.rows(_QUERY)
    }
    doubted = data.doubted() if days else set()
    for table in data.tables:
        with_days = [
            (row, days[table.table_id, row.number])
            for row in table.rows
            if (table.table_id, row.number) in days and not row.invalid
        ]
        tried = [(rate, _agreement(_products(rate, with_days))) for rate in _RATES]
        rate, (rows, main) = max(tried, key=lambda one: len(one[1][1]))
        if len(main) >= 3 and 4 * len(main) >= 3 * len(rows):
            for place, one in enumerate(rows):
                if place not in main and (one[0].uri, one[0].line) not in doubted:
                    yield _finding(table, rate, one, [rows[other] for other in main])


def _products(rate: str, with_days: Sequence[tuple[Row, Printed]]) -> list[_Budgeted]:
    """Days x tokens/s: the token budget that all rows share, of a device, or of the job."""
    found = []
    for row, days in with_days:
        if (speed := row.printed.get(rate)) and speed.value > 0:
            value = (days.rounded * speed.either).widened(MEANS / 2)
            found.append((row, days, value))
    return found


def _agreement(rows: list[_Budgeted]) -> tuple[list[_Budgeted], list[int]]:
    return rows, largest_agreement([value for _, _, value in rows]) if len(rows) >= 3 else []


def _finding(table: Table, rate: str, one: _Budgeted, others: Sequence[_Budgeted]) -> Finding:
    row, days, _ = one
    low = max(value.low for _, _, value in others)
    work = (low + min(value.high for _, _, value in others)) / 2
    speed = row.printed[rate]
    heading = table.headings[table.columns.index("days")]
    stated = bool(_BUDGET.search(heading))
    return RULE.finding(
        "stated" if stated else "other_budget",
        (row.at("days"), row.at(rate)),
        speed=speed,
        title=title_of(rate),
        needed=work / speed.value,
        number=len(others),
        others=others,
        days=days,
        days_needed=number(work / speed.value, days.half),
        rate_needed=number(work / days.value, speed.half),
    )
