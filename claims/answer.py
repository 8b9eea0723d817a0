"""The answer to a question, computed from a warehouse, with its rows, lines and derivation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..decide.answers import lasting, ranked
from ..decide.budget_choice import planned
from ..decide.eligible import candidates
from ..decide.query import Query
from ..decide.rows import Decision
from ..decide.selection import select
from ..explain.columns import derive
from ..explain.context import ExplainContext, explain_context
from ..explain.decisions import DecisionContext
from ..explain.run import run_context
from ..explain.tree import Node
from ..schema.catalogue import metrics
from ..schema.errors import BenchError
from ..schema.sql import digest, sql_files
from ..schema.warehouse import Warehouse
from .question import OF_DAYS, Question
from .statement import Derivation, Place, Result, Row

DIGITS = 12
_ROW = Mapping[str, Any]
_SOURCES = "SELECT unnest(uris) AS uri, sha256, kind, lines FROM sources ORDER BY uri"


@dataclass(frozen=True, slots=True)
class Source:
    """A source: its digest when read, kind and number of lines."""

    sha256: str
    kind: str
    lines: int


@dataclass(frozen=True, slots=True)
class ClaimAnswer:
    """The answer, its rows and derivation; `places` are the lines it is computed from."""

    result: Result
    rows: tuple[Row, ...]
    derivation: Derivation
    formulas: Mapping[str, str]
    places: frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class _AnsweringRow:
    """The answering row: its value, runs, derivation, and the number of rows it was chosen from."""

    value: float
    ends: tuple[float | None, float | None]
    runs: Sequence[_ROW]
    tree: Node
    considered: int


def sources_of(warehouse: Warehouse) -> dict[str, Source]:
    """Every source of the warehouse, by name."""
    return {uri: Source(*one) for uri, *one in warehouse.rows(_SOURCES)}


def answered(warehouse: Warehouse, root: Path, question: Question) -> ClaimAnswer:
    """Answer the question from a warehouse; sources lie below `root`.

    Raises BenchError without an answer, or if several runs have the value.
    """
    select(warehouse, Query())
    query = question.query(warehouse)
    context = explain_context(warehouse, root, Query(model=query.model))
    ways = {"best": _best, "days": _days, "value": _value}
    found = ways[question.answer](context, query, question.metric)
    known = sources_of(warehouse)
    runs = {(run["uri"], run["line"]) for run in found.runs}
    rows = (
        Row(source=known[uri].sha256, line=line, text=_text(context, known, uri, line))
        for uri, line in sorted(runs)
    )
    low, high = map(rounded, found.ends)
    result = Result(value=rounded(found.value), unit=found.tree.unit, low=low, high=high,
                    runs=found.considered)  # fmt: skip
    places = frozenset(runs | found.tree.places())
    return ClaimAnswer(
        result, tuple(dict.fromkeys(rows)), _derivation(found.tree, known),
        used(found.tree), places,
    )  # fmt: skip


def fixed(warehouse: Warehouse, question: Question, query: Query) -> Question:
    """The question with its training length filled in, unless a source states the days itself."""
    if question.metric not in OF_DAYS:
        return question.model_copy(update={"tokens": None, "steps": None})
    select(warehouse, Query(model=question.model))
    plan = planned(warehouse, query)
    if plan.origin == "stated":
        return question
    return question.model_copy(update={"tokens": plan.tokens, "steps": plan.steps})


def used(tree: Node) -> dict[str, str]:
    """The formulas and metrics used by a derivation, each with the digest of its SQL."""
    nodes, of_column = list(tree.walk()), {metric.column: metric.name for metric in metrics()}
    names = {f"formulas/{node.how.formula}" for node in nodes if node.how and node.how.formula}
    names |= {f"metrics/{of_column[node.name]}" for node in nodes if node.name in of_column}
    return {name: made for name, made in sorted(digests().items()) if name in names}


def digests() -> dict[str, str]:
    """The digest of the SQL of every formula and metric."""
    folders = ("formulas", "metrics")
    return {
        f"{folder}/{name}": digest(text) for folder in folders for name, text in sql_files(folder)
    }


def rounded(value: float | None) -> Any:  # Any: None for None, a number for a number
    """A number rounded to the digits that are the same on every machine."""
    if isinstance(value, bool) or not isinstance(value, float):
        return value
    return float(f"{value:.{DIGITS}g}")


def _best(context: ExplainContext, query: Query, metric: str) -> _AnsweringRow:
    made = ranked(context.warehouse, candidates(context.warehouse, query), query)
    return _first(context, query, "bench best", made, made.facts["order"].column)


def _days(context: ExplainContext, query: Query, metric: str) -> _AnsweringRow:
    decision = lasting(context.warehouse, query)
    return _first(context, query, "bench days", decision, metric)


def _first(
    context: ExplainContext, query: Query, command: str, decision: Decision, column: str
) -> _AnsweringRow:
    rows = [row for row in decision.rows if row.get(column) is not None]
    if not rows:
        left = next(iter(decision.left_out), None)
        raise BenchError("no run answers", hint="bench best lists what is left out, and why",
                         why=f"{left['where']}: {left['left_out']}" if left else "")  # fmt: skip
    select(context.warehouse, Query(model=query.model))
    row = rows[0]
    tree = DecisionContext(context, command, decision).derive(row, column)
    assert tree is not None, "the row has a value"
    ends = row.get(f"{column}_low"), row.get(f"{column}_high")
    return _AnsweringRow(row[column], ends, row.get("members") or [row], tree, len(decision.rows))


def _value(context: ExplainContext, query: Query, metric: str) -> _AnsweringRow:
    rows = [row for row in candidates(context.warehouse, query).rows if row.get(metric) is not None]
    if len(rows) != 1:
        listed = ", ".join(row["where"] for row in rows[:12])
        raise BenchError(f"{len(rows)} runs have a value of {metric}", why=listed,
                         hint="where names one of them: where line = 44")  # fmt: skip
    select(context.warehouse, Query(model=query.model))
    [row] = rows
    if isinstance(row[metric], bool) or not isinstance(row[metric], (int, float)):
        raise BenchError(f"{metric} is no number", hint="claim a metric")
    tree = derive(run_context(context.warehouse, context.lines, row["run"]), context.budget, metric)
    return _AnsweringRow(float(row[metric]), (tree.low, tree.high), rows, tree, 1)


def _text(context: ExplainContext, known: Mapping[str, Source], uri: str, line: int) -> str:
    """A line's text; records and members of archives have none."""
    text, state = context.lines.text(uri, line), context.lines.state(uri)
    if state and known[uri].kind != "record" and "!/" not in uri:
        raise BenchError("a claim quotes the lines that it rests on", why=state,
                         hint="bench ingest again, where the sources are")  # fmt: skip
    return text


def _derivation(node: Node, known: Mapping[str, Source]) -> Derivation:
    place = None
    if node.place:
        sha256 = known[node.place.uri].sha256 if node.place.uri in known else None
        place = Place(source=sha256, line=node.place.line,
                      column=node.place.column, text=node.place.raw)  # fmt: skip
    return Derivation(
        name=node.name, value=rounded(node.value), unit=node.unit,  # type: ignore[arg-type]  # texts stay
        expression=node.how.expression if node.how else "",
        formula=node.how.formula if node.how else "", note=node.note, place=place,
        inputs=tuple(_derivation(child, known) for child in node.inputs),
    )  # fmt: skip
