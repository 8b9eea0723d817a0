"""Numbers of `bench best`, `days`, `compare`, `report scaling`: by run, by text, of two sides.

Decisions record the derivation of their numbers; numbers without a record are columns of runs, or
medians over jobs in their rows.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path

from ..decide.answers import compared, effects, lasting, ranked, scaled, two_sides
from ..decide.eligible import Candidates, Rows, candidates
from ..decide.jobs import MEASURED, by_job
from ..decide.lookup import find_run, source_named
from ..decide.provenance import Column, Number
from ..decide.query import Query, is_condition, may_be_run
from ..decide.rows import Decision
from ..decide.selection import select
from ..schema.catalogue import values
from ..schema.errors import BenchError
from ..schema.warehouse import Row
from .answer_columns import COMMANDS, OWN, UNITS
from .columns import count, of_column, of_number, of_places
from .context import ExplainContext
from .number import (
    SMALL,
    Limits,
    PrintedNumber,
    ends_of,
    is_near,
    is_number,
    limits_of,
    prints,
    shows,
)
from .tree import Arithmetic, Match, Node


@dataclass
class DecisionContext:
    """An index of the numbers of a decision."""

    context: ExplainContext
    command: str
    decision: Decision

    def rows_of(self, name: str) -> Mapping[str, Row]:
        """The first row of each run, by run id; `name` is the column of runs or of base runs."""
        rows: dict[str, Row] = {}
        for row in self.decision.rows:
            for job in row.get(name, ()):
                for run in job:
                    rows.setdefault(run, row)
        return rows

    @cached_property
    def numbers(self) -> list[tuple[float, int, int]]:
        """All numbers of the rows and the ends of their ranges, sorted: the value, the index of
        its row, and that of its column in `columns`."""
        return sorted(
            (value, at, place)
            for at, row in enumerate(self.decision.rows)
            for place, name in enumerate(columns(self.command))
            for value in ends_of(row, name)
            if is_number(value)
        )

    def near(self, limits: Limits) -> Iterator[tuple[Row, str]]:
        """The numbers of rows that may print so, row by row: formatting is slow, and most values
        are far off."""
        found: set[tuple[int, int]] = set()
        for low, high in ((-SMALL, SMALL), *limits):
            first = bisect_left(self.numbers, low, key=itemgetter(0))
            last = bisect_right(self.numbers, high, key=itemgetter(0))
            found.update((at, place) for _, at, place in self.numbers[first:last])
        names = columns(self.command)
        for at, place in sorted(found):
            yield self.decision.rows[at], names[place]

    def derive(self, row: Row, name: str) -> Node | None:
        """A number of a row; None where the row has none."""
        return None if row.get(name) is None else self._node(row, name)

    def _node(self, row: Row, name: str) -> Node:
        made = row["derivations"].get(name)
        if made is None:
            return self._of_runs(row, name)
        if isinstance(made, Column):
            return replace(self._column(row, made), name=name)
        low, high = (row.get(f"{name}_{end}") for end in ("low", "high"))
        return self.of_number(Number(name, row.get(name), made, low, high), row)

    def of_number(self, number: Number, row: Row | None = None) -> Node:
        """The tree of a number from its record, which may refer to columns of `row`."""
        return of_number(number, self.context.lines, lambda one: self._column(row or {}, one))

    def _column(self, row: Row, column: Column) -> Node:
        node = self._node(row if column.row is None else column.row, column.name)
        return replace(node, name=column.called) if column.called else node

    def _of_runs(self, row: Row, name: str) -> Node:
        """A number without a record: of the row's only run, a fit, or the median over its jobs."""
        if row["basis"] == "fit":
            low, high = (row.get(f"{name}_{end}") for end in ("low", "high"))
            note = str(row["range_from"]) if name in MEASURED else "of the requested size"
            return Node(name, row.get(name), UNITS.get(name, ""), low, high, note=note)
        members = row.get("members", ())
        if len(members) < 2 or name not in (*MEASURED, "pace"):
            return self._of_run(row, name)
        unit = UNITS.get(name, "")
        jobs = tuple(self._of_job(name, value, runs) for value, runs in by_job(members, name))
        if len(jobs) == 1:
            return jobs[0]
        return Node(
            name, row[name], unit, how=Arithmetic(f"median of {len(jobs)} jobs"), inputs=jobs
        )

    def _of_job(self, name: str, value: float, runs: Sequence[Row]) -> Node:
        nodes = tuple(self._node(run, name) for run in runs)
        if len(nodes) == 1:
            return nodes[0]
        how = Arithmetic(f"median of the {len(nodes)} segments of a log")
        return Node(name, value, UNITS.get(name, ""), how=how, inputs=nodes)

    def _of_run(self, row: Row, name: str) -> Node:
        """A column of the row's first run: columns that are not measured are equal for all runs."""
        run = self.context.run(row["run"])
        if name == "device_count":
            return count(run)
        # The row may complete a stated value, as DP from TP, PP and devices.
        return of_column(run, name) if name in values() else run.stated(name, value=row.get(name))


