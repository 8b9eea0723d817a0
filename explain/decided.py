"""Numbers of `bench best`, `days`, `compare`, `report scaling`: by run, by text, of two sides."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..decide.answer import place
from ..decide.answers import two_sides
from ..decide.asked import is_condition, may_be_run
from ..decide.choosing import Chosen, choose
from ..decide.jobs import pooled as joint
from ..decide.rows import Row, Rows
from ..reports.format import days_words, number, percent, range_text, significant, times
from ..reports.format import tokens as as_tokens
from ..reports.selection import source_named
from ..reports.show import find_run
from ..schema.errors import BenchError
from . import of_best, of_compare, of_days, of_scaling
from .decision import Derive, Question, Told, again, decisions
from .found import Match
from .node import How, Node
from .number import Number
from .places import of_places
from .pooled import MEASURED, pooled
from .world import World


def _measured(name: str) -> Derive:
    return lambda told, row: pooled(told, row, name)


_POOLED: Mapping[str, Derive] = {name: _measured(name) for name in MEASURED}
VALUES: Mapping[str, Mapping[str, Derive]] = {
    "bench best": {**_POOLED, **of_best.VALUES},
    "bench days": {**_POOLED, **of_days.VALUES},
    "bench report scaling": {**_POOLED, **of_scaling.VALUES},
    "bench compare": {**_POOLED, **of_compare.VALUES},
}
_SAID: Mapping[str, Callable[[Told], Iterator[Node]]] = {
    "bench best": of_best.said,
    "bench days": of_days.said,
    "bench report scaling": of_scaling.said,
    "bench compare": of_compare.said,
}
_SMALL = 0.05  # below, few digits are far from their value
NAMES = frozenset(name for values in VALUES.values() for name in values)


def told_by(name: str) -> list[str]:
    """The commands whose rows have a column."""
    return [command for command, values in VALUES.items() if name in values]


def of_run(world: World, question: Question, run: str, name: str) -> Iterator[Match]:
    """A column of the rows that a run went into, in every answer that has it."""
    for told in decisions(world, question):
        derive, row = VALUES[told.command].get(name), told.row_of.get(run)
        if row is None and name in of_compare.VALUES:
            row = told.base_row_of.get(run)
        node = derive(told, row) if derive and row else None
        if row is not None and node is not None and node.value is not None:
            yield Match(f"{_where(told, row)}.{name}", f"of {told.command}", node)


def of_sides(world: World, question: Question, words: tuple[str, str]) -> Iterator[Match]:
    """The speed-ups of one side over another: runs, conditions or sources."""
    chosen, before = _side(world, question, words[0])
    _, after = _side(world, question, words[1])
    again(world, question.asked)
    conditions = all(is_condition(word) for word in words)
    answer = two_sides(words, before, after, conditions)
    known = joint([before.kept, after.kept], "both sides")
    rows = (*before.kept, *after.kept)
    chosen = replace(chosen, spreads={row["uri"]: known for row in rows} if known else {})
    told = Told(world, "bench compare", answer, chosen, question)
    for row in answer.rows:
        for name in ("speedup", "p_value"):
            node = VALUES[told.command][name](told, row)
            if node is not None:
                yield Match(f"{_where(told, row)}.{name}", f"of {told.command}", node)


def _side(world: World, question: Question, word: str) -> tuple[Chosen, Rows]:
    """The runs of the warehouse that one word means."""
    asked = question.asked
    if is_condition(word):
        chosen = choose(world.warehouse, asked.also(word))
        return chosen, chosen.sorted_out("pace")
    if not may_be_run(word):
        return _sources(world, question, word)
    run = find_run(world.warehouse, word)
    chosen = choose(world.warehouse, asked)
    alone = replace(chosen, rows=[row for row in chosen.rows if row["run"] == run])
    return chosen, alone.sorted_out("pace")


def _sources(world: World, question: Question, word: str) -> tuple[Chosen, Rows]:
    """The runs of a source, or of those below a folder; raises BenchError for what is neither."""
    everything = choose(world.warehouse, question.asked)
    if Path(word).is_absolute():
        word = Path(os.path.relpath(word, world.lines.root)).as_posix()
    below = f"{word.removeprefix('./').rstrip('/')}/"
    if rows := [row for row in everything.rows if row["uri"].startswith(below)]:
        return everything, replace(everything, rows=rows).sorted_out("pace")
    try:
        source_named(world.warehouse, word)
    except BenchError as error:
        raise BenchError(
            f"{word!r} is no run, condition, source or folder of sources here",
            why="revisions and other warehouses are compared, but not explained",
            hint="check the revision out beside this one: bench explain 'NEW / OLD' OLD NEW",
        ) from error
    chosen = choose(world.warehouse, replace(question.asked, document=word))
    return chosen, chosen.sorted_out("pace")


def on_answers(world: World, question: Question, asked: Number) -> Iterator[Match]:
    """Every number of the answers that prints so: of rows, of sentences, counts of rows."""
    for told in decisions(world, question):
        for row in told.answer.rows:
            yield from _of_row(told, row, asked)
        # Fits and tests are made once for all numbers.
        for node in world.once(f"said {told.command}", partial(_said, told)):
            if prints(asked, node):
                yield Match(told.command, "said", node)
        yield from _counts(told, asked)


def _said(told: Told) -> list[Node]:
    return list(_SAID[told.command](told))


def _of_row(told: Told, row: Row, asked: Number) -> Iterator[Match]:
    """The columns of a row whose value, or an end of whose range, prints so."""
    for name, derive in VALUES[told.command].items():
        low, high = (row.get(f"{name.removesuffix('_s')}_{end}") for end in ("low", "high"))
        ways = ("days", significant) if name == "days" else ()
        shown = [range_text(low, high, way) for way in ways]
        printed = any(_prints(asked, value) for value in (row.get(name), low, high))
        if not printed and not any(map(asked.stands_in, shown)):
            continue
        node = derive(told, row)
        if node is not None and node.value is not None:
            yield Match(f"{_where(told, row)}.{name}", f"of {told.command}", node)


def prints(asked: Number, node: Node) -> bool:
    """Whether a value or an end of its range prints so."""
    return any(_prints(asked, value) for value in (node.value, node.low, node.high))


def _prints(asked: Number, value: Any) -> bool:
    """Whether one of the ways in which answers write a number gives these digits."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    limits = [*asked.limits(), (0.0094 * asked.value, 0.0106 * asked.value)]
    if abs(value) > _SMALL and not any(low <= value <= high for low, high in limits):
        return False
    texts = [number(value), number(value, 0), number(value, 1), times(value)]
    texts += [significant(value, digits) for digits in (2, 3, 4)]
    texts += [percent(value, places) for places in (0, 1, 2)]
    texts += [f"{value:.2g}%", f"{value:.1f}%", f"{number(value, 0)}%"]  # of columns in percent
    texts += [days_words(value)] if value > 0 else []
    texts += [as_tokens(int(value))] if isinstance(value, int) and value > 0 else []
    return any(text and asked.stands_in(text) for text in texts)


def _counts(told: Told, asked: Number) -> Iterator[Match]:
    """How many rows there are, were left out, and were left out for one reason."""
    if not asked.digits.isdigit():
        return
    groups: dict[str, list[str]] = {
        "rows": [row["where"] for row in told.answer.rows],
        "left_out": [row["where"] for row in told.answer.left_out],
    }
    for row in told.answer.left_out:
        groups.setdefault(f"left out: {row['left_out']}", []).append(row["where"])
    for name, places in groups.items():
        if asked.digits in (str(len(places)), str(len(places) - 12), str(len(places) - 20)):
            how = How("count; the first 12 places, or 20 rows, are listed")
            node = Node(name, len(places), how=how, inputs=of_places(told, places))
            yield Match(told.command, "a count", node)


def _where(told: Told, row: Row) -> str:
    return place(told.chosen.names, row).replace(" l.", ":")
