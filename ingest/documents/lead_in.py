"""Facts about the rows of a table, from the paragraph right above it or its corner cell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...vocabulary.headings import column_of
from .clauses import facts_by_subject, without_clauses, without_subjects
from .context_lines import configuration, is_caption
from .fact import Fact
from .grid import Table
from .markdown import TextLine
from .paragraphs import BULLET, LABELLED, is_no_statement
from .prose import lead_facts
from .techniques import recompute_named

_LEAD = 12  # lines of the paragraph above a table, from the end
_ASIDE = re.compile(r"\([^()]{0,300}\)")
_MORE_THAN_A_NAME = re.compile(r"[A-Za-z]\s?\([^()]{3,80}\)$|\d")
_SETTINGS_OF_LIST = 2  # from which a technique among them is one


def lead_lines(lead: Sequence[TextLine]) -> list[TextLine]:
    """The last lines of the paragraph above a table, without code."""
    return [line for line in lead[-_LEAD:] if not line.code]


def names_rows(heading: str) -> bool:
    """Whether a first heading only names the rows, and says more: `run (8 GPUs)`,
    `4-GPU run`."""
    return bool(_MORE_THAN_A_NAME.search(heading)) and column_of(heading) is None


def facts_of_corner(table: Table) -> list[Fact]:
    """The facts in the corner cell of a table of one run per column: `8B FP8 (TP=4, MBS=1)`."""
    corner, line = table.header.cells[0], table.header.line
    set_there = configuration(corner, line)
    named = {fact.field for fact in set_there}
    more = [fact for fact in lead_facts(corner, line) if fact.field not in named]
    return [replace(fact, group=line) for fact in (*set_there, *more)]


def facts_above(lead: Sequence[TextLine]) -> list[Fact]:
    """The facts in the paragraph right above a table."""
    set_there: set[str] = set()
    parts = []
    for above in lead_lines(lead):
        facts = [] if is_caption(above.text) else configuration(above.text, above.line)
        set_there |= {fact.field for fact in facts}
        if not any(fact.field == "size" or fact.only_size for fact in facts):
            item = BULLET.match(above.text) or LABELLED.match(above.text)
            parts.append(("; " if item else "") + BULLET.sub("", above.text).strip())
    text = " ".join(parts).removeprefix("; ")
    if not text:
        return []
    line = lead[-1].line
    bound = facts_by_subject(text, line)
    fields = {fact.field for fact in bound}
    # Next to the value for some rows is the value for the others.
    rest = lead_facts(without_clauses(text, bound), line) if bound else []
    found = [fact for fact in rest if fact.field in fields]
    found += without_subjects(lead_facts(text, line), bound)
    found += _listed_techniques(text, found, lead)
    return [fact for fact in found if fact.field not in set_there]


def _listed_techniques(text: str, facts: list[Fact], lead: Sequence[TextLine]) -> list[Fact]:
    """Techniques among a list of settings: `bf16, gradient checkpointing, seq 512`."""
    text = _ASIDE.sub("", text)
    fields = {fact.field for fact in facts}
    kind = recompute_named(text) if len(fields) >= _SETTINGS_OF_LIST else None
    if kind is None or "recompute" in fields or is_no_statement(text):
        return []
    return [Fact("recompute", kind, text.strip(), lead[-1].line, "line")]
