"""The answers of `bench best`, `days`, `compare` and `report scaling` that numbers may be from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..decide.answer import Answer
from ..decide.answers import compared, lasting, ranked, scaled
from ..decide.asked import RANKED_BY, Asked, Length
from ..decide.choosing import Chosen, choose
from ..decide.rows import Row
from ..reports.selection import Selection, select
from ..schema.errors import BenchError
from .case import Case, case_of
from .node import Node
from .world import World


@dataclass(frozen=True, slots=True)
class Question:
    """What a decision was asked, so that its numbers come out again."""

    asked: Asked = field(default_factory=Asked)
    length: Length = field(default_factory=Length)
    by: str | None = None
    base: str | None = None

    @property
    def ranked_by(self) -> str | None:
        """What `bench best` ranks by, where `by` names that and nothing to compare by."""
        return self.by if self.by in RANKED_BY else None

    @property
    def compared_by(self) -> str | None:
        """What `bench compare` compares by."""
        return None if self.ranked_by else self.by


@dataclass
class Told:
    """One answer under its command, with the runs that it was made of."""

    world: World
    command: str
    answer: Answer
    chosen: Chosen
    question: Question

    def case(self, run: str) -> Case:
        """A run of the answer."""
        return case_of(self.world.warehouse, self.world.lines, run)

    @cached_property
    def base_row_of(self) -> Mapping[str, Row]:
        """The first pair that a run of the base went into, by its id."""
        found: dict[str, Row] = {}
        for row in self.answer.rows:
            for job in row.get("runs_base", ()):
                for run in job:
                    found.setdefault(run, row)
        return found

    @cached_property
    def row_of(self) -> Mapping[str, Row]:
        """The row that a run went into, by its id."""
        found: dict[str, Row] = {}
        for row in self.answer.rows:
            for job in row["runs"]:
                for run in job:
                    found.setdefault(run, row)
        return found


Derive = Callable[[Told, Row], Node | None]


def decisions(world: World, question: Question) -> list[Told]:
    """Every answer that the question allows; a comparison by what it names, else by settings."""
    found: list[Told] = world.once("decisions", lambda: list(_decided(world, question)))
    return found


def _decided(world: World, question: Question) -> Iterator[Told]:
    try:
        chosen = choose(world.warehouse, question.asked)
    except BenchError:  # no run at all: then no answer either
        again(world, question.asked)
        return
    ways: dict[str, Callable[[], Answer]] = {
        "bench best": lambda: ranked(world.warehouse, chosen, question.asked, question.ranked_by),
        "bench days": lambda: lasting(world.warehouse, question.asked, question.length, chosen),
        "bench report scaling": lambda: scaled(chosen),
        "bench compare": lambda: compared(
            chosen, question.compared_by or "settings", question.base
        ),
    }
    for command, answer in ways.items():
        try:
            yield Told(world, command, answer(), chosen, question)
        except BenchError:
            if command == "bench compare" and question.compared_by is not None:
                raise  # asked for by name
            if command == "bench days" and question.length != Length():
                raise
    again(world, question.asked)


def again(world: World, asked: Asked) -> None:
    """Select all runs of the model: choosing has filtered them, and trees rest on any."""
    select(world.warehouse, Selection(asked.model))
