"""R1: TFLOPs against time without a formula: the work of a sequence is the same in all rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from ..alike import model, named, set_apart
from ..book import Book, Row, Table
from ..detect import testable
from ..finding import Finding
from ..interval import Interval, largest_agreement
from ..mend import mends, suggestion
from ..rule import Rule
from ..work import work_of

_PADDING = 0.005  # the padded vocabulary and F3's parameters change with TP and PP by less


def check(book: Book) -> Iterator[Finding]:
    """Rows of one model and table whose work of a sequence is not that of the others."""
    doubted = book.doubted()
    for table in book.tables:
        if table.detected and table.detected.certain:
            continue
        groups: dict[Hashable, list[Row]] = {}
        for row in table.rows:
            usable = testable(row) and row.gbs and row.world and named(row)
            if usable and (row.uri, row.line) not in doubted:
                groups.setdefault((model(row), row.seq_len, row.recompute), []).append(row)
        for rows in groups.values():
            yield from _judge(table, rows)


def _judge(table: Table, rows: Sequence[Row]) -> Iterator[Finding]:
    if len(rows) < 3:
        return
    work = [work_of(row) for row in rows]
    main = largest_agreement(work)
    if 3 * len(main) < 2 * len(rows):
        return
    share = Interval(max(work[p].low for p in main), min(work[p].high for p in main))
    sizes = {(rows[place].tp, rows[place].pp) for place in main}
    depends = len(sizes) < 3  # three agree exactly: neither TP nor PP changes the work
    for place, row in enumerate(rows):
        if place in main:
            continue
        wide = share.widened(_PADDING if depends and (row.tp, row.pp) not in sizes else 0.0)
        if not work[place].meets(wide):
            yield _finding(table, row, [rows[place] for place in main], work[place], share)


def _finding(
    table: Table, row: Row, others: Sequence[Row], mine: Interval, share: Interval
) -> Finding:
    assert row.tflops is not None and row.time is not None
    off = mine.middle / share.middle
    apart = set_apart(row, others)
    repairs = [] if apart else mends(table, row)
    names = ("step_time", "tflops", *(one.name for one in repairs))
    return Finding(
        ("R1",),
        "note" if apart else "error",
        "low" if apart else "medium",
        "time and TFLOPs are not in proportion to those of the other rows: of another model or "
        "context, or wrong"
        if apart
        else "time and TFLOPs contradict each other as printed",
        f"time x TFLOPs x processes / GBS is {mine.middle:.5g} TFLOP a sequence, "
        f"{100 * (off - 1):+.1f}% of what the other rows have "
        f"({share.low:.5g} to {share.high:.5g}, such as l.{others[0].line})",
        tuple(row.at(name) for name in dict.fromkeys(names)),
        suggestion(repairs),
    )


RULE = Rule(
    "R1",
    42,
    "TFLOPs against time, without a formula",
    "within a table, time x TFLOPs x processes / GBS is the same for all rows of one model",
    "three rows, two thirds of which agree to the printed digits; 0.5% more where TP or PP differ "
    "(padded vocabulary) and fewer than three pairs of them agree",
    "error",
    check,
)
