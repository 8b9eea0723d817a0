"""One command a file: its options as typer reads them, and the library call."""

from __future__ import annotations

# As help lists them: what one does first comes first.
COMMANDS = (
    "ingest", "forget", "report", "runs", "show", "explain", "days", "best", "compare", "chart",
    "audit", "sql", "export", "diff", "ci", "doctor", "launch", "watch",
)  # fmt: skip
