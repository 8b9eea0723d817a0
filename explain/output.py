"""Output of answers as a text tree or JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from ..audit.output import objects
from ..vocabulary.format import number, significant
from ..vocabulary.printable import json_text, plain, terminal
from .tree import Answer, Arithmetic, Match, Node, SourceSpan

_WIDE = 100  # characters shown of a raw line


def as_tree(answer: Answer, short: Callable[[str], str]) -> str:
    """Every match as an indented tree; `short` abbreviates names of sources."""
    parts = ["".join(_matches(answer, short))]
    if answer.more:
        parts.append(f"... and {answer.more} more: --all\n")
    parts += [f"Note: {terminal(note)}\n" for note in answer.notes]
    if answer.findings:
        parts.append(
            "Findings on the way\n"
            + "".join(_finding(finding, short) for finding in answer.findings)
        )
    if answer.versions:
        lines = [
            f"  {terminal(f'{short(version.uri)}: {version.uri}')}, version {version.generation},"
            f" sha256 {version.sha256[:12]}, "
            f"read by version {version.parser_version}"
            f"{f'; {version.state}' if version.state else ''}\n"
            for version in answer.versions
        ]
        parts.append("Sources\n" + "".join(lines))
    return "\n".join(parts)


def as_json(answer: Answer, version: str) -> str:
    """The answer as one JSON object."""
    made = {
        "asked": answer.question,
        "kind": answer.kind,
        "matches": [
            {"where": match.where, "title": match.title, "tree": _object(match.tree)}
            for match in answer.matches
        ],
        "more": answer.more,
        "findings": objects(answer.findings),
        "sources": plain(answer.versions),
        "bench": version,
    }
    return json_text(made, indent=1) + "\n"


def _matches(answer: Answer, short: Callable[[str], str]) -> Iterator[str]:
    """Matches with a single node take one line each, the others a paragraph."""
    before = False
    for match in answer.matches:
        flat = not match.tree.inputs and not match.tree.how
        gap = "" if flat or not before else "\n"
        before = True
        if flat:
            yield f"{terminal(f'{match.where}  {match.title}')}: {_leaf(match.tree, short)}\n"
        else:
            head = terminal(f"{match.where}  {match.title}")
            yield f"{gap}{head}\n" + "".join(_branch(match, short))


def _branch(match: Match, short: Callable[[str], str]) -> Iterator[str]:
    yield from _lines(match.tree, short, "", "")


def _lines(node: Node, short: Callable[[str], str], first: str, rest: str) -> Iterator[str]:
    yield f"{first}{_leaf(node, short)}\n"
    inner = rest + ("│  " if node.inputs else "   ")
    if node.how:
        yield from (f"{inner}{line}\n" for line in _how(node.how))
    for place, child in enumerate(node.inputs):
        last = place == len(node.inputs) - 1
        yield from _lines(child, short, f"{rest}{'└─ ' if last else '├─ '}",
                          f"{rest}{'   ' if last else '│  '}")  # fmt: skip


def _leaf(node: Node, short: Callable[[str], str]) -> str:
    value = text_of(node.value)
    parts = [f"{node.name} = {value}{f' {node.unit}' if node.unit else ''}" if value else node.name]
    if node.low is not None and node.high is not None and node.low != node.high:
        parts.append(f"({text_of(node.low)} to {text_of(node.high)})")
    if node.place:
        parts.append(f"<- {_place(node.place, node.value, short)}")
    if node.note:
        parts.append(f"[{node.note}]")
    return terminal("  ".join(parts))


def _how(how: Arithmetic) -> Iterator[str]:
    name = f"{how.formula}: " if how.formula else ""
    yield f"= {how.expression}" + (f"    {name}{how.title}" if how.title else "")
    if how.source:
        yield f"  source: {how.source}"
    if how.counts:
        yield f"  counts: {how.counts}"


def _place(place: SourceSpan, value: object, short: Callable[[str], str]) -> str:
    where = short(place.uri) + (f":{place.line}" if place.line is not None else "")
    where += f":{place.column}" if place.column is not None else ""
    return f"{where} {_cropped(place.raw, value)!r}" if place.raw else where


def _cropped(raw: str, value: object) -> str:
    """The part of a long line around its number."""
    if len(raw) <= _WIDE:
        return raw
    # A value in s may be printed in ms.
    tried = [value, value * 1000] if isinstance(value, (int, float)) else [value]
    texts = [f"{one:g}" if isinstance(one, float) else str(one) for one in tried]
    texts += [f"{one:.0f}" for one in tried[1:] if isinstance(one, float)]
    at = next((raw.find(text) for text in texts if text and text in raw), 0)
    start = max(0, min(at - _WIDE // 2, len(raw) - _WIDE))
    end = start + _WIDE
    return f"{'...' if start else ''}{raw[start:end]}{'...' if end < len(raw) else ''}"


def _finding(one: Any, short: Callable[[str], str]) -> str:
    closed = f" (closed: {one.closed})" if one.closed else ""
    suggestion = f"; suggestion: {one.suggestion}" if one.suggestion else ""
    where = f"{one.severity} {one.rule}, {short(one.uri)}:{one.line}"
    return f"  {terminal(f'{where}: {one.message}: {one.evidence}{suggestion}{closed}')}\n"


def text_of(value: object) -> str:
    """A value with six digits, whole numbers with all."""
    if value is None:
        return "not known"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int) or float(value).is_integer():
        return number(value)
    shown = significant(value, 6)
    return shown.rstrip("0").rstrip(".") if "." in shown and "e" not in shown else shown


def _object(node: Node) -> dict[str, Any]:
    made: dict[str, Any] = {"name": node.name, "value": plain(node.value), "unit": node.unit}
    if node.low is not None or node.high is not None:
        made |= {"low": plain(node.low), "high": plain(node.high)}
    if node.how:
        details = ((name, plain(value)) for name, value in asdict(node.how).items())
        made["how"] = {name: value for name, value in details if value}
    if node.place:
        place = node.place
        made["place"] = {"file": place.uri, "line": place.line, "column": place.column,
                         "text": place.raw}  # fmt: skip
    if node.note:
        made["note"] = node.note
    made["inputs"] = [_object(child) for child in node.inputs]
    return made
