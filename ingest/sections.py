"""What a document holds: its sections, the tables found in them, and what reaches these."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace

from .fact import Fact
from .grid import Table
from .markdown import Heading, TextLine
from .own_tool import tool_defined
from .paragraphs import agreed, lends_outside
from .prose import unanimous
from .statements import Statement, formula_statement, legend_in, statements_in

_GENERAL = re.compile(
    r"\b(?:overview|set-?up|hyper-?parameters?|configurations?|config|common|environment|hardware|model|notations?|settings?)\b"
    r"|配置|环境|硬件|模型|设置|参数",
    re.I,
)
_OTHER = "other"  # the scope of what can only contradict
# Facts that reach a line: the documents at hand have 46 at most, and each line below carries them.
MOST = 300
_REMARKS = re.compile(r"^(?:comments?|notes?|remarks?|caveats?)\b", re.I)


@dataclass(slots=True)
class Section:
    """A heading and what has been stated under it so far."""

    heading: Heading | None
    general: bool = False
    aside: bool = False  # of plans, examples or models of others: nothing in it holds outside
    facts: list[Fact] = field(default_factory=list)
    prose: list[Fact] = field(default_factory=list)  # what its sentences say in passing
    said: list[Fact] = field(default_factory=list)  # what its paragraphs say of runs
    others: list[Fact] = field(default_factory=list)  # of single tables: they can only contradict
    listed: list[Fact] = field(default_factory=list)  # settings that it lists
    # What sections without tables say of the tables to come; of a document what it opens with.
    opening: list[Fact] = field(default_factory=list)
    tail: list[Fact] = field(default_factory=list)  # settings listed below its last table
    batches: list[tuple[int, TextLine]] = field(default_factory=list)  # bare ones
    is_title: bool = False
    apart: bool = False  # of one model or run: what it says is of the tables in it alone
    withdrawn: TextLine | None = None  # the line that takes back what it holds
    tables: list[FoundTable] = field(default_factory=list)
    _lent: tuple[tuple[int, ...], tuple[Fact, ...]] | None = None

    def lends(self) -> tuple[Fact, ...]:
        """What it states, weakest first; the same tuple until it states more.

        Of a section that states more than any text of runs nothing is lent.
        """
        kept = (self.facts, self.prose, self.said, self.others, self.opening)
        counts = tuple(map(len, kept))
        if self._lent is None or self._lent[0] != counts:
            self._lent = counts, () if sum(counts) > MOST else tuple(self._weakest_first())
        return self._lent[1]

    def _weakest_first(self) -> list[Fact]:
        if self.aside:
            return self.facts
        opening = agreed(self.opening)
        versions = [(one.value or "").lower() for one in opening if one.field == "framework"]
        facts = [
            one
            for one in self.facts
            if one.field != "framework"
            or not any(name.startswith(f"{one.value} ".lower()) for name in versions)
        ]
        if self.heading is None or self.is_title:
            return [*opening, *facts]
        others = [replace(one, scope=_OTHER) for one in self.others]
        said = [one for one in unanimous([*self.prose, *self.said, *others]) if one.scope != _OTHER]
        return [*opening, *said, *facts]

    def close_into(self, above: Section) -> None:
        """Give the section around it what outlives it: its tables, or what holds for others."""
        if self.general and not self.tables:
            above.facts += [replace(fact, scope="section") for fact in self.facts]
        lends = self.heading is not None and lends_outside(self.heading.text)
        if lends and not (self.tables or above.tables or self.aside):
            # What a section without tables says holds for the tables that follow it.
            facts = (*self.opening, *self.said, *self.listed)
            above.opening += [replace(fact, scope="document") for fact in facts]
        if len(self.tables) == 1:
            self.tables[0].facts[:0] = unanimous(self.tail)
        above.tables += self.tables

    def defines(self, line: TextLine, title: str | None) -> list[Fact]:
        """The framework that the opening of a document says it is of; a title has its name."""
        if line.code or not (self.heading is None or self.is_title):
            return []
        name = tool_defined(line.text, title if self.heading else None)
        return [Fact("framework", name, line.text.strip(), line.line, "document")] if name else []

    def computed_by(self, formula: Sequence[Fact]) -> bool:
        """Give the last table the formula that stands behind it; whether there is such a table."""
        found = self.tables[-1] if self.tables else None
        while found:
            found.facts += formula
            found = found.continues
        return bool(self.tables)


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
    captioned: bool = False  # its caption stands above it

    # Batches stated above it that may be of a step or a micro-batch.
    batches: list[tuple[int, TextLine]] = field(default_factory=list)

    def settle_batches(self, accumulations: Set[int]) -> None:
        """Take a batch for a micro-batch where a step has more of these than the batch samples."""
        least = min(accumulations, default=0)
        values = {batch for batch, _ in self.batches}
        if len(values) == 1 and (batch := values.pop()) < least:
            line = self.batches[-1][1]
            self.facts.insert(0, Fact("mbs", str(batch), line.text.strip(), line.line, "line"))

    def lend(self, facts: Sequence[Fact]) -> None:
        """Take what is said of all tables, weaker than what reaches it already."""
        if len(self.facts) <= MOST:
            self.facts[:0] = facts

    def told_below(self, facts: list[Fact]) -> None:
        """Take what stands below: less than what stands right above, more than all the rest."""
        above = {fact.field for fact in self.near}
        place = len(self.facts) - len(self.near)
        self.facts[place:place] = [fact for fact in facts if fact.field not in above]


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
    accumulations: set[int] = field(default_factory=set)  # above one, that it speaks of
    lines: int = 0

    def end(self, lines: int) -> None:
        """Settle what only the whole text tells; it has so many lines."""
        for found in self.tables:
            found.settle_batches(self.accumulations)
        self.lines = lines

    def state(
        self, line: TextLine, facts: list[Fact], formula: list[Fact], heading: Heading | None
    ) -> None:
        """Keep what a line below a heading says beside the tables."""
        self.statements += statements_in(line.text, line.line, facts)
        stated = formula_statement(line.text, line.line, formula)
        legend = None if line.code else legend_in(line.text, line.line)
        self.statements += [stated] if stated else []
        self.legends += [legend] if legend else []
        is_remark = heading is not None and _REMARKS.match(heading.text)
        if is_remark and not (facts or legend or line.code or "<" in line.text):
            self.statements.append(Statement(line.line, "comment", line.text.strip()))


def is_general(heading: Heading) -> bool:
    """Whether a heading below the title is one of what holds for the sections that follow."""
    return bool(_GENERAL.search(heading.text)) and heading.level > 1


def struck(sections: Sequence[Section]) -> TextLine | None:
    """The nearest heading of a path that takes back all that is below it."""
    for section in reversed(sections):
        line = section.withdrawn
        if line and section.heading and line.line == section.heading.line:
            return line
    return None
