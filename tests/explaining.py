"""What `bench explain` searches, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from bench.decide.query import Query
from bench.explain.answer_columns import COMMANDS
from bench.explain.context import ExplainContext
from bench.explain.decisions import on_answer
from bench.explain.number import PrintedNumber
from bench.explain.page import restated
from bench.explain.search import known
from bench.explain.tree import Match


def matches(here: ExplainContext, number: PrintedNumber, model: str | None) -> Iterator[Match]:
    """What `bench explain NUMBER` searches, in its order: a page holds answers, too."""
    query = Query(model=model)
    answers = (on_answer(here, query, number, command) for command in COMMANDS)
    return chain(known(here, number), chain.from_iterable(answers), restated(here, number))
