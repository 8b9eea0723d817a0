"""Findings closed by a comment in the document or by facts.toml.

A comment or fact that closes nothing is reported too: its finding is gone, or never matched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from ..ingest.files.source_text import source_text
from ..schema.annotation import FINDING, Annotation
from ..schema.warehouse import Warehouse
from ..vocabulary.regular_files import LARGEST, read_regular
from .finding import ClosingFact, Finding, Place
from .rule import slugs

RULE, SLUG = "R0", "unused-exception"
TITLE = "Exceptions that close no finding"
TESTS = "what `facts.toml` or a comment closes is found, and its rule exists; when all else is done"
_COMMENT = re.compile(
    r"<!--\s*+bench[ -]audit:\s*+(?:ok|closed?)\s++(R\d{1,9}+(?!\d)[a-z]?)"
    r"(?:\s++(?:l\.|line\s++)(\d{1,9}+)(?!\d))?\s*+:?\s*+((?:(?!<!--|-->).)*+)-->",
    re.I,
)
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_WORDS = {"exception": "known exception", "corrected": "accepted correction"}
Tables = Mapping[str, Sequence[tuple[int, int, int]]]  # of a source: number, first and last line


class Comment(NamedTuple):
    """A closing comment of a document: the rule, one line or all of them, and the reason."""

    at: int  # its own line
    rule: str
    line: int | None
    reason: str

    def matches(self, finding: Finding) -> bool:
        """Whether it closes a finding; a comment without a reason closes none."""
        named = self.rule.lower() in (rule.lower() for rule in finding.rules)
        doubted = self.line is None or any(cell.line == self.line for cell in finding.cells)
        return bool(self.reason) and named and doubted


def comments(lines: Sequence[str]) -> Iterator[Comment]:
    """The closing comments of a document, except those inside code."""
    fence = ""
    for at, line in enumerate(lines, 1):
        mark = _FENCE.match(line)
        if mark and (not fence or (mark[1].startswith(fence) and not line[mark.end() :].strip())):
            fence = "" if fence else mark[1]
        for rule, number, reason in () if fence else _COMMENT.findall(line):
            yield Comment(at, rule, int(number) if number else None, reason.rstrip())


def by_comment(finding: Finding, found: Sequence[Comment]) -> str:
    """The reason why a comment of the document closes this finding; "" if none does."""
    return next((comment.reason for comment in found if comment.matches(finding)), "")


def closed(
    warehouse: Warehouse, findings: Sequence[Finding], facts: Sequence[Annotation]
) -> list[Finding]:
    """The findings, marked closed where a fact matches; none is dropped."""
    closing = [fact for fact in facts if fact.field == FINDING]
    if not closing:
        return list(findings)
    tables = tables_of(warehouse)
    return [_closed(finding, closing, tables) for finding in findings]


def tables_of(warehouse: Warehouse) -> Tables:
    """The tables of every source: number, first and last line."""
    found: dict[str, list[tuple[int, int, int]]] = {}
    query = "SELECT uri, number, header_line, last_line FROM tables WHERE number IS NOT NULL"
    for uri, *span in warehouse.rows(query):
        found.setdefault(uri, []).append((span[0], span[1], span[2]))
    return found


def is_from_facts(reason: str) -> bool:
    """Whether facts.toml closed a finding, not a comment in its document."""
    return reason.startswith(tuple(f"{word}: " for word in _WORDS.values()))


def _closed(finding: Finding, facts: Sequence[Annotation], tables: Tables) -> Finding:
    """Closed by the first fact in force; of facts with dates all are kept, for earlier times."""
    if finding.closed:
        return finding
    found = [fact for fact in facts if matches(fact, finding, tables)]
    now = next((_reason(fact) for fact in found if not fact.withdrawn), "")
    dated = any(fact.known_since or fact.withdrawn for fact in found)
    closings = (
        ClosingFact(_reason(fact), fact.known_since, fact.withdrawn) for fact in found if dated
    )
    return replace(finding, closed=now, closings=tuple(closings))


def _reason(fact: Annotation) -> str:
    return f"{_WORDS[fact.value]}: {fact.signed}"


def matches(fact: Annotation, finding: Finding, tables: Tables) -> bool:
    """Whether a fact closes a finding."""
    match = fact.match
    if match.rule and match.rule.lower() not in (rule.lower() for rule in finding.rules):
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


def lines_of(warehouse: Warehouse, root: Path, uri: str) -> tuple[list[str], str]:
    """The lines of a source as they are now, with a reason if its comments are not read.

    A comment may have been written since. Outside of `root` the lines are those that were read,
    since the author of a warehouse may name any file; none if the file no longer exists.
    """
    file = root / uri
    if not os.path.lexists(file):
        return [], ""
    try:
        if not file.resolve().is_relative_to(root.resolve()):
            return source_text(warehouse, root, uri)
        return read_regular(file, LARGEST).decode("utf-8", "replace").splitlines(), ""
    except OSError as error:
        return [], str(error.strerror or error)


def unused(
    warehouse: Warehouse,
    findings: Sequence[Finding],
    facts: Sequence[Annotation],
    root: Path,
    *,
    complete: bool,
) -> list[Finding]:
    """A warning for each fact and comment about the sources of a warehouse that closes nothing.

    `complete`: the findings cover every source, not a selection of files.
    """
    uris = [uri for (uri,) in warehouse.rows("SELECT uri FROM sources ORDER BY uri")]
    found = [*_facts(warehouse, findings, facts, uris, complete)]
    for uri in uris:
        if uri.lower().endswith((".md", ".markdown")):
            lines, why = lines_of(warehouse, root, uri)
            if why:
                found.append(_finding(Place(uri, 1), f"comments in this file are not read: {why}"))
            mine = [finding for finding in findings if finding.uri == uri]
            for comment in comments(lines):
                if why := _why_comment(comment, mine):
                    found.append(_finding(Place(uri, comment.at), why))
    return found


def _facts(
    warehouse: Warehouse,
    findings: Sequence[Finding],
    facts: Sequence[Annotation],
    uris: Sequence[str],
    complete: bool,
) -> Iterator[Finding]:
    tables = tables_of(warehouse)
    for fact in facts:
        closes = (
            fact.field != FINDING
            or fact.withdrawn
            or any(matches(fact, finding, tables) for finding in findings)
        )
        if not closes and (why := _why_fact(fact, uris, complete)):
            yield _finding(Place(fact.file, fact.line, text="[[fact]]", column=1), why)


def _why_fact(fact: Annotation, uris: Sequence[str], complete: bool) -> str:
    """Why a fact closes nothing; '' if its sources are not part of this audit."""
    match = fact.match
    if match.rule and (wrong := _unknown(match.rule)):
        return wrong
    if match.model:
        return "findings have no model: match their file, line or rule"
    if match.file is None or not any(match.names(uri) for uri in uris):
        return f"no source is called {match.file}" if complete and match.file else ""
    lines = ", ".join(f"line {line}" for line in match.lines)
    return f"there is no finding{f' of {match.rule}' if match.rule else ''} in {match.file}" + (
        f" on {lines}" if lines else ""
    )


def _why_comment(comment: Comment, findings: Sequence[Finding]) -> str:
    if any(comment.matches(finding) for finding in findings):
        return ""
    if not comment.reason:
        return "it gives no reason: `<!-- bench audit: ok R6 line 44: measured twice -->`"
    where = f" on line {comment.line}" if comment.line else ""
    return _unknown(comment.rule) or f"there is no finding of {comment.rule}{where}"


def _unknown(rule: str) -> str:
    known = {slug.lower(): slug for slug in slugs()}
    if rule.lower() in known:
        return ""
    near = get_close_matches(rule.lower(), known, n=1)
    return f"there is no rule {rule}" + (f"; did you mean {known[near[0]]}?" if near else "")


def _finding(place: Place, why: str) -> Finding:
    return Finding((RULE,), "warning", "high", "this closes no finding", why, (place,))
