"""All rules in order over one book."""

from __future__ import annotations

from collections.abc import Sequence

from ..schema.warehouse import Warehouse
from .detect import detect
from .finding import Finding, merged
from .load import load
from .rule import rules


def audit(
    warehouse: Warehouse, uris: Sequence[str] | None = None, model: str | None = None
) -> list[Finding]:
    """Every finding, by file and line."""
    book = load(warehouse, uris, model)
    for document in book.documents:
        detect(document)
    for rule in rules():
        book.findings += list(rule.check(book))
    return sorted(merged(book.findings), key=lambda one: (one.uri, one.line, one.rules))
