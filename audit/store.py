"""Findings of documents as rows: made once when a document is read, so that pages need no audit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..schema.migrate import now_utc
from ..schema.rows import Rows, content_id
from ..schema.user_facts import UserFact, digest
from ..schema.warehouse import Warehouse, transaction
from .finding import Finding
from .rule import RULES_VERSION

# Logs are audited when they are asked for: an odd line of a log is not the run's number.
_OPEN = """SELECT s.load_id, s.uri FROM sources s
    LEFT JOIN (
        SELECT load_id, rules_version, facts FROM raw.audits
        QUALIFY row_number() OVER (PARTITION BY load_id ORDER BY made_at DESC, audit_id) = 1
    ) a USING (load_id)
    WHERE s.kind <> 'log' AND (a.rules_version, a.facts) IS DISTINCT FROM (?, ?) ORDER BY s.uri"""


@dataclass(frozen=True, slots=True)
class Audited:
    """Findings of documents, ready to be stored."""

    loads: tuple[tuple[str, str], ...]  # load and uri
    findings: tuple[Finding, ...]
    facts: str


def open_audits(warehouse: Warehouse, facts: Sequence[UserFact]) -> list[tuple[str, str]]:
    """The documents that the present rules and facts have not been tried on: load and uri."""
    return [
        (load, uri) for load, uri in warehouse.rows(_OPEN, [RULES_VERSION, digest(tuple(facts))])
    ]


def audit_documents(warehouse: Warehouse, root: Path, facts: Sequence[UserFact]) -> Audited | None:
    """The findings of documents that have none of the present rules yet; None: there is none."""
    loads = open_audits(warehouse, facts)
    if not loads:
        return None
    from .closing import closed  # the rules are many, and most calls find nothing to try them on
    from .places import placed
    from .run import audit

    found = placed(warehouse, audit(warehouse, [uri for _, uri in loads]), root)
    return Audited(tuple(loads), tuple(closed(warehouse, found, facts)), digest(tuple(facts)))


def store_audit(warehouse: Warehouse, audited: Audited) -> None:
    """Store findings, each in the load of the first cell that it doubts."""
    from ..schema.store import insert  # most calls find nothing to store

    of_uri = {uri: load for load, uri in audited.loads}
    rows: dict[str, Rows] = defaultdict(Rows)
    made_at = now_utc()
    names = {
        load: content_id("audit", load, RULES_VERSION, audited.facts, made_at.isoformat())
        for load in of_uri.values()
    }
    for load, audit_id in names.items():
        rows[load].add(
            "audits", audit_id=audit_id, rules_version=RULES_VERSION, facts=audited.facts,
            made_at=made_at,
        )  # fmt: skip
    for number, finding in enumerate(audited.findings, 1):
        load = of_uri[finding.uri]
        _add(rows[load], finding, number, names[load])
    with transaction(warehouse):
        for load, made in rows.items():
            insert(warehouse.con, made, load)


def _add(rows: Rows, finding: Finding, number: int, audit_id: str) -> None:
    for cell in finding.cells:
        rows.add(
            "findings",
            audit_id=audit_id,
            number=number,
            run_id=cell.run_id,
            line=cell.line,
            name=cell.name,
            rule=finding.rule,
            rules=list(finding.rules),
            severity=finding.severity,
            confidence=finding.confidence,
            title=finding.message,
            evidence=finding.evidence,
            suggestion=finding.suggestion,
            closed=finding.closed,
            rule_version=RULES_VERSION,
        )
