"""Search for a bare number: all values, printed or computed, with these digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from math import isfinite
from typing import Any

from ..decide.budget import Budget
from ..reports.words import step_time
from ..schema.catalogue import metrics, values
from ..schema.warehouse import Row
from ..vocabulary.cell_pieces import half_digit
from ..vocabulary.format import days, days_words, params, range_text, seconds, significant, tokens
from ..vocabulary.format import number as as_number
from .columns import derive, names
from .context import ExplainContext
from .number import PrintedNumber
from .page import on_pages, suggested
from .statistic import statistic
from .tree import Match, Node, SourceSpan

# Days by the speeds of a budget, of tokens or of steps. They only find runs that may print a
# number: what is shown is derived, as everywhere.
_DAYS = (
    *(f"d1(coalesce($tokens, $steps * tokens_per_step), nullif(tokens_per_s{end}, 0))"
      for end in ("", "_low", "_high")),
    *(f"d1($steps, 1 / nullif(step_time_{end}, 0))" for end in ("s", "low", "high")),
)  # fmt: skip
# Inputs of derived texts, by column name.
_MORE = (
    ("params_computed", "params_stated"),
    ("params_computed", "params_b * 1e9"),
    *(("days", days_at) for days_at in _DAYS),
    *(("device_days", f"{days_at} * coalesce(devices, world_size)") for days_at in _DAYS),
)
_VALUES = """SELECT * FROM (
        SELECT run_id, unnest([{names}]) AS name, unnest([{values}]) AS value FROM selected
    ) WHERE value IS NOT NULL"""


def known(context: ExplainContext, number: PrintedNumber) -> Iterator[Match]:
    """Matches: printed numbers first, then computed ones of runs, then those of pages."""
    stated = chain(_cells(context, number), _lines(context, number), _series(context, number))
    seen: set[tuple[str, int | None, int | None]] = set()
    for match in stated:
        place = match.tree.place
        key = (place.uri, place.line, place.column) if place else ("", None, None)
        if key not in seen:
            seen.add(key)
            yield match
    yield from _computed(context, number)
    yield from _statistics(context, number)
    yield from on_pages(context, number)
    yield from suggested(context, number)


def _computed(context: ExplainContext, number: PrintedNumber) -> Iterator[Match]:
    """Computed values of runs; stated ones are found at their place."""
    context.cached("explained", lambda: _write_values(context))
    # Filtered in SQL: Python would format some thirty values in five ways for each run.
    limits = [pair for pair in number.limits() if all(map(isfinite, pair))]
    near = " OR ".join(f"value BETWEEN {low!r} AND {high!r}" for low, high in limits) or "false"
    query = f"SELECT run_id, list(DISTINCT name) FROM explained WHERE {near} GROUP BY run_id"
    found: dict[str, list[str]] = dict(context.warehouse.rows(query))
    if not found:
        return
    printing = [
        (run, name, budget)
        for run in context.runs("list_contains(?::VARCHAR[], run_id)", list(found))
        for name in found[run.run_id]
        if (budget := _printed_with(context, number, run.row, name))
    ]
    # What pages lead with first, of all runs: days, then what a run's summary has.
    order = names()
    for run, name, budget in sorted(printing, key=lambda one: order.index(one[1])):
        tree = derive(run, budget, name)
        # Stated values were found as cells or lines already.
        if tree.how is not None:
            where = context.where(run.uri, run.row["line"])
            yield Match(f"{where}.{name}", "computed", tree)


def _printed_with(
    context: ExplainContext, number: PrintedNumber, row: Row, name: str
) -> Budget | None:
    """The budget with which a page prints the number as this value of a run."""
    # Pages of its model have its budget, pages of several models that of all; where that is a
    # unit, the answers name the budget of its own document too.
    shared = dict.fromkeys((context.budget_of(row), context.budget))
    own = (one for budget in shared for one in budget.of_document(row))
    for budget in (*shared, *own):
        if _prints(number, _texts(row, budget, name), row.get(name)):
            return budget
    return None


def _write_values(context: ExplainContext) -> None:
    """Write a table of all numbers in texts of the selected runs, one row each."""
    columns = {name: name for name in values()}
    for metric in metrics():
        ends = (name for name in metric.columns if name.endswith(("_low", "_high")))
        columns |= dict.fromkeys(ends, metric.column)
    pairs = [*((name, column) for column, name in columns.items()), *_MORE]
    sums = ", ".join(f"({column})::DOUBLE" for _, column in pairs)
    quoted = ", ".join(f"'{name}'" for name, _ in pairs)
    written = "CREATE OR REPLACE TEMP TABLE explained AS"
    for budget in context.budgets:
        of = sums
        for name, value in budget.parameters.items():
            of = of.replace(f"${name}", f"{'NULL' if value is None else repr(value)}::DOUBLE")
        context.warehouse.rows(f"{written} {_VALUES.format(names=quoted, values=of)}")
        written = "INSERT INTO explained"


def _prints(number: PrintedNumber, shown: list[str], value: Any) -> bool:
    if any(number.is_in(text) for text in shown):
        return True
    return isinstance(value, float) and number.rounds_from(value)


def _statistics(context: ExplainContext, number: PrintedNumber) -> Iterator[Match]:
    """Windows, n, ends and spreads of the statistics of logs."""
    query = "SELECT * FROM run_stats SEMI JOIN selected USING (run_id) ORDER BY run_id, metric"
    for row in context.cached("statistics", lambda: context.warehouse.dicts(query)):
        shown = {
            "n": [str(row["n"])],
            "lines": [str(row["lines"])],
            "window": [str(row["first_iteration"]), str(row["last_iteration"])],
            "median": _median(row),
            "range": [range_text(row["min"], row["max"], "seconds"), seconds(row["min"]),
                      seconds(row["max"])],
            "mean": [significant(row["mean"], 6)],
            "p95": [significant(row["p95"], 6)],
            "stddev": [significant(row["stddev"], 3)] if row["stddev"] is not None else [],
        }  # fmt: skip
        for name, ways in shown.items():
            if any(number.is_in(text) for text in ways):
                yield from _statistic(context, row, name)
                break


def _median(row: dict[str, Any]) -> list[str]:
    if row["metric"] in values():
        return []  # already found as the run's value
    return [significant(row["median"], 4), as_number(row["median"])]


def _statistic(context: ExplainContext, row: dict[str, Any], part: str) -> Iterator[Match]:
    for run in context.runs("run_id = ?", row["run_id"]):
        node = statistic(run, row["metric"])
        if node is not None:
            where = f"{context.where(run.uri, run.row['line'])}.{row['metric']}"
            yield Match(where, f"{part} of a statistic", node)


_CELLS = """SELECT t.uri, c.*, coalesce(t.headings[c.column_number], '') AS heading
    FROM cells c JOIN tables t USING (table_id)
    JOIN selected r ON r.table_id = c.table_id AND r.row_number = c.row_number
    WHERE contains(replace(c.raw, ',', ''), ?) ORDER BY t.uri, c.line, c.column_number"""
_LINES = """SELECT uri, line, raw, string_agg(DISTINCT what, ', ' ORDER BY what) AS what,
        count(DISTINCT run_id) AS runs
    FROM (
        SELECT r.uri, f.line, f.raw, f.field AS what, f.run_id
            FROM facts f JOIN selected r USING (run_id) WHERE f.how = 'stated' AND f.file IS NULL
        UNION ALL SELECT uri, line, raw, kind, NULL FROM statements
        UNION ALL SELECT r.uri, m.line, m.raw, m.metric, m.run_id
            FROM measurements m JOIN selected r USING (run_id) WHERE r.origin = 'log'
        UNION ALL SELECT uri, unnest(heading_lines), unnest(heading_path), 'heading', NULL
            FROM tables
    ) WHERE contains(replace(raw, ',', ''), ?) AND uri IN (SELECT uri FROM selected)
    GROUP BY uri, line, raw ORDER BY uri, line"""
_COLUMNS = (
    "consumed_samples", "consumed_tokens", "grad_norm", "iteration", "loss", "lr",
    "samples_per_s", "step_time_s", "tflops", "tokens_per_s", "tokens_per_s_per_device",
)  # fmt: skip
_SERIES = f"""SELECT r.uri, i.line, i.iteration, {", ".join(f"i.{name}" for name in _COLUMNS)}
    FROM iterations i JOIN selected r USING (run_id)
    WHERE {
    " OR ".join(
        f"i.{name} BETWEEN $low AND $high OR i.{name}::DOUBLE * 1000 BETWEEN $low AND $high"
        for name in _COLUMNS
    )
} ORDER BY r.uri, i.line"""  # a time may have been printed in ms


def _cells(context: ExplainContext, number: PrintedNumber) -> Iterator[Match]:
    """Cells of published tables that print the number."""
    for row in context.warehouse.dicts(_CELLS, [number.digits]):
        if number.is_in(row["raw"]):
            place = cell_place(context, row)
            where = context.where(row["uri"], row["line"], place.column)
            yield Match(where, f"cell under {row['heading']!r}", cell_node(place, row))


def cell_place(context: ExplainContext, cell: dict[str, Any]) -> SourceSpan:
    """The place of a cell, with the column of its first character."""
    column = context.lines.column(cell["uri"], cell["line"], cell["column_number"], cell["raw"])
    return SourceSpan(cell["uri"], cell["line"], column, cell["raw"])


def cell_node(place: SourceSpan, cell: dict[str, Any]) -> Node:
    """A cell as read."""
    read = cell["name"] or "no column that is known"
    notes = [f"under {cell['heading']!r}, read as {cell['kind']} of {read}"]
    notes += [f"marks {' '.join(cell['marks'])}"] if cell["marks"] else []
    notes += [f"does not fit: {cell['invalid_reason']}"] if cell["invalid_reason"] else []
    value = cell["value"] if cell["value"] is not None else cell["raw"]
    unit = cell["unit"] if cell["value"] is not None and cell["unit"] else ""
    return Node(cell["name"] or cell["heading"], value, unit, place=place,
                note="; ".join(notes))  # fmt: skip


def _lines(context: ExplainContext, number: PrintedNumber) -> Iterator[Match]:
    """Lines around tables, and headers of logs, that state the number."""
    for row in context.warehouse.dicts(_LINES, [number.digits]):
        if number.is_in(row["raw"]):
            text = context.lines.text(row["uri"], row["line"]) or row["raw"]
            place = SourceSpan(row["uri"], row["line"], None, text)
            used = f"for {row['runs']} runs" if row["runs"] > 1 else ""
            where = context.where(row["uri"], row["line"])
            yield Match(where, "stated", Node(row["what"], row["raw"], place=place, note=used))


def _series(context: ExplainContext, number: PrintedNumber) -> Iterator[Match]:
    """Lines of logs that print the number."""
    # Tolerance: half of the last printed digit, or the rounding of a double.
    slack = min(half_digit(number.digits), abs(number.value) * 1e-6) or abs(number.value) * 1e-9
    low, high = number.value - slack, number.value + slack
    for row in context.warehouse.dicts(_SERIES, {"low": low, "high": high}):
        uri, line = row["uri"], row["line"]
        text = context.lines.text(uri, line)
        if text and not number.is_in(text):
            continue
        for name in _COLUMNS:
            value = row[name]
            if value is None or not (low <= value <= high or low <= value * 1000 <= high):
                continue
            note, place = f"iteration {row['iteration']}", SourceSpan(uri, line, None, text)
            node = Node(name, float(value), note=note, place=place)
            yield Match(context.where(uri, line), f"{name} of a logged interval", node)


_WRITERS: Mapping[str, Callable[[Any], str]] = {
    "number": as_number,
    "3 digits": lambda value: significant(value, 3),
    "4 digits": lambda value: significant(value, 4),
    "parameters": params,
    "tokens": tokens,
}
# Texts made from the whole row of `selected`.
_OF_ROWS: Mapping[str, Callable[[Row], str | None]] = {
    "step time": step_time,
    "range of seconds": lambda row: range_text(
        row["step_time_low"], row["step_time_high"], "seconds"
    ),
    # The computed size is the label of a run without a stated one.
    "size": lambda row: row["size"] if row["params_b"] is None else None,
}


def _texts(row: Row, budget: Budget, name: str) -> list[str]:
    """All texts that a page may show for a run's value; empty if it is unknown."""
    if name in ("days", "device_days"):
        return list(_of_a_budget(row, budget, name))
    if row.get(name) is None:
        return []
    found = (
        _OF_ROWS[word](row) if word in _OF_ROWS else _WRITERS[word](row[name])
        for word in values()[name].prints
    )
    return [text for text in found if text]


def _of_a_budget(row: Row, budget: Budget, name: str) -> Iterator[str]:
    value, low, high = (budget.days(row, end) for end in ("", "_high", "_low"))
    many = row["devices"] if row["devices"] is not None else row["world_size"]
    if value is not None and name == "days":
        yield from (days(value), days_words(value), range_text(low, high, "days"))
        yield range_text(low, high, lambda x: as_number(x, 0))
    elif value and many:
        yield significant(value * many, 3)
