"""One file per command: NAME.py has the function NAME, with its options and one library call."""

from __future__ import annotations

from pathlib import Path

# The order of help: the typical workflow first, then all other commands by name.
_ORDER = (
    "ingest", "forget", "report", "site", "runs", "show", "explain", "days", "best", "compare",
    "predict", "plan", "chart", "failures", "trend", "stragglers", "history", "audit", "claim",
    "verify", "sql", "export", "merge", "diff", "ci", "doctor", "launch", "watch", "db",
)  # fmt: skip
ALIASES = {"time-to-train": "days", "unmatched": "doctor"}


def names() -> list[str]:
    """The names of commands in the order of help; imports none."""
    found = {file.stem for file in Path(__file__).parent.glob("[!_]*.py")}
    return [*(name for name in _ORDER if name in found), *sorted(found - {*_ORDER})]
