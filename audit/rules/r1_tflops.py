"""R1: TFLOPs against time, by the formula of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..alike import set_apart
from ..book import Book, Document, Row, Table
from ..detect import expected, fits, testable
from ..finding import Finding
from ..formulas import assumptions
from ..mend import holds, is_free, mends
from ..mend import suggestion as suggestion_of
from ..reading import Detected, Reading
from ..repair import Repair, explain, needed_time, number, suggestion
from ..rule import Rule
from ..work import agrees

_ROUGH = ("F4", "F5", "F6", "F10")


def check(book: Book) -> Iterator[Finding]:
    """Rows whose printed time cannot give their printed TFLOPs."""
    for document in book.documents:
        for table in document.tables:
            if table.detected is not None:
                yield from _judge(document, table, table.detected)


def _judge(document: Document, table: Table, found: Detected) -> Iterator[Finding]:
    judged = [
        (row, fits(row, found.reading))
        for row in table.rows
        if testable(row) or (row.unshifted and row.time and row.tflops)
    ]
    off = [
        row for row, fine in judged if fine is False and not _times_of_processes(row, found.reading)
    ]
    if not off:
        return
    # An un-shifted row was not among those that the formula was detected on.
    plain = [row for row in off if not row.unshifted]
    tested = sum(fine is not None for row, fine in judged if not row.unshifted)
    few = 3 * (tested - len(plain)) < 2 * tested
    if few and len(plain) > 1:
        yield from _systematic(document, table, off, found.reading)
    elif found.certain or found.around >= 4:
        # Where little is stated, rows that agree among themselves show another formula.
        assumed = assumptions(off[0], found.reading)
        many = len(plain) > max(1, tested // 10)
        weak = found.reading.formula in _ROUGH or assumed > 1 or (assumed and many)
        others = [row for row, fine in judged if fine]
        for row in off:
            if not weak or row.unshifted or not agrees(table, row):
                yield _finding(document, table, row, found.reading, others)


def _times_of_processes(row: Row, reading: Reading) -> bool:
    """A node's TFLOPs are often its processes' rounded value times their number."""
    per_node = row.nodes and row.world and row.world > row.nodes
    return bool(per_node and fits(row, replace(reading, divisor="nodes")))


def _systematic(
    document: Document, table: Table, off: Sequence[Row], reading: Reading
) -> Iterator[Finding]:
    """Most rows are off: an error only where one change of the context explains them all."""
    causes = [_explained(document, table, row, reading) for row in off]
    shared = _shared(causes)
    if shared is None:
        return
    first = causes[0][0]
    names = dict.fromkeys(
        (*first.names, "tflops", "step_time") if first.kind == "formula" else first.names
    )
    yield Finding(
        ("R1",),
        "error",
        "high",
        "the rows contradict the text around them",
        "; ".join(
            f"l.{row.line}: {found[0].evidence}" for row, found in zip(off, causes, strict=True)
        ),
        tuple(row.at(name) for row in off for name in names),
        shared,
    )


def _shared(causes: Sequence[Sequence[Repair]]) -> str | None:
    """The one change of context that explains every row."""
    texts = [{one.suggestion for one in found if one.kind == "context"} for found in causes]
    common = set.intersection(*texts) if texts else set()
    return common.pop() if len(common) == 1 else None


def _explained(document: Document, table: Table, row: Row, reading: Reading) -> list[Repair]:
    return explain(document, table, row, reading, lambda changed: holds(table, row, changed))


def _finding(
    document: Document, table: Table, row: Row, reading: Reading, others: Sequence[Row]
) -> Finding:
    found = _explained(document, table, row, reading)
    kinds = {one.kind for one in found}
    apart = kinds <= {"formula"} and set_apart(row, others)
    names, said, more = _mended(table, row, reading, found)
    message = "time and TFLOPs contradict each other as printed"
    if apart:
        message = "time and TFLOPs are of another model or context than the rows around, or wrong"
    elif "formula" in kinds:
        message = "TFLOPs follow another formula than the rows around"
    return Finding(
        ("R1c",) if kinds == {"formula"} else ("R1",),
        "note" if apart else "error",
        "low" if apart
        else "high" if found or (table.detected and table.detected.around >= 4)
        else "medium",
        message,
        "; ".join((_off(row, reading), *more)),
        tuple(row.at(name) for name in names),
        "" if apart else said,
    )  # fmt: skip


def _off(row: Row, reading: Reading) -> str:
    wanted, rate, time = expected(row, reading), row.tflops, row.time
    assert wanted is not None and rate is not None and time is not None, "it was found not to fit"
    return (
        f"{time.value:g} s allow {_span(wanted.low, wanted.high, rate.half)} TFLOPs by "
        f"{reading.long}; printed {rate.raw or rate.value} "
        f"({100 * (rate.value / wanted.middle - 1):+.1f}%)"
    )


def _mended(
    table: Table, row: Row, reading: Reading, found: Sequence[Repair]
) -> tuple[tuple[str, ...], str, list[str]]:
    """The doubted cells, what is suggested, and what shows it."""
    mended = [] if found else mends(table, row)
    if found:
        names = tuple(dict.fromkeys(name for one in found for name in one.names))
        return names, _either(found), [one.evidence for one in found]
    needed, rate = needed_time(row, reading), row.tflops
    more = []
    if needed and rate:
        more = [f"{rate.raw or rate.value} would need {needed.low:.6g} to {needed.high:.6g} s"]
    both = ("step_time", "tflops")
    if not mended or {one.name for one in mended} == set(both):
        free = [
            suggestion(row, reading, name)
            for name in reversed(both)
            if is_free(table, row, "step_time_s" if name == "step_time" else name)
        ]
        return both, ", or ".join(free), more
    said = suggestion_of(mended)
    if len(mended) == 1 and not mended[0].whole:
        return (mended[0].name,), said, [*more, "the other cells agree with that"]
    names = tuple(dict.fromkeys((*both, *(one.name for one in mended))))
    return names, said, [*more, f"with {said} all cells agree"]


def _either(found: Sequence[Repair]) -> str:
    return ", or ".join(dict.fromkeys(one.suggestion for one in found[:3]))


def _span(low: float, high: float, half: float) -> str:
    ends = number(low, half / 10), number(high, half / 10)
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


RULE = Rule(
    "R1",
    40,
    "TFLOPs against time",
    "some time that prints as shown gives TFLOPs that print as shown, by the formula, factor and "
    "divisor "
    "of most rows; a row that fits another formula exactly is a formula epoch (R1c)",
    "none beyond the printed digits; the time may be rounded or cut off, means have 1%, a node's "
    "value may be "
    "its processes' rounded value times their number",
    "error",
    check,
)
