"""How to read, as `ingest` is asked to."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Options:
    """How to read."""

    progress: Progress | None = None
    formats: Path | None = None
    stdin_name: str | None = None
    live: bool = False
    processes: int = 1


def cores() -> int:
    """How many processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
