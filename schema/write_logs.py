"""The files beside a warehouse file that hold what is not yet in it."""

from __future__ import annotations

import os
from pathlib import Path

# Of DuckDB and of SQLite.
_LOGS = (".wal", ".wal.checkpoint", ".wal.recovery", "-journal", "-wal", "-shm")


def logs_of(path: Path) -> list[Path]:
    """Where DuckDB, or SQLite, keeps what is not yet in the file itself: beside the file that a
    link leads to."""
    return [Path(f"{os.path.realpath(path)}{end}") for end in _LOGS]
