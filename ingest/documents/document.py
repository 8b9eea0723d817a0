"""A markdown document -> tables with the facts that apply to them, quoted log lines, statements."""

from __future__ import annotations

import re
from dataclasses import replace

from ...vocabulary.headings import LONGEST
from .applicable_facts import unanimous
from .batch_scope import UnscopedBatches
from .clauses import facts_by_subject, without_subjects
from .context import is_aside, phrases_in
from .context_lines import LineFacts, is_caption, is_worded, of_all_rows, reaches_back
from .device_counts import counted, devices_of_heading
from .fact import Fact
from .fields_in_cells import without_fields_of
from .frameworks import framework_named, framework_of
from .grid import Table
from .lead_in import facts_above, facts_of_corner, lead_lines, names_rows
from .legends import Legends
from .markdown import Heading, TextLine, first_blocks, is_quotation
from .model_families import without_other_families
from .named_configurations import Configurations
from .paragraphs import (
    BULLET,
    ParagraphState,
    announces_settings,
    below_table,
    is_of_one,
    shows_commands,
    stated_in,
)
from .prose import (
    device_of_all,
    model_named,
    of_all_runs,
    processor_of_heading,
    prose_facts,
    set_up,
    sizes_named,
    unambiguous,
)
from .sections import Document, FactsInScope, FoundTable, Quote, Section, is_general, struck
from .single_model_size import lone_size
from .stated_units import as_stated
from .subjects import of_subject
from .tidy_table import Surroundings, shaped
from .training_tables import subject_of
from .variants import label_line
from .withdrawal import is_struck, withdraws

_OPENING = 2  # the document itself and its title
_SECTION = 40  # lines of a section in which the quantity of a table may be named


def read_document(text: str) -> Document:
    """Read a document, as far as such are written."""
    found, left = first_blocks(text)
    prose = (block.text for block in found if not isinstance(block, Table))
    subject = subject_of(line for line in prose if len(line) <= LONGEST)
    reader = _Reader(subject, Legends(found), Configurations(found))
    for block in found:
        reader.take(block)
    document = reader.finish(text.count("\n") + (not text.endswith("\n")), left)
    document.everywhere += lone_size(found)
    return document


