"""The rules as a table: `python -m bench.audit.reference`; docs/audit.md holds it."""

from __future__ import annotations

from . import idle
from .rule import rules


def table() -> str:
    """Every rule in the order of running: what it tests, its threshold and why."""
    lines = ["| rule | title | tests | threshold, and why | at worst |", "|---|---|---|---|---|"]
    lines += [
        f"| {rule.id} | {rule.title} | {rule.tests} | {rule.threshold} | {rule.severity} |"
        for rule in rules()
    ]
    lines.append(f"| {idle.RULE} | {idle.TITLE} | {idle.TESTS} | none | warning |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
