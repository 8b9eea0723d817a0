"""The rules as a table: `python -m bench.audit.reference` writes it into docs/audit.md."""

from __future__ import annotations

import re
from pathlib import Path

from . import closed_findings
from .rule import described, number_of


def table() -> str:
    """Every rule by its number: what it tests, its threshold and why."""
    lines = ["| rule | title | tests | threshold, and why | at worst |", "|---|---|---|---|---|"]
    lines += [
        f"| {one.id} {one.slug} | {one.title} | {one.tests} | {one.threshold} | {one.severity} |"
        for one in sorted(described(), key=lambda rule: number_of(rule.id))
    ]
    lines.append(
        f"| {closed_findings.RULE} {closed_findings.SLUG} | {closed_findings.TITLE}"
        f" | {closed_findings.TESTS} | none | warning |"
    )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    manual = Path(__file__).resolve().parents[1] / "docs" / "audit.md"
    text = manual.read_text("utf-8")
    manual.write_text(
        re.sub(r"^\| rule \|(?:.*\n\|)*.*\n", lambda _: table(), text, flags=re.M), "utf-8"
    )