class _Reader:
    """Walks the blocks in order; `sections` is the path from the document to this heading."""

    def __init__(
        self, subject: str | None, legends: Legends, configurations: Configurations
    ) -> None:
        self.subject = subject
        self.legends = legends
        self.configurations = configurations
        self.document = Document()
        self.sections = [Section(None)]
        self.paragraph = ParagraphState()
        self.mentions: list[Fact] = []
        self.previous: list[FoundTable] = []
        self.formula_first = False
        self.stated_since_table = False
        self.caption: list[Fact] = []
        self.after_table = False  # at most one paragraph in between
        self.below: FoundTable | None = None  # the table right above the paragraph being read
        self.since_heading: list[TextLine] = []  # lines of text since the last heading or table
        self.in_scope = FactsInScope(self.sections)
        self.batches = UnscopedBatches(self.document.accumulations)

    def take(self, block: Heading | TextLine | Table) -> None:
        if isinstance(block, Heading):
            self._end_paragraph()
            self.below, self.paragraph.of_size = None, None
            self._heading(block)
        elif isinstance(block, TextLine):
            self.after_table &= not self.paragraph.lines or self.paragraph.goes_on(block)
            self._line(block)
        else:
            self._table(block)
        self.after_table = isinstance(block, Table) or (
            self.after_table and isinstance(block, TextLine)
        )

    def finish(self, lines: int, left: int) -> Document:
        self._end_paragraph()
        while len(self.sections) > 1:
            self._close()
        self.document.end(lines, left)
        self.document.everywhere = list(unanimous(self.mentions))
        return self.document

    def _heading(self, heading: Heading) -> None:
        self.paragraph.lines, self.since_heading = [], []
        self.formula_first = False
        text = heading.text if len(heading.text) <= LONGEST else ""
        facts = phrases_in(text, heading.line, "heading")
        counts = [*counted(text, heading.line), *devices_of_heading(text, heading.line)]
        devices = unambiguous(counts)
        named = model_named(text, heading.line)
        facts = [*(fact for fact in facts if fact.field != "size" or not named), *named, *devices]
        self.paragraph.is_aside = False
        self.caption = []
        if self.document.title is None and not self.document.tables:
            self.document.title = heading.text
            self.sections[0].facts += [replace(fact, scope="document") for fact in facts]
            self.sections[0].opening += framework_named(f"of {text}", heading.line)
        while len(self.sections) > 1 and self.sections[-1].level >= heading.level:
            self._close()
        aside = self.sections[-1].aside or is_aside(text, "headings")
        apart = self.sections[-1].of_one_run or is_of_one(text)
        general = self.sections[-1].general or (is_general(heading) and not facts)
        if not aside:
            self.mentions += facts
        fields = {fact.field for fact in facts}
        sizes = [fact for fact in sizes_named(text, heading.line) if fact.field not in fields]
        if not general:  # where parts of a machine are listed, the CPU is one of them
            sizes += processor_of_heading(text, heading.line)
        section = Section(heading, aside=aside, facts=[*facts, *sizes])
        section.is_title = self.document.title == heading.text and len(self.sections) == 1
        section.of_one_run = apart and not section.is_title
        section.general = general and not (aside or section.of_one_run)
        if is_struck(text):
            section.withdrawn = TextLine(heading.line, text)
        self.sections.append(section)

    def _close(self) -> None:
        section = self.sections.pop()
        section.close_into(self.sections[-1])
        self.previous = section.tables or self.previous

    def _end_paragraph(self) -> None:
        """Attach the facts of a paragraph to the table above, its section or all tables to come."""
        if not self.paragraph.lines:
            return
        lines = [line for line in self.paragraph.lines if not line.code]
        section, table = self.sections[-1], self.below
        self.below = None
        if not lines or section.aside or self.paragraph.is_aside:
            return
        announced = self.paragraph.announced
        self.paragraph.announced = announces_settings(lines[-1].text)
        # If captions are above their tables, a caption below belongs to the next table.
        if table and not (table.captioned and is_caption(lines[0].text)):
            table.add_below(below_table(lines))
            return
        facts = stated_in(lines)
        facts = [self.paragraph.sized(fact) for fact in facts]
        if section.tables:
            section.tail += facts if announced else []
            section.others += facts
        elif section.heading is None or section.is_title:
            section.opening += [replace(fact, scope="document") for fact in facts]
        else:
            section.paragraphs += facts

    def _line(self, line: TextLine) -> None:
        if len(line.text) > LONGEST:
            self.document.quotes.append(Quote(line, self.in_scope.facts()))
            self.paragraph.lines = []
            return
        if not line.code and is_quotation(line.text):
            self._quotation(line)
            return
        self._notice(line)
        if not self.paragraph.goes_on(line):
            self._end_paragraph()
            self.paragraph.lines = []
        line, read = self.paragraph.classified(line)
        facts = [] if self.paragraph.is_aside else read.configuration
        if not self.paragraph.is_aside:
            first = self.paragraph.lines[0].line if self.paragraph.lines else line.line
            self._attach(line, read, first)
            if not (facts or read.formula or line.code):
                self._attach_prose(line, first)
        self.stated_since_table |= bool(facts or read.formula)
        if read.formula and not self.formula_first:
            self.formula_first = not self.sections[-1].computed_by(read.formula)
        self.document.quotes.append(Quote(line, self.in_scope.facts()))
        self.document.state(line, facts, read.formula, self.sections[-1].heading)
        self.paragraph.lines.append(line)
        if not line.code and len(self.since_heading) < _SECTION:
            self.since_heading.append(line)

    def _notice(self, line: TextLine) -> None:
        """What a line says of its document, section or the table above, in any paragraph."""
        self.sections[-1].batches += self.batches.read(line)
        if not self.document.tables and len(self.sections) <= _OPENING:
            self.sections[0].facts += framework_of(line.text, line.line)
            self.sections[0].opening += self.sections[-1].defines(line, self.document.title)
        if not line.code and withdraws(line.text):
            self._withdraw(line)
        if not line.code and (above := self.sections[-1].tables):
            above[-1].table = as_stated(above[-1].table, line.text)

    def _attach_prose(self, line: TextLine, first: int) -> None:
        """The facts of a sentence, for its section; those of a caption for one table."""
        bound = facts_by_subject(line.text, line.line)
        section = self.sections[-1]
        target = section.others if is_caption(line.text) else section.prose
        target += [
            replace(self.paragraph.sized(fact), group=first)
            for fact in without_subjects(prose_facts(line.text, line.line), bound)
        ]
        self._attach_to_all(line)

    def _quotation(self, line: TextLine) -> None:
        """A quotation is by others, or about other runs: no fact of these."""
        self._end_paragraph()
        self.paragraph.lines = []
        self.document.quotes.append(Quote(line, self.in_scope.facts()))
        self.document.state(line, [], [], self.sections[-1].heading)

    def _withdraw(self, line: TextLine) -> None:
        """A line withdraws the table right above it, else those that follow in its section."""
        tables = self.sections[-1].tables
        if tables and (self.after_table or re.search(r"\babove\b", line.text, re.I)):
            tables[-1].withdrawn = line
        else:
            self.sections[-1].withdrawn = line

    def _attach(self, line: TextLine, read: LineFacts, group: int) -> None:
        """Attach the facts of a line to their scope: a table, its section, the document."""
        section, everywhere = self.sections[-1], of_all_rows(line.text)
        facts = [
            replace(self.paragraph.sized(fact), group=group, of_all_rows=everywhere)
            for fact in of_subject(read.section, line.text)
        ]
        if read.configuration and is_caption(line.text):
            self.caption += facts
            return
        section.facts += facts
        if section.aside:
            return
        if not line.code or shows_commands(section.heading):
            section.listed += facts if read.configuration else []
        if section.tables and read.configuration and BULLET.match(line.text):
            section.tail += facts
        mentions = of_subject(read.mentions, line.text)
        # A fact about one model can only contradict those about all.
        self.mentions += (
            [replace(mention, scope="heading") for mention in mentions]
            if section.of_one_run
            else mentions
        )
        if facts and reaches_back(line.text):
            for found in self.previous:
                found.add([replace(fact, scope="document", of_all_rows=True) for fact in facts])
        if read.configuration and (everywhere or is_worded(line.text)):
            for found in section.tables:
                found.add(facts)

    def _attach_to_all(self, line: TextLine) -> None:
        """A sentence about all experiments applies to the section, even if others contradict."""
        facts = prose_facts(of_all_runs(line.text), line.line)
        section, devices = self.sections[-1], device_of_all(line.text, line.line)
        section.facts += [replace(one, of_all_rows=True) for one in [*unambiguous(facts), *devices]]
        for table in section.tables:
            table.add(devices)

    def _table(self, original: Table) -> None:
        number, settings = None, list[Fact]()
        above = [section.heading.text for section in self.sections if section.heading]
        lead = " ".join(line.text.strip() for line in lead_lines(self.paragraph.lines))
        texts = [line.text for line in self.since_heading]
        around = Surroundings(above, lead, texts, self.subject)
        read = shaped(original, around, self.legends)
        table = self.configurations.applied(read.table)
        described = self.configurations.are_in(original)
        if read.is_benchmark and not described and self.document.admit(table):
            number = self.document.numbered
        elif not (described or self.paragraph.is_aside) and (settings := set_up(original)):
            # A table of settings: it applies to the tables that follow.
            self.sections[-1].facts += settings
            self.sections[-1].listed += settings
        near = [*facts_above(self.paragraph.lines), *self.caption]
        if read.corner or names_rows(table.header.cells[0]):
            near += facts_of_corner(original)
        continues = None if near else self._continued(table)
        near = continues.near if continues else near
        path = tuple(section.heading for section in self.sections if section.heading)
        facts = self.in_scope.facts()
        reach = without_fields_of(table, facts) if number is not None else facts
        reach = without_other_families(reach, [(one.line, one.text) for one in path])
        found_table = FoundTable(table, number, path, [*reach, *near], near)
        found_table.continues = continues
        found_table.lead = lead_lines(self.paragraph.lines)
        found_table.label = label_line(self.since_heading, found_table.lead)
        found_table.explained = self.legends.explained(table.header.cells)
        found_table.captioned = any(is_caption(line.text) for line in found_table.lead)
        found_table.batches = [batch for section in self.sections for batch in section.batches]
        found_table.withdrawn = self.sections[-1].withdrawn or struck(self.sections)
        self.sections[-1].others += near
        if not (continues or found_table.captioned):
            self.sections[-1].facts += [fact for fact in near if fact.field == "recompute"]
        self.document.tables.append(found_table)
        if not settings:
            self.sections[-1].tables.append(found_table)
        self.sections[-1].tail = []
        self.below = found_table if number is not None else None
        self.paragraph.lines, self.caption, self.since_heading = [], [], []
        self.stated_since_table = False

    def _continued(self, table: Table) -> FoundTable | None:
        """The table above, if this one has its headings and nothing was stated in between."""
        above = self.sections[-1].tables
        same = above and sorted(above[-1].table.header.cells) == sorted(table.header.cells)
        return above[-1] if same and not self.stated_since_table else None
