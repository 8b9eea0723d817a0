"""R5: more sequences at once never take less memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from ..finding import Finding
from ..input import AuditInput, Document, Row
from ..memory import gigabytes, predicted, ratio, usual
from ..rule import declared
from ..same_configuration import distinguished, groups, numbered_places

RULE = declared(__name__)


_NOISE = 0.02
_ERROR = 0.10
_UNUSUAL = 1.25


@RULE.check
def check(data: AuditInput) -> Iterator[Finding]:
    """Rows whose memory falls as their micro batch grows, all else being equal."""
    doubted = data.doubted()
    for document in data.documents:
        middle = usual(list(document.rows))
        for table in document.tables:
            clear = [
                row
                for row in table.rows
                if (row.uri, row.line) not in doubted
                and row.mbs
                and gigabytes(row)
                and not row.invalid
            ]
            for rows in groups(clear, "mbs", "grad_accum"):
                yield from _judge(document, sorted(rows, key=lambda row: row.mbs or 0), middle)


def _judge(document: Document, rows: Sequence[Row], middle: float | None) -> Iterator[Finding]:
    for first, second in itertools.pairwise(rows):
        low, high = gigabytes(first), gigabytes(second)
        need = predicted(first), predicted(second)
        grows = need[0] is None or need[1] is None or need[1] > need[0]
        if not (low and high) or first.mbs == second.mbs or not grows or high >= low * (1 - _NOISE):
            continue
        odd = _odd_one(rows, first, second, middle)
        drop = 1 - high / low
        # A column that is not read may hold what makes the difference.
        apart = distinguished(first, second, numbered_places(rows))
        is_error = odd is not None and drop > _ERROR and not apart
        doubted = (odd,) if odd is not None else (first, second)
        yield RULE.finding(
            "falls",
            tuple(row.at("mem") for row in doubted),
            severity="error" if is_error else "warning",
            confidence="medium" if odd else "low",
            first=first,
            low_raw=_raw(first),
            second=second,
            high_raw=_raw(second),
            why=_reason(odd, middle),
            fix=_suggestion(document, odd, middle) if odd else "",
        )


def _raw(row: Row) -> str:
    return row.memory.raw if row.memory else ""


def _odd_one(rows: Sequence[Row], first: Row, second: Row, middle: float | None) -> Row | None:
    """The one of two that breaks the order of the rest, or the memory model's ratio."""
    if len(rows) >= 3:
        breaks = [sum(_disordered(row, other) for other in rows) for row in (first, second)]
        if breaks[0] != breaks[1]:
            return first if breaks[0] > breaks[1] else second
    one, two = ratio(first), ratio(second)
    if middle is None or not one or not two:
        return None
    far = [max(value / middle, middle / value) for value in (one, two)]
    if max(far) < _UNUSUAL or min(far) > _UNUSUAL:
        return None
    return first if far[0] > far[1] else second


def _disordered(row: Row, other: Row) -> bool:
    mine, others = gigabytes(row) or 0.0, gigabytes(other) or 0.0
    below = (row.mbs or 0) < (other.mbs or 0)
    return (
        mine > others * (1 + _NOISE)
        if below
        else mine < others * (1 - _NOISE) and row.mbs != other.mbs
    )


def _reason(odd: Row | None, middle: float | None) -> str:
    found = ratio(odd) if odd else None
    if not found or not middle or not odd:
        return ""
    return (
        f"; line {odd.line} has {found:.2f} times the memory model's prediction, "
        f"the document mostly {middle:.2f}"
    )


def _suggestion(document: Document, odd: Row, middle: float | None) -> str:
    """The value with one digit changed that is nearest to the memory of similar rows."""
    printed, need = odd.memory, predicted(odd)
    like = [
        found
        for row in document.rows
        if row is not odd
        and (row.dp, row.tp, row.pp) == (odd.dp, odd.tp, odd.pp)
        and (found := ratio(row))
    ]
    if printed is None or need is None or not (like or middle):
        return ""
    usual_here = sorted(like)[len(like) // 2] if like else middle or 0.0
    have = gigabytes(odd) or 0.0
    wanted = need * usual_here * printed.value / have
    text = f"{printed.value:g}"
    digits = [
        float(text[:at] + digit + text[at + 1 :])
        for at, old in enumerate(text)
        if old.isdigit()
        for digit in "0123456789"
        if digit != old
    ]
    best = min(digits, key=lambda value: abs(value - wanted))
    if abs(best / wanted - 1) < 0.05:
        rest = printed.raw[len(text) :] if printed.raw.startswith(text) else printed.unit
        return f"Mem {best:g}{rest}"
    return ""
