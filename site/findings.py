"""The table of findings: one row for what is wrong alike in several lines of a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from .load import Content
from .table import Cell, Table, column

Finding = Mapping[str, Any]
_SAME = ("uri", "rule", "severity", "title", "evidence", "suggestion", "closed")
_WITH_LINES = 1_000  # rows with wrapped sentences; of larger tables only visible rows are drawn


def alike_once(words: Sequence[Finding]) -> list[Finding]:
    """The findings, those of one source that say the same as one with all their lines."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for word in words:
        groups.setdefault(tuple(word[name] for name in _SAME), []).append(word)
    return [
        {**same[0], "lines": [line for one in same for line in one["lines"]], "count": len(same)}
        for same in groups.values()
    ]


def findings_table(content: Content, words: Sequence[Finding]) -> Table:
    """One row per finding: the run, what is wrong with it, and the lines that show it."""
    line = content.text.line

    def place(finding: Finding) -> Cell:
        if finding["of"]:
            href, text = finding["of"][0]
        else:
            text, href = (
                finding["places"][0] if finding["places"] else (_short(content, finding), None)
            )
        more = f" +{finding['count'] - 1}" if finding["count"] > 1 else ""
        return Cell(line(text + more, 120), href=href)

    def lines(finding: Finding) -> Cell:
        href = finding["places"][0][1] if finding["places"] else None
        return Cell(line(spans(finding["lines"]), 200), href=href, look="lines-of")

    columns = [
        column("place", "Where", words, place),
        column("severity", "Severity", words, lambda one: Cell(one["severity"]), kind="status"),
        column("title", "What", words, lambda one: Cell(line(one["title"])), wide=True),
        column("evidence", "Evidence", words,
               lambda one: Cell(line(one["evidence"], 600), look="evidence"), wide=True),
        column("suggestion", "Suggestion", words,
               lambda one: Cell(line(one["suggestion"] or "", 300)), wide=True),
        column("lines", "Lines", words, lines, wide=True),
        column("rule", "Rule", words, lambda one: Cell(one["rule"])),
        column("closed", "Closed by a person", words,
               lambda one: Cell(line(one["closed"] or "", 300))),
    ]  # fmt: skip
    looks = ["left-out" if word["closed"] else "" for word in words]
    kept = [one for one in columns if not one.is_empty]
    return Table("findings", "Findings", kept, key="findings", looks=looks, first=_WITH_LINES)


def _short(content: Content, finding: Finding) -> str:
    return content.names.short(finding["uri"])


def spans(lines: Sequence[int | None]) -> str:
    """Line numbers with those that follow each other as one: 51-57, 60."""
    numbers = sorted({line for line in lines if line is not None})
    starts = numbers[:1] + [b for a, b in pairwise(numbers) if b > a + 1]
    ends = [a for a, b in pairwise(numbers) if b > a + 1] + numbers[-1:]
    return ", ".join(
        str(a) if a == b else f"{a}\u2013{b}" for a, b in zip(starts, ends, strict=True)
    )
