"""Locate findings in their files: the cell's text and column; apply closing comments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..ingest.files.source_text import source_text
from ..schema.warehouse import Warehouse
from ..vocabulary.secrets import redact_text
from .closed_findings import by_comment, comments, lines_of
from .finding import Finding, Place

_CELL = re.compile(r"(?:\\.|[^|\\])*")
Cells = dict[tuple[str, int, str], tuple[int, str]]


def placed(warehouse: Warehouse, findings: Sequence[Finding], root: Path) -> list[Finding]:
    """The findings with text and column of every doubted cell; `root` is their folder."""
    uris = sorted({cell.uri for finding in findings for cell in finding.cells})
    lines = {uri: source_text(warehouse, root, uri)[0] for uri in uris}
    # A comment may have been written since.
    closing = {uri: list(comments(lines_of(warehouse, root, uri)[0])) for uri in uris}
    cells = _cells(warehouse, findings)
    found = []
    for finding in findings:
        places = tuple(_placed(cell, cells, lines[cell.uri]) for cell in finding.cells)
        found.append(
            replace(finding, cells=places, closed=by_comment(finding, closing[finding.uri]))
        )
    return found


def _cells(warehouse: Warehouse, findings: Sequence[Finding]) -> Cells:
    """Column number and text of every doubted cell; the first of two with the same name."""
    wanted = sorted(
        {(c.uri, c.line, c.name) for finding in findings for c in finding.cells if c.name}
    )
    query = """SELECT t.uri, c.line, w.name, c.column_number, c.raw
               FROM cells c JOIN tables t USING (table_id)
               JOIN (SELECT unnest(?::VARCHAR[]) AS uri, unnest(?::BIGINT[]) AS line,
                            unnest(?::VARCHAR[]) AS name) w
                 ON w.uri = t.uri AND w.line = c.line
                AND w.name IN (c.name, '#' || c.column_number)
               ORDER BY c.column_number DESC"""
    lists = [list(one) for one in zip(*wanted, strict=True)]
    found = warehouse.rows(query, lists) if wanted else ()
    return {(uri, line, name): (number, raw) for uri, line, name, number, raw in found}


def _placed(place: Place, cells: Cells, lines: Sequence[str]) -> Place:
    text = lines[place.line - 1] if 0 < place.line <= len(lines) else ""
    found = cells.get((place.uri, place.line, place.name))
    if found is None:
        cell = place.text or text.strip()
        at = text.find(cell) if cell else -1
        return replace(place, text=redact_text(cell), column=at + 1 if at >= 0 else None)
    number, raw = found
    return replace(place, text=raw, column=column_of(text, number, raw))


def column_of(line: str, number: int, raw: str) -> int | None:
    """First character of the n-th cell, from 1; for an empty cell, where its text would start."""
    if "|" not in line:
        return _of_separated(line, number, raw)
    start = len(line) - len(line.lstrip())
    if line[start : start + 1] == "|":
        start += 1
    for _ in range(number - 1):
        found = _CELL.match(line, start) if "\\" in line else None
        end = found.end() if found else line.find("|", start)
        start = end + 1 if end >= 0 else len(line) + 1
    if start > len(line):
        return None
    at = line.find(raw, start) if raw else start
    return at + 1 if at >= 0 else None


def _of_separated(line: str, number: int, raw: str) -> int | None:
    """The same for a line of CSV or TSV; separators within quotes do not count."""
    separator = max("\t;,", key=line.count)
    quoted, seen, start = False, 1, 0
    for place, letter in enumerate(line):
        if seen == number:
            break
        quoted ^= letter == '"'
        if letter == separator and not quoted:
            seen, start = seen + 1, place + 1
    at = line.find(raw, start) if seen == number else -1
    return at + 1 if at >= 0 else None
