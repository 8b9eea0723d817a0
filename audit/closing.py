"""Findings that a person has closed: by a comment in the document, or in facts.toml."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..schema.user_facts import FINDING, UserFact
from ..schema.warehouse import Warehouse
from .finding import Finding

_COMMENT = re.compile(
    r"<!--\s*bench[ -]audit:\s*(?:ok|closed?)\s+(R\d+[a-z]?)(?:\s+l\.(\d+))?\s*:?\s*(.*?)\s*-->",
    re.I,
)
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_WORDS = {"exception": "known exception", "corrected": "accepted correction"}
Tables = Mapping[str, Sequence[tuple[int, int, int]]]  # of a source: number, first and last line


class Comment(NamedTuple):
    """What a document closes itself: a rule, of one line or of all, and why."""

    at: int  # its own line
    rule: str
    line: int | None
    reason: str

    def speaks_of(self, finding: Finding) -> bool:
        """Whether it closes a finding; without a reason it closes nothing."""
        named = self.rule.lower() in (one.lower() for one in finding.rules)
        doubted = self.line is None or any(cell.line == self.line for cell in finding.cells)
        return bool(self.reason) and named and doubted


def comments(lines: Sequence[str]) -> Iterator[Comment]:
    """The closing comments of a document, but for those that are shown as code."""
    fence = ""
    for at, line in enumerate(lines, 1):
        mark = _FENCE.match(line)
        if mark and (not fence or (mark[1].startswith(fence) and not line[mark.end() :].strip())):
            fence = "" if fence else mark[1]
        for rule, number, reason in () if fence else _COMMENT.findall(line):
            yield Comment(at, rule, int(number) if number else None, reason)


def by_comment(finding: Finding, found: Sequence[Comment]) -> str:
    """The reason that a comment of the document gives for this finding to be closed."""
    return next((one.reason for one in found if one.speaks_of(finding)), "")


def closed(
    warehouse: Warehouse, findings: Sequence[Finding], facts: Sequence[UserFact]
) -> list[Finding]:
    """The findings, those closed that a fact speaks of; all stay listed."""
    closing = [fact for fact in facts if fact.field == FINDING]
    if not closing:
        return list(findings)
    tables = tables_of(warehouse)
    return [_closed(one, closing, tables) for one in findings]


def tables_of(warehouse: Warehouse) -> Tables:
    """The tables of every source: number, first and last line."""
    found: dict[str, list[tuple[int, int, int]]] = {}
    query = "SELECT uri, number, header_line, last_line FROM tables WHERE number IS NOT NULL"
    for uri, *span in warehouse.rows(query):
        found.setdefault(uri, []).append((span[0], span[1], span[2]))
    return found


def is_from_facts(reason: str) -> bool:
    """Whether a finding was closed in facts.toml, and not by a comment of its document."""
    return reason.startswith(tuple(f"{word}: " for word in _WORDS.values()))


def _closed(finding: Finding, facts: Sequence[UserFact], tables: Tables) -> Finding:
    for fact in facts:
        if not finding.closed and speaks_of(fact, finding, tables):
            return replace(finding, closed=f"{_WORDS[fact.value]}: {fact.signed}")
    return finding


def speaks_of(fact: UserFact, finding: Finding, tables: Tables) -> bool:
    """Whether a fact closes a finding."""
    match = fact.match
    if match.rule and match.rule.lower() not in (one.lower() for one in finding.rules):
        return False
    cells = [cell for cell in finding.cells if match.names(cell.uri)]
    if match.lines:
        cells = [cell for cell in cells if cell.line in match.lines]
    if match.run:
        cells = [cell for cell in cells if cell.run_id and cell.run_id.startswith(match.run)]
    if match.table is not None:
        cells = [
            cell
            for cell in cells
            if any(
                number == match.table and first <= cell.line <= last
                for number, first, last in tables.get(cell.uri, ())
            )
        ]
    return bool(cells) and match.model is None
