"""R6b: rows of one configuration with different results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from ..finding import Finding
from ..input import AuditInput, Document, Row, Table
from ..memory import gigabytes, ratio, usual
from ..rule import declared
from ..same_configuration import distinguished, groups, model, numbered_places, same_digits

RULE = declared(__name__)


_BOUNDARIES = "SELECT uri, line FROM statements WHERE kind = 'boundary' ORDER BY uri, line"
_MEMORY = 1.05  # the same configuration takes the same memory, apart from the allocator
_TIME = 1.05
_RERUN = 1.15  # beyond that it is hardly a repeated measurement
_UNUSUAL = 1.25  # times off the usual ratio of printed to predicted memory


@RULE.check
def check(data: AuditInput) -> Iterator[Finding]:
    """Rows of one table that differ in results only, and those across tables as warnings."""
    doubted = data.doubted()
    lines: dict[str, list[int]] = {}
    for uri, line in data.warehouse.rows(_BOUNDARIES):
        lines.setdefault(uri, []).append(line)
    for document in data.documents:
        middle = usual(list(document.rows))
        for table in document.tables:
            numbered = numbered_places(table.rows)
            for rows in groups(table.rows):
                clear = [
                    row
                    for row in rows
                    if row.measured
                    and row.origin == "row"
                    and not row.invalid
                    and (row.uri, row.line) not in doubted
                ]
                yield from _conflicts(table, clear, middle, numbered)
        yield from _across(document, doubted)
        yield from _measured_again(document, doubted, lines.get(document.uri, []))


def _conflicts(
    table: Table, rows: Sequence[Row], middle: float | None, numbered: Set[int]
) -> Iterator[Finding]:
    for place, second in enumerate(rows[1:], 1):
        first = rows[place - 1]
        if same_digits(first, second) or distinguished(first, second, numbered):
            continue
        one, two = gigabytes(first), gigabytes(second)
        apart = max(one, two) / min(one, two) if one and two else 1.0
        if apart > _MEMORY and (odd := _odd_one(first, second, middle)):
            yield _other_setup(table, odd, second if odd is first else first, apart)
            continue
        times = _times_apart(first, second)
        if times > _TIME or apart > _MEMORY:
            yield RULE.finding(
                "conflicts",
                (first.at(), second.at()),
                first=first,
                second=second,
                percent=100 * (times - 1),
                more=f" and {100 * (apart - 1):.0f}% in memory" if apart > _MEMORY else "",
            )


def _times_apart(first: Row, second: Row) -> float:
    if not (first.time and second.time and first.time.value > 0 and second.time.value > 0):
        return 1.0
    return max(first.time.value, second.time.value) / min(first.time.value, second.time.value)


def _odd_one(first: Row, second: Row, middle: float | None) -> Row | None:
    """The row whose memory is unusual for its configuration in this document."""
    one, two = ratio(first), ratio(second)
    if middle is None or one is None or two is None:
        return None
    far = [max(value / middle, middle / value) for value in (one, two)]
    if max(far) < 1.2 or max(far) < 1.1 * min(far) or min(far) > _UNUSUAL:
        return None
    return first if far[0] > far[1] else second


def _other_setup(table: Table, odd: Row, other: Row, apart: float) -> Finding:
    change = _change(table, odd)
    doubted = [change[0]] if change else ["mbs", "mem"]
    return RULE.finding(
        "other_setup",
        tuple(odd.at(name) for name in doubted if name in table.columns) or (odd.at(),),
        odd=odd,
        raw=odd.memory.raw if odd.memory else "",
        other=other,
        other_raw=other.memory.raw if other.memory else "",
        percent=100 * (apart - 1),
        fix=f"{change[0].upper()}={change[1]}" if change else "",
    )


def _change(table: Table, row: Row) -> tuple[str, int] | None:
    """The micro batch that gives the printed memory, if no other row of the table has it."""
    middle = usual(table.rows)
    if middle is None or row.mbs is None or "mbs" not in table.columns:
        return None
    scored = []
    for value in (row.mbs // 2, row.mbs * 2):
        taken = any(other.mbs == value and _like(row, other) for other in table.rows)
        dp = row.data_parallel
        if not value or taken or (row.gbs and dp and row.gbs % (value * dp)):
            continue
        found = ratio(replace(row, mbs=value))
        if found:
            scored.append((max(found / middle, middle / found), value))
    return ("mbs", min(scored)[1]) if scored and min(scored)[0] < 1.2 else None


def _like(first: Row, second: Row) -> bool:
    names = ("dp", "tp", "pp", "gbs", "nodes", "zero_stage")
    return model(first) == model(second) and all(
        getattr(first, name) == getattr(second, name) for name in names
    )


def _across(document: Document, doubted: set[tuple[str, int]]) -> Iterator[Finding]:
    """The same configuration in two tables of one section, measured on the same day."""
    rows = [
        row
        for row in document.rows
        if row.time and row.origin == "row" and (row.uri, row.line) not in doubted and row.date
    ]
    for group in groups(rows):
        for second in group[1:]:
            first = group[0]
            apart = _times_apart(first, second)
            if first.table_id != second.table_id and first.date == second.date and apart > _TIME:
                yield RULE.finding(
                    "across",
                    (first.at("step_time"), second.at("step_time")),
                    first=first,
                    second=second,
                    percent=100 * (apart - 1),
                )


def _measured_again(
    document: Document, doubted: set[tuple[str, int]], boundaries: Sequence[int]
) -> Iterator[Finding]:
    """Configurations measured again in another table, with similar results: one note."""
    rows = [
        row
        for row in document.rows
        if row.time and row.origin == "row" and row.product and (row.uri, row.line) not in doubted
    ]
    spreads: list[dict[str, object]] = []
    cells = []
    for group in groups(rows):
        first = group[0]
        for second in group[1:]:
            apart = _times_apart(first, second)
            warned = first.date == second.date and first.date and apart > _TIME
            if first.table_id != second.table_id and 1 < apart <= _RERUN and not warned:
                between = [n for n in boundaries if first.line < n < second.line]
                across = f" (across the boundary at line {between[0]})" if between else ""
                percent = 100 * (apart - 1)
                spreads.append(
                    {"first": first, "second": second, "percent": percent, "across": across}
                )
                cells.append(second.at("step_time"))
    if spreads:
        yield RULE.finding("again", tuple(cells), items=spreads)
