"""A rule of the audit, and the registry: the listing of rules/."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .book import Book
    from .finding import Finding

RULES_VERSION = 5  # raised when findings change: documents in a warehouse are then audited anew
_MORE = ("R1c", "R8")  # findings of a rule that have an id of their own
Check = Callable[["Book"], Iterable["Finding"]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: what it tests, its threshold and why, and when in the order it runs."""

    id: str
    order: int
    title: str
    tests: str
    threshold: str
    severity: str
    check: Check


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule, in the order of running."""
    folder = files(__package__ or "bench.audit") / "rules"
    names = [
        entry.name.removesuffix(".py")
        for entry in folder.iterdir()
        if entry.name.startswith("r") and entry.name.endswith(".py")
    ]
    found = [import_module(f".rules.{name}", __package__).RULE for name in names]
    return tuple(sorted(found, key=lambda rule: rule.order))


def known_ids() -> tuple[str, ...]:
    """Every id that a finding may have."""
    return (*dict.fromkeys(rule.id for rule in rules()), *_MORE)
