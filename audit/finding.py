"""Findings of the audit, with the doubted cells, the evidence and a suggestion."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date

SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Place:
    """A doubted cell or line: `name` is our column name, '' for the whole line."""

    uri: str
    line: int
    name: str = ""
    run_id: str | None = None
    text: str = ""  # as written; filled in when findings are placed
    column: int | None = None  # first character, from 1; filled in when findings are placed


@dataclass(frozen=True, slots=True)
class ClosingFact:
    """A fact that closes a finding from one day to another; None: always."""

    reason: str
    known_since: date | None
    withdrawn: date | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding; `rules` lists every rule that reported it, in the order of the rules."""

    rules: tuple[str, ...]
    severity: str
    confidence: str
    message: str
    evidence: str
    cells: tuple[Place, ...]
    suggestion: str = ""
    closed: str = field(default="", compare=False)  # the reason given for closing it
    closings: tuple[ClosingFact, ...] = field(default=(), compare=False)

    @property
    def rule(self) -> str:
        return self.rules[0]

    @property
    def uri(self) -> str:
        return self.cells[0].uri

    @property
    def line(self) -> int:
        return self.cells[0].line

    def rows(self) -> set[tuple[str, int]]:
        """The lines it doubts."""
        return {(cell.uri, cell.line) for cell in self.cells}


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Merge findings that doubt the same rows: a shifted row and its consequences."""
    kept: list[Finding] = []
    by_rows: dict[frozenset[tuple[str, int]], int] = {}
    for finding in findings:
        rows = frozenset(finding.rows())
        at = by_rows.get(rows) if finding.severity == "error" else None
        if at is None:
            if finding.severity == "error":
                by_rows[rows] = len(kept)
            kept.append(finding)
        else:
            kept[at] = _merged(kept[at], finding)
    return kept


def _merged(first: Finding, second: Finding) -> Finding:
    cells = {(c.uri, c.line, c.name): c for c in (*first.cells, *second.cells)}
    both = [one for one in (first.suggestion, second.suggestion) if one]
    if len(both) == 2 and both[1].startswith(both[0]):  # `GBS=512`, then `GBS=512, as line 8 has`
        both = both[1:]
    suggestions = dict.fromkeys(both)
    return replace(
        first,
        rules=tuple(dict.fromkeys((*first.rules, *second.rules))),
        severity=min(first.severity, second.severity, key=SEVERITIES.index),
        message=f"{first.message}; {second.message}",
        evidence="; ".join(filter(None, (first.evidence, second.evidence))),
        suggestion="; ".join(suggestions),
        cells=tuple(cells.values()),
    )
