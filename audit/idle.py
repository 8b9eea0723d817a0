"""Facts and comments that close nothing: the finding has gone, or was never meant so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from ..schema.user_facts import FINDING, UserFact
from ..schema.warehouse import Warehouse
from .closing import Comment, comments, speaks_of, tables_of
from .finding import Finding, Place
from .places import read
from .rule import known_ids

RULE = "R0"
TITLE = "Facts and comments that close nothing"
TESTS = "what `facts.toml` or a comment closes is found, and its rule exists; when all else is done"


def idle(
    warehouse: Warehouse,
    findings: Sequence[Finding],
    facts: Sequence[UserFact],
    root: Path,
    *,
    whole: bool,
) -> list[Finding]:
    """A warning for each fact and comment about the sources of a warehouse that closes nothing.

    `whole`: these are all sources there are, not some files that were asked for.
    """
    uris = [uri for (uri,) in warehouse.rows("SELECT uri FROM sources ORDER BY uri")]
    found = [*_facts(warehouse, findings, facts, uris, whole)]
    for uri in uris:
        if uri.lower().endswith((".md", ".markdown")):
            mine = [one for one in findings if one.uri == uri]
            for said in comments(read(root / uri)):
                if why := _why_comment(said, mine):
                    found.append(_finding(Place(uri, said.at), why))
    return found


def _facts(
    warehouse: Warehouse,
    findings: Sequence[Finding],
    facts: Sequence[UserFact],
    uris: Sequence[str],
    whole: bool,
) -> Iterator[Finding]:
    tables = tables_of(warehouse)
    for fact in facts:
        closes = fact.field != FINDING or any(speaks_of(fact, one, tables) for one in findings)
        if not closes and (why := _why_fact(fact, uris, whole)):
            yield _finding(Place(fact.file, fact.line, text="[[fact]]", column=1), why)


def _why_fact(fact: UserFact, uris: Sequence[str], whole: bool) -> str:
    """What a fact that closes nothing is about; '' where it is of sources that are not asked."""
    match = fact.match
    if match.rule and (wrong := _unknown(match.rule)):
        return wrong
    if match.model:
        return "findings have no model: match their file, line or rule"
    if match.file is None or not any(match.names(uri) for uri in uris):
        return f"no source is called {match.file}" if whole and match.file else ""
    lines = ", ".join(f"l.{line}" for line in match.lines)
    return f"there is no finding{f' of {match.rule}' if match.rule else ''} in {match.file}" + (
        f" on {lines}" if lines else ""
    )


def _why_comment(said: Comment, findings: Sequence[Finding]) -> str:
    if any(said.speaks_of(one) for one in findings):
        return ""
    if not said.reason:
        return "it gives no reason: `<!-- bench audit: ok R6 l.44: measured twice -->`"
    where = f" on l.{said.line}" if said.line else ""
    return _unknown(said.rule) or f"there is no finding of {said.rule}{where}"


def _unknown(rule: str) -> str:
    known = {one.lower(): one for one in known_ids()}
    if rule.lower() in known:
        return ""
    near = get_close_matches(rule.lower(), known, n=1)
    return f"there is no rule {rule}" + (f"; did you mean {known[near[0]]}?" if near else "")


def _finding(place: Place, why: str) -> Finding:
    return Finding((RULE,), "warning", "high", "this closes no finding", why, (place,))
