"""All rules in order over one book."""

from __future__ import annotations

from collections.abc import Sequence

from ..schema.held import OF_RUNS, OF_SOURCES, hold, hold_if_small
from ..schema.warehouse import Warehouse
from .detect import detect
from .finding import Finding, merged
from .load import load
from .rule import rules
from .scope import Scope, scope_of


def audit(
    warehouse: Warehouse, uris: Sequence[str] | None = None, model: str | None = None
) -> list[Finding]:
    """Every finding, by file and line."""
    return examined(warehouse, uris, model)[0]


def examined(
    warehouse: Warehouse, uris: Sequence[str] | None = None, model: str | None = None
) -> tuple[list[Finding], Scope]:
    """Every finding, and what could be tested."""
    hold(warehouse, *OF_RUNS)
    hold_if_small(warehouse, *OF_SOURCES)
    book = load(warehouse, uris, model)
    for document in book.documents:
        detect(document)
    for rule in rules():
        book.findings += list(rule.check(book))
    found = sorted(merged(book.findings), key=lambda one: (one.uri, one.line, one.rules))
    return found, scope_of(book)
