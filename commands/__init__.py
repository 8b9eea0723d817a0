"""One command a file: NAME.py holds the function NAME, with its options and one library call."""

from __future__ import annotations

from pathlib import Path

# Help lists these first: what one does first comes first. Other files follow by name.
_ORDER = (
    "ingest", "forget", "report", "site", "runs", "show", "explain", "days", "best", "compare",
    "predict", "plan", "chart", "failures", "trend", "stragglers", "history", "audit", "claim",
    "verify", "sql", "export", "merge", "diff", "ci", "doctor", "launch", "watch", "db",
)  # fmt: skip
ALIASES = {"time-to-train": "days", "unmatched": "doctor"}


def names() -> list[str]:
    """The commands, as help lists them, without importing any."""
    found = {file.stem for file in Path(__file__).parent.glob("[!_]*.py")}
    return [*(name for name in _ORDER if name in found), *sorted(found - {*_ORDER})]
