"""Stored findings of documents: computed once on ingest, so that reports need no audit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..schema.annotation import Annotation, digest
from ..schema.materialized import OF_RUNS, OF_SOURCES
from ..schema.migrate import now_utc
from ..schema.rows import Rows, content_id
from ..schema.warehouse import Warehouse, transaction
from .finding import Finding, Place
from .rule import rules_version

# Logs are audited on request only: an odd line does not change the number of the run.
_OPEN = """SELECT s.load_id, s.uri FROM sources s
    LEFT JOIN (
        SELECT load_id, rules_version, facts FROM raw.audits
        QUALIFY row_number() OVER (PARTITION BY load_id ORDER BY made_at DESC, audit_id) = 1
    ) a USING (load_id)
    WHERE s.kind <> 'log' AND (a.rules_version, a.facts) IS DISTINCT FROM ($version, $facts)
        AND ($again OR a.load_id IS NULL) ORDER BY s.uri"""

_DONE = """SELECT load_id FROM (
        SELECT load_id, rules_version, facts FROM raw.audits WHERE list_contains(?, load_id)
        QUALIFY row_number() OVER (PARTITION BY load_id ORDER BY made_at DESC, audit_id) = 1)
    WHERE rules_version = ? AND facts = ?"""


@dataclass(frozen=True, slots=True)
class Audited:
    """Findings of documents, ready to store."""

    loads: tuple[tuple[str, str], ...]  # load and uri
    findings: tuple[Finding, ...]
    facts: str


def open_audits(
    warehouse: Warehouse, facts: Sequence[Annotation], *, again: bool = True
) -> list[tuple[str, str]]:
    """The documents not yet audited with the current rules and facts: load and uri; unless
    `again`, those never audited."""
    given = {"version": rules_version(), "facts": digest(tuple(facts)), "again": again}
    return [(load, uri) for load, uri in warehouse.rows(_OPEN, given)]


def audit_documents(
    warehouse: Warehouse, root: Path, facts: Sequence[Annotation], *, again: bool = True
) -> Audited | None:
    """Audit the documents of `open_audits`; None without any."""
    loads = open_audits(warehouse, facts, again=again)
    if not loads:
        return None
    from .closed_findings import closed  # slow import, rarely needed
    from .places import placed
    from .run import audit

    findings = placed(warehouse, audit(warehouse, [uri for _, uri in loads]), root)
    return Audited(tuple(loads), tuple(closed(warehouse, findings, facts)), digest(tuple(facts)))


# A cell in another document than the finding's own is identified by its run. A file of others may
# leave out the rules.
_STORED = """SELECT s.uri, f.number,
        coalesce(nullif([one FOR one IN f.rules IF one IS NOT NULL], []), [f.rule]),
        f.severity, f.confidence, f.title, f.evidence, f.suggestion, f.closed,
        list({uri: coalesce(r.uri, s.uri), line: f.line, name: f.name, run_id: f.run_id}
             ORDER BY f.line)
    FROM findings f JOIN raw.audits a USING (audit_id) JOIN sources s ON s.load_id = a.load_id
    LEFT JOIN runs r ON r.run_id = f.run_id
    WHERE a.rules_version = coalesce($version, a.rules_version)
      AND a.facts = coalesce($facts, a.facts)
      AND s.uri IN (SELECT unnest($uris::VARCHAR[]))
      AND f.severity = coalesce($severity, f.severity)
    GROUP BY ALL ORDER BY s.uri, f.number"""
_AUDITED = """SELECT DISTINCT s.uri FROM raw.audits a JOIN sources s USING (load_id)
    WHERE a.rules_version = coalesce($version, a.rules_version)
      AND a.facts = coalesce($facts, a.facts)"""


def stored_findings(
    warehouse: Warehouse,
    uris: Sequence[str],
    facts: Sequence[Annotation] | None = None,
    severity: str | None = None,
    *,
    current: bool = True,
) -> tuple[list[Finding], list[str]]:
    """The stored findings of sources, of one severity if given, and the sources without an audit,
    including logs. With `current`, or `facts`, only those made by the current rules, or with these
    facts."""
    version = {
        "version": rules_version() if current else None,
        "facts": None if facts is None else digest(tuple(facts)),
    }
    audited = {uri for (uri,) in warehouse.rows(_AUDITED, version)}
    wanted, found = set(uris), []
    chosen = {**version, "uris": sorted(wanted), "severity": severity}
    for _, _, rules, *texts, closed, cells in warehouse.rows(_STORED, chosen) if audited else ():
        severe, confidence, title, evidence, suggestion = texts
        places = tuple(Place(**cell) for cell in cells)
        found.append(
            Finding(
                tuple(rules), severe, confidence, title, evidence, places, suggestion,
                closed=closed,
            )
        )  # fmt: skip
    return found, sorted(wanted - audited)


def open_errors(
    warehouse: Warehouse, uris: Sequence[str], clean: Collection[str] = ()
) -> list[Finding]:
    """The open errors in sources: the stored ones, by whatever rules, as pages show them.

    Other sources, including logs, are audited now, except those known to be `clean`.
    """
    # Where a group has several versions of bench, each reader would repeat the audit of a writer.
    found, others = stored_findings(warehouse, uris, severity="error", current=False)
    found = [one for one in found if not one.closed]
    if others := [uri for uri in others if uri not in clean]:
        from .run import audit  # slow import; usually everything is stored

        found += audit(warehouse, others)
    return sorted((one for one in found if one.severity == "error"), key=lambda one: one.uri)


def store_audit(warehouse: Warehouse, audited: Audited) -> None:
    """Store findings, each with the load of its first doubted cell.

    Nothing is stored for documents that another process has audited meanwhile.
    """
    # Materialized runs and sources do not depend on findings and are expensive: keep them.
    with transaction(warehouse, (*OF_RUNS, *OF_SOURCES)):
        given = [[load for load, _ in audited.loads], rules_version(), audited.facts]
        done = {load for (load,) in warehouse.rows(_DONE, given)}
        _insert(warehouse, audited, {u: load for load, u in audited.loads if load not in done})


def _insert(warehouse: Warehouse, audited: Audited, of_uri: Mapping[str, str]) -> None:
    from ..schema.store import insert  # most calls have nothing to store

    rows: dict[str, Rows] = defaultdict(Rows)
    made_at = now_utc()
    names = {
        load: content_id("audit", load, rules_version(), audited.facts, made_at.isoformat())
        for load in of_uri.values()
    }
    for load, audit_id in names.items():
        rows[load].add(
            "audits", audit_id=audit_id, rules_version=rules_version(), facts=audited.facts,
            made_at=made_at,
        )  # fmt: skip
    for number, finding in enumerate(audited.findings, 1):
        if finding.uri in of_uri:
            load = of_uri[finding.uri]
            _add(rows[load], finding, number, names[load])
    for load, made in rows.items():
        insert(warehouse.con, made, load)


def _add(rows: Rows, finding: Finding, number: int, audit_id: str) -> None:
    for place, one in enumerate(finding.closings, 1):
        rows.add("closings", audit_id=audit_id, number=number, place=place, reason=one.reason,
                 known_since=one.known_since, withdrawn_on=one.withdrawn)  # fmt: skip
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
            rule_version=rules_version(),
        )
