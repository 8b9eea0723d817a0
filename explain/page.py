"""Numbers of pages that belong to no single run: counts, the budget, reference days, sources; and
those of `bench report --flops` and `--suggestions`: restated rates, and suggestions of findings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..audit.restate import HARDWARE, MODEL, RestatedRun, restate_all
from ..decide.budget import A_SECOND, SECONDS_A_DAY, Budget
from ..decide.page_rows import PageRows
from ..decide.ranking import ranking
from ..reports.page import MOST, statements
from ..reports.page_answers import implied_seconds
from ..vocabulary.format import days_words, percent, significant
from ..vocabulary.format import number as as_number
from ..vocabulary.format import tokens as as_tokens
from .columns import by_formula, measured, of_column, of_number
from .context import ExplainContext
from .number import PrintedNumber
from .tree import Arithmetic, Match, Node, SourceSpan

_FILTER = re.compile(r"count\(\*\) FILTER \((.+)\) AS (\w+)")
_COUNTS = {
    "rows": "count(*)",
    "documents": "count(DISTINCT source_id)",
    "tables": "count(DISTINCT table_id)",
}
_CONSTANTS = {
    "86400": ("seconds a day", "24 x 60 x 60"),
    "1.00": ("goodput", "no ramp-up, evaluation, saving or restarts: 1"),
    "0.90": ("goodput", "an example of how days grow with time lost"),
    "11": ("% more days at goodput 0.90", "1 / 0.90 - 1"),
    "1": ("goodput", "no ramp-up, evaluation, saving or restarts: 1"),
    str(MOST): ("rows of each model and system in a ranking", "unless --all is given"),
    "16": ("bits of a number format", "assumed where none is stated: fp16 or bf16"),
    "1024": ("TFLOPs in an Est. Aggr. PetaFLOPs", "as the documents define it (A1)"),
}
_WANTED = (MODEL, HARDWARE, "F8", *(f"F{n}" for n in (1, 2, 3, 4, 5, 6, 7, 9, 10, 12, 13)))
_SUGGESTED = """SELECT DISTINCT s.uri, f.line, f.rule, f.title, f.evidence, f.suggestion
    FROM findings f JOIN selected s USING (run_id)
    WHERE f.severity = 'error' AND contains(replace(f.suggestion, ',', ''), ?) ORDER BY ALL"""


def on_pages(context: ExplainContext, number: PrintedNumber) -> Iterator[Match]:
    """All such numbers that print like `number`."""
    yield from counts(context, number)
    for budget in context.budgets:
        yield from _budget(context, budget, number)
        yield from _reference(context, budget, number)
        yield from _repaired(context, budget, number)
        yield from _pooled(context, budget, number)
    yield from _implied(context, number)
    yield from _peaks(context, number)
    yield from _sources(context, number)
    yield from _tables(context, number)
    yield from _rows(context, number)
    if number.digits in _CONSTANTS:
        name, why = _CONSTANTS[number.digits]
        yield Match("page", "a constant", Node(name, number.value, note=why))


def counts(context: ExplainContext, number: PrintedNumber) -> Iterator[Match]:
    """Counts of runs in the first paragraph, of failures, of rows not shown."""
    filters = {name: f for f, name in _FILTER.findall(statements("model")["counts"])}
    parts = {name: f"count(*) FILTER ({f})" for name, f in filters.items()} | _COUNTS
    query = ", ".join(f"{part} AS {name}" for name, part in parts.items())
    [found] = context.cached(
        "counts", lambda: context.warehouse.dicts(f"SELECT {query} FROM selected")
    )
    for name, value in found.items():
        if number.digits == str(value):
            condition = filters.get(name, parts[name])
            yield _count(context, name, value, condition if name in filters else "")
    yield from _groups(context, number)


def _count(context: ExplainContext, name: str, value: int, condition: str) -> Match:
    query = f"SELECT uri, line FROM selected WHERE {condition or 'true'} ORDER BY uri, line"
    rows = context.warehouse.rows(query)
    shown = tuple(
        Node(f"{position}", "", place=SourceSpan(uri, line, None, context.lines.text(uri, line)))
        for position, (uri, line) in enumerate(rows[:12], 1)
    )
    rest = f"{len(rows) - len(shown)} more: bench runs --all" if len(rows) > len(shown) else ""
    how = Arithmetic(f"count of runs where {condition}" if condition else _COUNTS.get(name, ""))
    node = Node(name, value, "runs" if condition else "", how=how, note=rest,
                inputs=shown if condition else ())  # fmt: skip
    return Match("page", "a count of the page", node)


def _groups(context: ExplainContext, number: PrintedNumber) -> Iterator[Match]:
    failures = statements("model")["failures"]
    for row in context.cached("failures", lambda: context.warehouse.dicts(failures)):
        if number.digits == str(row["runs"]):
            yield _count(context, row["status"], row["runs"], f"status = '{row['status']}'")
    shown, every = context.cached("ranked", lambda: _ranked(context))
    if number.digits == str(every - shown):
        how = Arithmetic(f"{every} ranked runs - {shown} shown, {MOST} of each model and system")
        yield Match("page", "a count of the page", Node("runs not shown", every - shown, how=how))


def _ranked(context: ExplainContext) -> tuple[int, int]:
    """The runs in the ranking as shown, and all of them."""
    rows, every = _reduced(context).fastest(MOST)
    return len(ranking(rows, context.budget, MOST)), every


def _reduced(context: ExplainContext) -> PageRows:
    return context.cached("reduced", lambda: PageRows(context.warehouse))


def _budget(context: ExplainContext, budget: Budget, number: PrintedNumber) -> Iterator[Match]:
    plan = _budget_node(context, budget)
    for node in (plan, *plan.inputs):
        if not isinstance(node.value, int):
            continue
        if any(number.is_in(text) for text in (as_number(node.value), as_tokens(node.value))):
            yield Match("page", "the budget of the page", node)


def _budget_node(context: ExplainContext, budget: Budget) -> Node:
    # A budget refers to no column.
    return of_number(budget.number, context.lines, lambda column: Node(column.name, None))


def _reference(context: ExplainContext, budget: Budget, number: PrintedNumber) -> Iterator[Match]:
    """Days at the reference step times of the page."""
    steps = budget.steps
    if steps is None or budget.tokens_per_step is None:
        return
    stated = {
        row[0]
        for row in context.warehouse.rows(
            """SELECT DISTINCT try_cast(detail['step_time_s'] AS DOUBLE) FROM statements
               WHERE kind = 'days' AND uri IN (SELECT uri FROM selected)"""
        )
    }
    for time in sorted({A_SECOND, *filter(None, stated)}):
        given = Node("step_time_s", time, "s", note="a step time of the page")
        if number.is_in(f"{time:g}"):
            yield Match("page", "days at a step time", given)
        days = steps * time / SECONDS_A_DAY
        if number.is_in(f"{days:,.2f}"):
            how = by_formula("D1", "steps x step_time_s / 86400")
            inputs = (_budget_node(context, budget), given)
            node = Node("days", days, "days", how=how, inputs=inputs)
            yield Match("page", "days at a step time", node)


def _repaired(context: ExplainContext, budget: Budget, number: PrintedNumber) -> Iterator[Match]:
    """Days of excluded rows, and step times of others derived from TFLOPs."""
    faster = statements("model")["faster"]
    for row in context.cached(
        f"faster {budget.parameters}", lambda: context.warehouse.dicts(faster, budget.parameters)
    ):
        if number.is_in(days_words(row["days"])):
            note = f"as the audit suggests: {row['suggestion']}" if row["seconds"] else "as printed"
            place = SourceSpan(row["uri"], row["line"])
            yield Match(
                "page", "an excluded row", Node("days", row["days"], place=place, note=note)
            )


def _implied(context: ExplainContext, number: PrintedNumber) -> Iterator[Match]:
    """Step times that printed TFLOPs imply."""
    for run, seconds in context.cached(
        "implied", lambda: implied_seconds(context.warehouse)
    ).items():
        if number.is_in(significant(seconds, 3)):
            for one in context.runs("run_id = ?", run):
                place = SourceSpan(one.row["uri"], one.row["line"])
                note = "what its printed TFLOPs tell by the formula of its table"
                node = Node("step_time_s", seconds, "s", place=place, note=note)
                yield Match("page", "a step time that is not printed", node)


def _pooled(context: ExplainContext, budget: Budget, number: PrintedNumber) -> Iterator[Match]:
    """Device-days pooled over repeats."""
    rows = _reduced(context).repeated(budget, number.limits())
    for row in ranking(rows, budget, 0):
        if row["jobs"] > 1 and number.is_in(significant(row["device_days"], 3)):
            how = Arithmetic(f"days x devices, days at the median speed of {row['jobs']} jobs")
            days = Node("days", row["days"], "days")
            place = SourceSpan(row["uri"], row["line"])
            node = Node("device_days", row["device_days"], how=how, inputs=(days,), place=place)
            yield Match("page", "repeats as one row", node)


def _peaks(context: ExplainContext, number: PrintedNumber) -> Iterator[Match]:
    """Dense peaks of the devices, the denominators of MFU."""
    query = "SELECT DISTINCT peak_name, peak_tflops FROM selected WHERE peak_tflops IS NOT NULL"
    for name, peak in context.cached("peaks", lambda: context.warehouse.rows(query)):
        if number.is_in(as_number(peak)):
            yield Match("page", "a peak", Node(name, peak, "TFLOP/s", note="hardware.toml"))


def _sources(context: ExplainContext, number: PrintedNumber) -> Iterator[Match]:
    sources = statements("model")["sources"]
    for row in context.cached("sources", lambda: context.warehouse.dicts(sources)):
        for name, what in (
            ("rows", "runs of this source on the page"),
            ("all_rows", "runs of this source"),
            ("first_line", "first line of its runs"),
            ("last_line", "last line of its runs"),
        ):
            if number.digits == str(row[name]):
                place = SourceSpan(row["uri"], row[name] if "line" in name else None)
                node = Node(name, row[name], place=place, note=what)
                yield Match("page", "the list of sources", node)


def _tables(context: ExplainContext, number: PrintedNumber) -> Iterator[Match]:
    query = """SELECT uri, number, header_line FROM tables
               WHERE number = ? AND uri IN (SELECT uri FROM selected) ORDER BY uri"""
    if number.digits.isdigit() and len(number.digits) < 7:
        for uri, place, line in context.warehouse.rows(query, [int(number.digits)]):
            span = SourceSpan(uri, line, None, context.lines.text(uri, line))
            note = "benchmark tables of a document count from 1"
            node = Node("table", place, note=note, place=span)
            yield Match(context.where(uri, line), "the number of a table", node)


def _rows(context: ExplainContext, number: PrintedNumber) -> Iterator[Match]:
    """Line numbers of rows and headings on pages."""
    query = """SELECT DISTINCT uri, line FROM (
            SELECT uri, line FROM selected
            UNION ALL SELECT uri, header_line FROM tables
            UNION ALL SELECT uri, unnest(heading_lines) FROM tables)
        WHERE line = ? AND uri IN (SELECT uri FROM selected) ORDER BY uri"""
    if number.digits.isdigit() and len(number.digits) < 10:
        for uri, line in context.warehouse.rows(query, [int(number.digits)]):
            place = SourceSpan(uri, line, None, context.lines.text(uri, line))
            yield Match(
                context.where(uri, line), "the number of a line", Node("line", line, place=place)
            )


def restated(context: ExplainContext, number: PrintedNumber) -> Iterator[Match]:
    """Runs whose TFLOP/s or MFU, restated by some formula, print like `number`."""
    seen: set[tuple[str, str]] = set()
    for one in context.cached("restated", lambda: _restatements(context)):
        if (one.run_id, one.formula) not in seen and (name := _printed_as(number, one)):
            seen.add((one.run_id, one.formula))
            yield _restated_match(context, one, name)


def _restatements(context: ExplainContext) -> list[RestatedRun]:
    chosen = {run_id for (run_id,) in context.warehouse.rows("SELECT run_id FROM selected")}
    every = restate_all(context.warehouse, _WANTED).values()
    return [one for found in every for one in found if one.run_id in chosen]


def _printed_as(number: PrintedNumber, one: RestatedRun) -> str:
    """The field of a restated rate that prints like `number`."""
    texts = {
        "tflops": significant(one.value, 3) if one.value is not None else "",
        "share": percent(one.share, 1) if one.share is not None else "",
        "printed": significant(one.printed, 4) if one.printed is not None else "",
        "printed_by": one.printed_by,
        "why": one.why,
    }
    return next((name for name, text in texts.items() if text and number.is_in(text)), "")


def _restated_match(context: ExplainContext, one: RestatedRun, name: str) -> Match:
    run = next(context.runs("run_id = ?", one.run_id))
    line: int | None = run.row["line"]
    place = SourceSpan(run.uri, line, None, context.lines.text(run.uri, line) if line else "")
    values: dict[str, tuple[Any, str]] = {
        "tflops": (one.value, "TFLOP/s of a process"),
        "share": (one.share, "of the device's dense peak"),
        "printed": (one.printed, "TFLOP/s as printed"),
        "printed_by": (one.printed_by, ""),
        "why": (one.why, ""),
    }
    value, unit = values[name]
    computed = name in ("tflops", "share") and one.formula
    node = Node(
        name, value, unit, one.low if name == "tflops" else None,
        one.high if name == "tflops" else None,
        how=by_formula(one.formula, "FLOP of a step / (step_time_s x world_size)")
        if computed else Arithmetic(f"printed by {one.printed_by}") if name == "printed" else None,
        inputs=(measured(run, "step_time_s"), of_column(run, "world_size")) if computed else (),
        place=None if computed else place,
        note=one.why if computed else "",
    )  # fmt: skip
    where = context.where(run.uri, line)
    return Match(where, f"by {one.formula}" if computed else "of the table of restated rates", node)


def suggested(context: ExplainContext, number: PrintedNumber) -> Iterator[Match]:
    """Findings whose suggestion contains the number."""
    for uri, line, rule, title, evidence, suggestion in context.warehouse.rows(
        _SUGGESTED, [number.digits]
    ):
        if number.is_in(suggestion):
            place = SourceSpan(uri, line, None, context.lines.text(uri, line))
            node = Node("suggestion", suggestion, place=place, note=f"{rule}: {title}: {evidence}")
            yield Match(context.where(uri, line), f"suggested by {rule}", node)
