"""What a document holds: its sections, the tables found in them, and what reaches these."""

from __future__ import annotations

from dataclasses import dataclass, field

from .context import Fact
from .grid import Table
from .markdown import Heading, TextLine
from .prose import unanimous
from .statements import Statement


@dataclass(slots=True)
class Section:
    """A heading and what has been stated under it so far."""

    heading: Heading | None
    general: bool = False
    aside: bool = False  # of plans, examples or models of others: nothing in it holds outside
    facts: list[Fact] = field(default_factory=list)
    prose: list[Fact] = field(default_factory=list)  # what its sentences say in passing
    withdrawn: TextLine | None = None  # the line that takes back what it holds
    tables: list[FoundTable] = field(default_factory=list)

    def lends(self) -> list[Fact]:
        """What it states, weakest first."""
        if self.aside or self.heading is None or self.heading.level == 1:
            return self.facts
        return [*unanimous(self.prose), *self.facts]


@dataclass(slots=True)
class FoundTable:
    """A table with its headings and the facts that reach it, weakest first."""

    table: Table
    number: int | None
    path: tuple[Heading, ...]
    facts: list[Fact]
    near: list[Fact] = field(default_factory=list)  # those of the text right above it
    withdrawn: TextLine | None = None  # the line by which its author takes it back
    continues: FoundTable | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """A line that may be a quoted log line, with the facts above it, weakest first."""

    line: TextLine
    facts: tuple[Fact, ...]


@dataclass(slots=True)
class Document:
    """All that a document holds; `everywhere` reaches every table that states nothing itself."""

    title: str | None = None
    tables: list[FoundTable] = field(default_factory=list)
    quotes: list[Quote] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    legends: list[Statement] = field(default_factory=list)
    everywhere: list[Fact] = field(default_factory=list)
    accumulates: bool = False  # it speaks of several micro-batches a step
    lines: int = 0
    text_lines: int = 0
