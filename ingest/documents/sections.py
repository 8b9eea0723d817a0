"""The parts of a document: its sections, the tables in them, and the facts that apply to these."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import is_not

from .fact import Fact
from .grid import MOST_ROWS, Table, endless
from .markdown import MOST_BLOCKS, Heading, TextLine
from .paragraphs import agreed, applies_outside
from .prose import unambiguous
from .statements import Statement, formula_statement, legend_in, statements_in
from .unlisted_framework import tool_defined

_HEADING = 10  # rows that take as long as a table without any
_GENERAL = re.compile(
    r"\b(?:overview|set-?up|hyper-?parameters?|configurations?|config|common|environment|hardware|model|notations?|settings?)\b"
    r"|配置|环境|硬件|模型|设置|参数",
    re.I,
)
_OTHER = "other"  # the scope of facts that can only contradict others
# Facts that apply to a line: 46 at most in the documents at hand, and each line carries them.
MOST = 300
_REMARKS = re.compile(r"^(?:comments?|notes?|remarks?|caveats?)\b", re.I)


@dataclass(slots=True)
class Section:
    """A heading and the facts stated under it so far."""

    heading: Heading | None
    general: bool = False
    aside: bool = False  # of plans, examples or models of others: its facts do not apply outside
    facts: list[Fact] = field(default_factory=list)
    prose: list[Fact] = field(default_factory=list)  # mentioned in its sentences
    paragraphs: list[Fact] = field(default_factory=list)  # stated of runs in its paragraphs
    others: list[Fact] = field(default_factory=list)  # of single tables: they can only contradict
    listed: list[Fact] = field(default_factory=list)  # settings that it lists
    # Facts of sections without tables, for the tables to come; of a document, those of its opening.
    opening: list[Fact] = field(default_factory=list)
    tail: list[Fact] = field(default_factory=list)  # settings listed below its last table
    batches: list[tuple[int, TextLine]] = field(default_factory=list)  # without a qualifier
    is_title: bool = False
    of_one_run: bool = False  # or of one model: its facts apply to its tables alone
    withdrawn: TextLine | None = None  # the line that withdraws its results
    tables: list[FoundTable] = field(default_factory=list)
    _stated: tuple[tuple[int, ...], tuple[Fact, ...]] | None = None

    @property
    def level(self) -> int:
        """Of its heading; 0 for the document."""
        return self.heading.level if self.heading else 0

    def stated_facts(self) -> tuple[Fact, ...]:
        """The facts of the section, weakest first; the same tuple until there are more.

        None of a section with more facts than any text about runs has.
        """
        lists = (self.facts, self.prose, self.paragraphs, self.others, self.opening)
        counts = tuple(map(len, lists))
        if self._stated is None or self._stated[0] != counts:
            self._stated = counts, () if sum(counts) > MOST else tuple(self._weakest_first())
        return self._stated[1]

    def _weakest_first(self) -> list[Fact]:
        if self.aside:
            return self.facts
        opening = agreed(self.opening)
        versions = [(fact.value or "").lower() for fact in opening if fact.field == "framework"]
        facts = [
            fact
            for fact in self.facts
            if fact.field != "framework"
            or not any(name.startswith(f"{fact.value} ".lower()) for name in versions)
        ]
        if self.heading is None or self.is_title:
            return [*opening, *facts]
        others = [replace(one, scope=_OTHER) for one in self.others]
        single = unambiguous([*self.prose, *self.paragraphs, *others])
        own = [fact for fact in single if fact.scope != _OTHER]
        return [*opening, *own, *facts]

    def close_into(self, above: Section) -> None:
        """Pass its tables, and facts that apply outside, to the enclosing section."""
        if self.general and not self.tables:
            above.facts += [replace(fact, scope="section") for fact in self.facts]
        applies = self.heading is not None and applies_outside(self.heading.text)
        if applies and not (self.tables or above.tables or self.aside):
            # The facts of a section without tables apply to the tables that follow it.
            facts = (*self.opening, *self.paragraphs, *self.listed)
            above.opening += [replace(fact, scope="document") for fact in facts]
        if len(self.tables) == 1:
            self.tables[0].facts[:0] = unambiguous(self.tail)
        above.tables += self.tables

    def defines(self, line: TextLine, title: str | None) -> list[Fact]:
        """The framework that the opening of a document is about; the title has its name."""
        if line.code or not (self.heading is None or self.is_title):
            return []
        name = tool_defined(line.text, title if self.heading else None)
        return [Fact("framework", name, line.text.strip(), line.line, "document")] if name else []

    def computed_by(self, formula: Sequence[Fact]) -> bool:
        """Adds the formula below a table to the last one; whether there is a table."""
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
    near: list[Fact] = field(default_factory=list)  # those in the text right above it
    withdrawn: TextLine | None = None  # the line in which its author withdraws it
    continues: FoundTable | None = None
    captioned: bool = False  # its caption is above it
    label: TextLine | None = None  # the line above that names it
    lead: Sequence[TextLine] = ()  # the end of the paragraph right above it
    explained: frozenset[str] = frozenset()  # headings that the text defines as no known column

    # Batches stated above it that may be of a step or a micro-batch.
    batches: list[tuple[int, TextLine]] = field(default_factory=list)

    def settle_batches(self, accumulations: Set[int]) -> None:
        """Read a batch as a micro-batch if a step has more micro-batches than it has samples."""
        least = min(accumulations, default=0)
        values = {batch for batch, _ in self.batches}
        if len(values) == 1 and (batch := values.pop()) < least:
            line = self.batches[-1][1]
            self.facts.insert(0, Fact("mbs", str(batch), line.text.strip(), line.line, "line"))

    def add(self, facts: Sequence[Fact]) -> None:
        """Add facts about all tables, weaker than those that the table has."""
        if len(self.facts) <= MOST:
            self.facts[:0] = facts

    def add_below(self, facts: list[Fact]) -> None:
        """Add facts from below the table: weaker than those right above, stronger than others."""
        above = {fact.field for fact in self.near}
        place = len(self.facts) - len(self.near)
        self.facts[place:place] = [fact for fact in facts if fact.field not in above]


class FactsInScope:
    """The facts of the open sections, outermost first, that apply to the next line."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self._sections = sections
        self._stated: list[tuple[Fact, ...]] = []
        self._facts: tuple[Fact, ...] = ()

    def facts(self) -> tuple[Fact, ...]:
        """The same tuple until the facts change, as every line keeps it."""
        stated = [section.stated_facts() for section in self._sections]
        if len(stated) != len(self._stated) or any(map(is_not, stated, self._stated)):
            facts = tuple(chain.from_iterable(stated))
            self._stated, self._facts = stated, facts if len(facts) <= MOST else ()
        return self._facts


