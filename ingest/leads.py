"""What stands right above a table, or in its corner, and speaks of its rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from .clauses import facts_by_subject, without_clauses, without_subjects
from .context_lines import configuration, is_caption
from .fact import Fact
from .grid import Table
from .markdown import TextLine
from .paragraphs import BULLET, is_unsaid
from .prose import lead_facts
from .techniques import recompute_named

_LEAD = 12  # lines of the paragraph above a table that speak of it
_ASIDE = re.compile(r"\([^()]{0,300}\)")
_SETTINGS_OF_LIST = 2  # beside which a technique is one


def told_above(lead: Sequence[TextLine]) -> list[TextLine]:
    """The lines of the paragraph above a table that speak of it."""
    return [line for line in lead[-_LEAD:] if not line.code]


def facts_of_corner(table: Table) -> list[Fact]:
    """What the corner of a table of one run a column says of all: `8B FP8 (TP=4, MBS=1)`."""
    corner, line = table.header.cells[0], table.header.line
    set_there = configuration(corner, line)
    named = {fact.field for fact in set_there}
    more = [fact for fact in lead_facts(corner, line) if fact.field not in named]
    return [replace(fact, group=line) for fact in (*set_there, *more)]


def facts_above(lead: Sequence[TextLine]) -> list[Fact]:
    """What the paragraph right above a table says of it."""
    set_there: set[str] = set()
    said = []
    for one in told_above(lead):
        facts = [] if is_caption(one.text) else configuration(one.text, one.line)
        set_there |= {fact.field for fact in facts}
        if not any(fact.field == "size" or fact.only_size for fact in facts):
            item = BULLET.match(one.text)
            said.append(("; " if item else "") + BULLET.sub("", one.text).strip())
    text = " ".join(said).removeprefix("; ")
    if not text:
        return []
    line = lead[-1].line
    bound = facts_by_subject(text, line)
    fields = {one.field for one in bound}
    # Beside what is of some rows stands what is of the others.
    rest = lead_facts(without_clauses(text, bound), line) if bound else []
    found = [one for one in rest if one.field in fields]
    found += without_subjects(lead_facts(text, line), bound)
    found += _listed_techniques(text, found, lead)
    return [fact for fact in found if fact.field not in set_there]


def _listed_techniques(text: str, found: list[Fact], lead: Sequence[TextLine]) -> list[Fact]:
    """What a list of settings names among them: `bf16, gradient checkpointing, seq 512`."""
    text = _ASIDE.sub("", text)
    fields = {fact.field for fact in found}
    kind = recompute_named(text) if len(fields) >= _SETTINGS_OF_LIST else None
    if kind is None or "recompute" in fields or is_unsaid(text):
        return []
    return [Fact("recompute", kind, text.strip(), lead[-1].line, "line")]
