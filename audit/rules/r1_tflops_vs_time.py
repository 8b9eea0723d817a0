"""R1: TFLOPs against time, by the formula of the table, else by the work of a sequence."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from ..finding import Finding, Place
from ..fixes import consistent, is_free, suggest_fixes
from ..fixes import suggestion as suggestion_of
from ..formula_detection import expected, fits, testable
from ..formula_fixes import FormulaFix, formula_fixes, needed_time, number, suggestion
from ..formulas import assumptions
from ..input import AuditInput, Detected, Document, Reading, Row, Table
from ..interval import Interval
from ..rule import declared
from ..same_configuration import Texts, model, named, set_apart, texts_of
from ..sequence_flops import Agreement, agreement, agrees, work_of

RULE = declared(__name__)

_ROUGH = ("F4", "F5", "F6", "F10")
_FROM_LABEL = ("F4", "F5")
# A mean of rates is above the rate of the mean time by the square of the steps' relative spread.
_MEANS = 0.002  # of steps that spread by 4%
_PADDING = 0.005  # the padded vocabulary and F3's parameters change with TP and PP by less


@RULE.check
def check_formula(data: AuditInput) -> Iterator[Finding]:
    """One note a document, and warnings where TFLOPs are not comparable."""
    for document in data.documents:
        spans = _spans(document)
        if not spans:
            continue
        first = spans[0][1][0]
        readings = "; ".join(f"{reading.long} ({_lines(tables)})" for reading, tables in spans)
        yield RULE.finding("follows", (_head(first),), readings=readings)
        if len({(one.formula, _factor(one, tables)) for one, tables in spans}) > 1:
            yield RULE.finding(
                "several", tuple(_head(tables[0]) for _, tables in spans), readings=readings
            )
        labels = [
            table for reading, tables in spans if reading.formula in _FROM_LABEL for table in tables
        ]
        if labels:
            yield RULE.finding("labels", tuple(_head(table) for table in labels))
        yield from _of_nodes(document)
        yield from _vocabulary(document, spans)


def _spans(document: Document) -> list[tuple[Reading, list[Table]]]:
    """The readings in order, each with its tables; only those that fit most rows."""
    spans: dict[Reading, list[Table]] = {}
    for table in document.tables:
        found = table.detected
        if found and 3 * found.agree >= 2 * found.tested:
            spans.setdefault(found.reading, []).append(table)
    return list(spans.items())


def _factor(reading: Reading, tables: list[Table]) -> int | None:
    if reading.factor != 0:
        return reading.factor or (
            3 if reading.formula == "F5" else 4 if reading.formula == "F4" else None
        )
    recompute = {row.recompute for table in tables for row in table.rows if testable(row)}
    return {"full": 4, "none": 3}.get(recompute.pop() or "") if len(recompute) == 1 else 0


def _of_nodes(document: Document) -> Iterator[Finding]:
    rows = [
        row
        for table in document.tables
        if table.detected and table.detected.reading.divisor == "nodes"
        for row in table.rows
        if testable(row) and row.nodes and row.world and row.world > row.nodes
    ]
    if rows:
        yield RULE.finding(
            "of_nodes",
            tuple(row.at("tflops") for row in rows),
            processes=rows[0].world // rows[0].nodes if rows[0].world and rows[0].nodes else 0,
            rows=rows,
        )


def _vocabulary(document: Document, spans: list[tuple[Reading, list[Table]]]) -> Iterator[Finding]:
    """A vocabulary that a line states and no table's TFLOPs follow: rounded, or of another run."""
    used = {one.vocab: tables for one, tables in spans if one.vocab}
    used |= {row.vocab: [table] for table in document.tables for row in table.rows if row.vocab}
    stated = sorted(
        {
            (line, text)
            for name, text, line in document.stated
            if name in ("vocab", "vocab_label") and not (text.isdigit() and int(text) in used)
        }
    )
    if stated and used:
        others = " and ".join(f"{vocab} ({_lines(tables)})" for vocab, tables in used.items())
        yield RULE.finding(
            "vocabulary",
            tuple(Place(document.uri, line) for line, _ in stated),
            statements=", ".join((f"line {line} states {text}" for line, text in stated)),
            others=others,
        )


def _head(table: Table) -> Place:
    return Place(table.uri, table.header_line)


def _lines(tables: list[Table]) -> str:
    return ", ".join(f"line {table.header_line}" for table in tables[:6]) + (
        " ..." if len(tables) > 6 else ""
    )


@RULE.check
def check_work(data: AuditInput) -> Iterator[Finding]:
    """Rows whose work of a sequence differs from the other rows of their model and table."""
    doubted = data.doubted()
    for table in data.tables:
        if table.detected and table.detected.certain:
            continue
        groups: dict[Hashable, list[Row]] = {}
        for row in table.rows:
            usable = testable(row) and row.gbs and row.world and named(row)
            if usable and (row.uri, row.line) not in doubted:
                groups.setdefault((model(row), row.seq_len, row.recompute), []).append(row)
        for rows in groups.values():
            yield from _judge_work(table, rows)


def _judge_work(table: Table, rows: Sequence[Row]) -> Iterator[Finding]:
    if (found := agreement(rows)) is None:
        return
    sizes = {(row.tp, row.pp) for row in found.rows}
    depends = len(sizes) < 3  # three agree exactly: neither TP nor PP changes the work
    for row in rows:
        if id(row) in found.members:
            continue
        wide = depends and (row.tp, row.pp) not in sizes
        mine = work_of(row)
        if not mine.meets(found.share.widened(_PADDING if wide else _MEANS)):
            yield _work_finding(table, row, found, mine)


