"""Findings as data: JSON objects, SARIF 2.1, annotations of GitHub."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

from ..vocabulary.printable import Commands, json_text, workflow_command
from .closed_findings import RULE, SLUG, is_from_facts
from .finding import Finding, Place
from .rule import described, slugs

COLUMNS = ("severity", "rule", "where", "what", "evidence", "suggestion")
_LEVELS = {"error": "error", "warning": "warning", "note": "note"}
_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}
_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def rows(findings: Sequence[Finding]) -> list[tuple[object, ...]]:
    """One row a finding, for listings."""
    return [
        (
            f"{finding.severity} (closed)" if finding.closed else finding.severity,
            ", ".join(map(named, finding.rules)),
            where(finding),
            finding.message,
            finding.evidence,
            f"closed: {finding.closed}" if finding.closed else finding.suggestion,
        )
        for finding in findings
    ]


def named(rule: str) -> str:
    """A rule's id with its slug: `R9 shifted-cells`."""
    return f"{rule} {SLUG if rule == RULE else slugs()[rule]}"


def as_lines(findings: Sequence[Finding], width: int) -> str:
    """Findings as a list, for a terminal too narrow for a table; those of a file that say the same
    in the same words are one, with their lines."""
    alike: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        grade, rules, _, *words = map(str, rows([finding])[0])
        alike.setdefault((grade, rules, finding.uri, *words), []).append(finding)

    def lines(of: Sequence[Finding]) -> Iterator[str]:
        first = of[0]
        grade, rules, _, message, evidence, suggestion = map(str, rows([first])[0])
        yield f"{grade} {rules} {where(*of)}" + (f" ({len(of)} findings)" if len(of) > 1 else "")
        advice = (
            f"suggestion: {suggestion}" if first.suggestion and not first.closed else suggestion
        )
        for text in (f"{message}: {evidence}" if evidence else message, advice):
            yield from wrap(text, max(width, 20), initial_indent="  ", subsequent_indent="  ")

    return "\n".join(line for of in alike.values() for line in lines(of)) + "\n"


def where(*findings: Finding) -> str:
    """The file and lines of findings in one file, in short."""
    cells = [cell for finding in findings for cell in finding.cells]
    lines = sorted({cell.line for cell in cells})
    shown = ",".join(map(str, lines[:6])) + ("..." if len(lines) > 6 else "")
    column = cells[0].column
    return f"{findings[0].uri}:{shown}" + (f":{column}" if len(lines) == 1 and column else "")


def objects(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """One object a finding."""
    return [
        {
            "rule": finding.rule,
            "rules": list(finding.rules),
            "slug": named(finding.rule).partition(" ")[2],
            "severity": finding.severity,
            "confidence": finding.confidence,
            "file": finding.uri,
            "line": finding.line,
            "column": finding.cells[0].column,
            "message": finding.message,
            "evidence": finding.evidence,
            "suggestion": finding.suggestion or None,
            "cells": [_cell(cell) for cell in finding.cells],
            "closed": finding.closed or None,
        }
        for finding in findings
    ]


def as_json(findings: Sequence[Finding]) -> str:
    """A list of objects."""
    return json_text(objects(findings), indent=2) + "\n"


def as_github(findings: Sequence[Finding]) -> str:
    """Workflow commands, which GitHub shows next to the lines of a pull request."""
    lines = (_command(finding) for finding in findings if not finding.closed)
    return Commands("".join(lines))


def _command(finding: Finding) -> str:
    column = {"col": finding.cells[0].column} if finding.cells[0].column else {}
    place = {"file": finding.uri, "line": finding.line, **column}
    title = f"{named(finding.rule)}: {finding.message}"
    return workflow_command(_GITHUB[finding.severity], _sentence(finding), **place, title=title)


def as_sarif(findings: Sequence[Finding], version: str, scope: Sequence[str] = ()) -> str:
    """A SARIF 2.1.0 log with one run; `scope` lists what could be tested."""
    driver = {
        "name": "bench audit",
        "semanticVersion": version,
        "rules": list(_rules(findings).values()),
    }
    places = list(_rules(findings))
    results = [_result(finding, places.index(finding.rule)) for finding in findings]
    notes = [{"level": "note", "message": {"text": line}} for line in scope]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
        "results": results,
    }
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rules(findings: Sequence[Finding]) -> dict[str, dict[str, Any]]:
    known = {rule.id: rule for rule in described()}
    found: dict[str, dict[str, Any]] = {}
    for name in sorted({*known, *(finding.rule for finding in findings)}):
        rule = known.get(name)
        found[name] = {"id": name, "name": named(name).partition(" ")[2]}
        if rule:
            found[name] |= {
                "shortDescription": {"text": rule.title},
                "fullDescription": {"text": f"{rule.tests}. Threshold: {rule.threshold}."},
                "defaultConfiguration": {"level": _LEVELS[rule.severity]},
            }
    return found


def _result(finding: Finding, index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": _sentence(finding)},
        "locations": [_location(finding.cells[0])],
        "properties": {"confidence": finding.confidence, "rules": list(finding.rules)},
    }
    if finding.cells[1:]:
        result["relatedLocations"] = [_location(cell) for cell in finding.cells[1:]]
    if finding.closed:
        kind = "external" if is_from_facts(finding.closed) else "inSource"
        result["suppressions"] = [{"kind": kind, "justification": finding.closed}]
    return result


def _location(cell: Place) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": cell.line}
    if cell.column:
        region["startColumn"] = cell.column
        region["endColumn"] = cell.column + len(cell.text)
    place = {"artifactLocation": {"uri": _uri(cell.uri)}, "region": region}
    return {"physicalLocation": place}


def _uri(path: str) -> str:
    from urllib.parse import quote

    return quote(path, safe="/:.~-_")


def _cell(cell: Place) -> dict[str, Any]:
    return {"file": cell.uri, "line": cell.line, "column": cell.column, "text": cell.text}


def _sentence(finding: Finding) -> str:
    text = f"{finding.message}: {finding.evidence}" if finding.evidence else finding.message
    return f"{text}. Suggestion: {finding.suggestion}" if finding.suggestion else text