def columns(command: str) -> tuple[str, ...]:
    """The number columns of an answer."""
    return (*MEASURED, *OWN[command])


def commands_with(name: str) -> list[str]:
    """The commands with this column."""
    return [command for command in OWN if name in columns(command)]


def decisions(context: ExplainContext, query: Query) -> Iterator[DecisionContext]:
    """All answers to the query; comparisons by the columns that it names, else by settings."""
    for command in COMMANDS:
        if (decision_context := decision(context, query, command)) is not None:
            yield decision_context
    yield from _of_effects(context, query)


def decision(context: ExplainContext, query: Query, command: str) -> DecisionContext | None:
    """The answer of one command, cached; None where there is none."""
    return context.cached(command, lambda: _decided(context, query, command))


def _of_effects(context: ExplainContext, query: Query) -> Iterator[DecisionContext]:
    """The effects of each flag on the page of a model, unless the query names a comparison."""
    chosen = context.cached("candidates", lambda: _chosen(context, query))
    if query.compared_by is not None or chosen is None:
        return

    def made() -> list[DecisionContext]:
        decision_contexts = [
            DecisionContext(context, "bench compare", effect) for effect in effects(chosen)
        ]
        _select_again(context, query)
        return decision_contexts

    yield from context.cached("effects", made)


def _decided(context: ExplainContext, query: Query, command: str) -> DecisionContext | None:
    chosen = context.cached("candidates", lambda: _chosen(context, query))
    if chosen is None:
        return None
    ways: dict[str, Callable[[], Decision]] = {
        "bench best": lambda: ranked(context.warehouse, chosen, query),
        "bench days": lambda: lasting(context.warehouse, query, chosen),
        "bench report scaling": lambda: scaled(chosen),
        "bench compare": lambda: compared(chosen, query.compared_by or "settings", query.base),
    }
    try:
        return DecisionContext(context, command, ways[command]())
    except BenchError:
        if command == "bench compare" and query.compared_by is not None:
            raise  # requested by name
        if command == "bench days" and query.of_days():
            raise
        return None
    finally:
        _select_again(context, query)


def _chosen(context: ExplainContext, query: Query) -> Candidates | None:
    try:
        return candidates(context.warehouse, query)
    except BenchError:  # no run, so no answer
        _select_again(context, query)
        return None


def _select_again(context: ExplainContext, query: Query) -> None:
    """Select all runs of the model again, since the decision has filtered them."""
    select(context.warehouse, Query(model=query.model))


def of_run(context: ExplainContext, query: Query, run: str, name: str) -> Iterator[Match]:
    """A column of a run's rows in every answer that has it."""
    for answer in decisions(context, query):
        row = answer.rows_of("runs").get(run)
        if row is None and name in OWN["bench compare"]:
            row = answer.rows_of("runs_base").get(run)
        if row is not None and name in columns(answer.command):
            yield from _matched(answer, row, name)