def _work_finding(table: Table, row: Row, others: Agreement, mine: Interval) -> Finding:
    assert row.tflops is not None and row.time is not None
    off = mine.middle / others.share.middle
    apart = set_apart(row, others.texts)
    fixes = [] if apart else suggest_fixes(table, row)
    names = ("step_time", "tflops", *(fix.name for fix in fixes))
    return RULE.finding(
        "apart_work" if apart else "contradicts_work",
        tuple(row.at(name) for name in dict.fromkeys(names)),
        mine=mine,
        percent=100 * (off - 1),
        share=others.share,
        others=others.rows,
        fix=suggestion_of(fixes),
    )


@RULE.check
def check_tflops(data: AuditInput) -> Iterator[Finding]:
    """Rows whose printed time contradicts their printed TFLOPs."""
    for document in data.documents:
        for table in document.tables:
            if table.detected is not None:
                yield from _judge(document, table, table.detected)


def _judge(document: Document, table: Table, detected: Detected) -> Iterator[Finding]:
    judged = [
        (row, fits(row, detected.reading))
        for row in table.rows
        if testable(row) or (row.unshifted and row.time and row.tflops)
    ]
    off = [
        row
        for row, fine in judged
        if fine is False and not _times_of_processes(row, detected.reading)
    ]
    if not off:
        return
    # An un-shifted row was not in the sample for detecting the formula.
    plain = [row for row in off if not row.unshifted]
    tested = sum(fine is not None for row, fine in judged if not row.unshifted)
    few = 3 * (tested - len(plain)) < 2 * tested
    if few and len(plain) > 1:
        yield from _systematic(document, table, off, detected.reading)
    elif detected.certain or detected.around >= 4:
        # With few statements, rows that agree among themselves show another formula.
        assumed = assumptions(off[0], detected.reading)
        many = len(plain) > max(1, tested // 10)
        weak = detected.reading.formula in _ROUGH or assumed > 1 or (assumed and many)
        others = texts_of([row for row, fine in judged if fine])
        for row in off:
            if not weak or row.unshifted or not agrees(table, row):
                yield _finding(document, table, row, detected.reading, others)


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
    yield RULE.finding(
        "systematic",
        tuple(row.at(name) for row in off for name in names),
        items=[{"row": row, "fix": one[0]} for row, one in zip(off, causes, strict=True)],
        shared=shared,
    )


def _shared(causes: Sequence[Sequence[FormulaFix]]) -> str | None:
    """The single change of context that explains every row."""
    texts = [{one.suggestion for one in cause if one.kind == "context"} for cause in causes]
    common = set.intersection(*texts) if texts else set()
    return common.pop() if len(common) == 1 else None


def _explained(document: Document, table: Table, row: Row, reading: Reading) -> list[FormulaFix]:
    return formula_fixes(
        document, table, row, reading, lambda changed: consistent(table, row, changed)
    )


def _finding(
    document: Document, table: Table, row: Row, reading: Reading, others: Sequence[Texts]
) -> Finding:
    found = _explained(document, table, row, reading)
    by_formula = bool(found) and found[0].kind == "formula"  # they are of one kind
    apart = (by_formula or not found) and set_apart(row, others)
    names, fix, more = _correction(table, row, reading, found)
    kind = "formula" if by_formula else "contradicts"
    sure = found or (table.detected and table.detected.around >= 4)
    return RULE.finding(
        ("apart_formula" if by_formula else "apart") if apart else kind,
        map(row.at, names),
        confidence="" if apart else "high" if sure else "medium",
        off=_off(row, reading),
        more="".join(f"; {one}" for one in more),
        fix=fix,
    )


def _off(row: Row, reading: Reading) -> str:
    wanted, rate, time = expected(row, reading), row.tflops, row.time
    assert wanted is not None and rate is not None and time is not None, "it was found not to fit"
    return (
        f"{time.value:g} s allow {_span(wanted.low, wanted.high, rate.half)} TFLOPs by "
        f"{reading.long}; printed {rate.raw or rate.value} "
        f"({100 * (rate.value / wanted.middle - 1):+.1f}%)"
    )


def _correction(
    table: Table, row: Row, reading: Reading, found: Sequence[FormulaFix]
) -> tuple[tuple[str, ...], str, list[str]]:
    """The doubted cells, the suggestion, and the evidence."""
    fixes = [] if found else suggest_fixes(table, row)
    if found:
        names = tuple(dict.fromkeys(name for formula_fix in found for name in formula_fix.names))
        return names, _either(found), [formula_fix.evidence for formula_fix in found]
    needed, rate = needed_time(row, reading), row.tflops
    more = []
    if needed and rate:
        more = [f"{rate.raw or rate.value} would need {needed.low:.6g} to {needed.high:.6g} s"]
    both = ("step_time", "tflops")
    if not fixes or {fix.name for fix in fixes} == set(both):
        free = [
            suggestion(row, reading, name)
            for name in reversed(both)
            if is_free(table, row, "step_time_s" if name == "step_time" else name)
        ]
        return both, ", or ".join(free), more
    suggested = suggestion_of(fixes)
    if len(fixes) == 1 and not fixes[0].whole:
        return (fixes[0].name,), suggested, [*more, "the other cells agree with that"]
    names = tuple(dict.fromkeys((*both, *(fix.name for fix in fixes))))
    return names, suggested, [*more, f"with {suggested} all cells agree"]


def _either(found: Sequence[FormulaFix]) -> str:
    return ", or ".join(dict.fromkeys(formula_fix.suggestion for formula_fix in found[:3]))


def _span(low: float, high: float, half: float) -> str:
    ends = number(low, half / 10), number(high, half / 10)
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
