"""What the audit says: findings with their doubted cells, evidence and suggestion."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

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
class Finding:
    """One finding; `rules` lists every rule that it comes from, first in order first."""

    rules: tuple[str, ...]
    severity: str
    confidence: str
    message: str
    evidence: str
    cells: tuple[Place, ...]
    suggestion: str = ""
    closed: str = field(default="", compare=False)  # why a person has closed it

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


def worse(first: str, second: str, order: tuple[str, ...] = SEVERITIES) -> str:
    """The graver of two severities."""
    return min(first, second, key=order.index)


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Findings that doubt the same rows as one: a shifted row and what follows from it."""
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
            kept[at] = _both(kept[at], finding)
    return kept


def _both(first: Finding, second: Finding) -> Finding:
    cells = {(c.uri, c.line, c.name): c for c in (*first.cells, *second.cells)}
    told = [one for one in (first.suggestion, second.suggestion) if one]
    if len(told) == 2 and told[1].startswith(told[0]):  # `GBS=512`, then `GBS=512, as line 8 has`
        told = told[1:]
    suggestions = dict.fromkeys(told)
    return replace(
        first,
        rules=tuple(dict.fromkeys((*first.rules, *second.rules))),
        severity=worse(first.severity, second.severity),
        message=f"{first.message}; {second.message}",
        evidence="; ".join(filter(None, (first.evidence, second.evidence))),
        suggestion="; ".join(suggestions),
        cells=tuple(cells.values()),
    )