@dataclass(frozen=True, slots=True)
class Quote:
    """A line that may be a quoted log line, with the facts above it, weakest first."""

    line: TextLine
    facts: tuple[Fact, ...]


@dataclass(slots=True)
class Document:
    """The contents of a document; `everywhere` applies to every table that states nothing else."""

    title: str | None = None
    tables: list[FoundTable] = field(default_factory=list)
    quotes: list[Quote] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    legends: list[Statement] = field(default_factory=list)
    everywhere: list[Fact] = field(default_factory=list)
    accumulations: set[int] = field(default_factory=set)  # above one, in its text
    lines: int = 0
    numbered: int = 0  # tables of benchmarks,
    rows: int = 0  # and what they take, counted in rows
    has_overflowed: bool = False  # whether a table did not fit
    warnings: list[tuple[str, str, int]] = field(default_factory=list)  # kind, message, line

    def admit(self, table: Table) -> bool:
        """Number a benchmark table if the file's row budget allows; warn of the first too many."""
        rows = self.rows + len(table.rows) + _HEADING
        if rows > MOST_ROWS:
            if not self.has_overflowed:
                self.warnings.append(endless(table, each=_HEADING))
            self.has_overflowed = True
            return False
        self.rows = rows
        self.numbered += 1
        return True

    def end(self, lines: int, left: int) -> None:
        """Settle what depends on the whole text, of so many lines, unread from line `left` on."""
        if left:
            message = f"not read from here on: above are {MOST_BLOCKS:,} lines, headings and tables"
            self.warnings.append(("long_document", message, left))
        for table in self.tables:
            table.settle_batches(self.accumulations)
        self.lines = lines

    def state(
        self, line: TextLine, facts: list[Fact], formula: list[Fact], heading: Heading | None
    ) -> None:
        """Keep the statements of a line below a heading."""
        self.statements += statements_in(line.text, line.line, facts)
        stated = formula_statement(line.text, line.line, formula)
        legend = None if line.code else legend_in(line.text, line.line)
        self.statements += [stated] if stated else []
        self.legends += [legend] if legend else []
        is_remark = heading is not None and _REMARKS.match(heading.text)
        if is_remark and not (facts or legend or line.code or "<" in line.text):
            self.statements.append(Statement(line.line, "comment", line.text.strip()))


def is_general(heading: Heading) -> bool:
    """Whether a heading below the title opens a section that applies to those that follow."""
    return bool(_GENERAL.search(heading.text)) and heading.level > 1


def struck(sections: Sequence[Section]) -> TextLine | None:
    """The nearest heading of a path that withdraws all below it."""
    for section in reversed(sections):
        line = section.withdrawn
        if line and section.heading and line.line == section.heading.line:
            return line
    return None
