"""What reading one log gave."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..schema.rows import Rows


@dataclass(slots=True)
class LogRead:
    """What a log gave: rows not yet taken, lines by format, and how many lines were read."""

    rows: Rows
    formats: Counter[str]
    runs: int = 0
    lines: int = 0
    lines_read: int = 0
    lines_known: int = 0
    lines_unread: int = 0
    lines_measuring: int = 0  # of these, what looks like a measurement
    encoding_errors: int = 0
