"""A checkout with regions, for tests."""

from __future__ import annotations

from pathlib import Path

from tests.making import table
from tests.program import Outcome, quick

ROOT = Path(__file__).resolve().parent.parent
ROW = "4 | 1.3B | 1 | 4 | 1 | 1 | 1024 | 100.5 | 0.86"
DAYS = "<!-- bench:begin report=days -->\n<!-- bench:end -->\n"


def a_checkout(folder: Path) -> Path:
    """A checkout with one document to read."""
    (folder / ".git").mkdir()
    (folder / "sweep.md").write_text(table(ROW).replace("# Sweep", "# Sweep, sequence length=1024"))
    return folder


def update(folder: Path, text: str, *more: str, name: str = "README.md") -> tuple[str, Outcome]:
    """The text after an update from sweep.md, byte for byte, and what was said."""
    (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    done = quick(folder, "report", "--update", name, "--from", "sweep.md", *more)
    return (folder / name).read_bytes().decode("utf-8", "surrogateescape"), done


def check(folder: Path, *names: str) -> Outcome:
    return quick(folder, "report", "--check", *(names or ("README.md",)), "--from", "sweep.md")