def of_sides(context: ExplainContext, query: Query, words: tuple[str, str]) -> Iterator[Match]:
    """The speed-ups of one side over the other: runs, conditions or sources."""
    before, after = (_side(context, query, word) for word in words)
    _select_again(context, query)
    made = two_sides(words, before, after, all(is_condition(word) for word in words))
    answer = DecisionContext(context, "bench compare", made)
    for row in made.rows:
        for name in ("speedup", "p_value"):
            yield from _matched(answer, row, name)


def _matched(answer: DecisionContext, row: Row, name: str) -> Iterator[Match]:
    if (node := answer.derive(row, name)) is not None:
        where = f"{answer.context.where(row['uri'], row['line'])}.{name}"
        yield Match(where, f"of {answer.command}", node)


def _side(context: ExplainContext, query: Query, word: str) -> Rows:
    """The runs of one side."""
    if is_condition(word):
        return candidates(context.warehouse, query.also(word)).eligible("pace")
    if not may_be_run(word):
        return _sources(context, query, word)
    run = find_run(context.warehouse, word)
    return _eligible(candidates(context.warehouse, query), lambda row: row["run"] == run)


def _eligible(chosen: Candidates, wanted: Callable[[Row], bool]) -> Rows:
    return replace(chosen, rows=list(filter(wanted, chosen.rows))).eligible("pace")


def _sources(context: ExplainContext, query: Query, word: str) -> Rows:
    """The runs of a source, or of all below a folder; raises BenchError for anything else."""
    everything = candidates(context.warehouse, query)
    if Path(word).is_absolute():
        word = Path(os.path.relpath(word, context.lines.root)).as_posix()
    below = f"{word.removeprefix('./').rstrip('/')}/"
    if any(row["uri"].startswith(below) for row in everything.rows):
        return _eligible(everything, lambda row: row["uri"].startswith(below))
    try:
        source_named(context.warehouse, word)
    except BenchError as error:
        raise BenchError(
            f"{word!r} is no run, condition, source or folder of sources here",
            why="revisions and other warehouses are compared, but not explained",
            hint="check out the revision in another folder: bench explain 'NEW / OLD' OLD NEW",
        ) from error
    return candidates(context.warehouse, replace(query, document=word)).eligible("pace")


def on_answer(
    context: ExplainContext, query: Query, target: PrintedNumber, command: str
) -> Iterator[Match]:
    """The numbers of an answer that print like the target: of rows, sentences, and counts."""
    decision_context = decision(context, query, command)
    answers = [decision_context] if decision_context else []
    answers += _of_effects(context, query) if command == "bench compare" else ()
    for answer in answers:
        yield from _on_decision(answer, target)


def _on_decision(answer: DecisionContext, target: PrintedNumber) -> Iterator[Match]:
    near = limits_of(target)
    command = answer.command
    for row, name in answer.near(near):
        if shows(row, name, target, near):
            yield from _matched(answer, row, name)
    # Others are not derived: a tree may have a node for each row.
    for number in answer.decision.facts["numbers"]:
        ends = (number.value, number.low, number.high)
        if any(is_near(value, near) and prints(target, value) for value in ends):
            yield Match(command, "in its text", answer.of_number(number))
    yield from _counts(answer, target)


def _counts(answer: DecisionContext, target: PrintedNumber) -> Iterator[Match]:
    """The counts of rows, of excluded rows, and of those by reason."""
    if not target.digits.isdigit():
        return
    left_out = answer.decision.left_out
    groups: dict[str, list[str]] = {
        "rows": [row["where"] for row in answer.decision.rows],
        "left_out": [row["where"] for row in left_out],
    }
    for row in left_out:
        groups.setdefault(f"left out: {row['left_out']}", []).append(row["where"])
    for name, places in groups.items():
        # Lists of places are cut after 12, those of rows after 20, with a count of the rest.
        if target.digits in (str(len(places)), str(len(places) - 12), str(len(places) - 20)):
            how = Arithmetic("count; the first 12 places, or 20 rows, are listed")
            node = Node(name, len(places), how=how, inputs=of_places(answer.context.lines, places))
            yield Match(answer.command, "a count", node)
