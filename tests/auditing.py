"""What the audit finds in files, for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.audit.finding import Finding
from bench.audit.run import audit
from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory
from tests.program import quick

# By document and line: a rule that finds it, and words of what it suggests.
ERRORS: dict[tuple[str, int], tuple[str, str]] = {
    ("000", 34): ("R1", "1.16"),
    **{("000", line): ("R9", "Notes 02-15") for line in (36, 37, 38, 39)},
    ("001", 29): ("R9", "Mem 20033.7 MiB, Sec/it 14.5, TFLOPs 0.59"),
    ("001", 34): ("R2", "TP=8"),
    ("001", 44): ("R6", "keep one"),
    ("001", 45): ("R6", "keep one"),
    ("002", 265): ("R5", "45GB"),
    ("002", 275): ("R2", "DP=4"),
    **{("002", line): ("R1", "GBS=512") for line in (285, 286, 287)},
    ("002", 296): ("R6", "Sec/it=134.02, TFLOPs=120.29"),
    ("002", 297): ("R1", "117.38"),
    ("002", 401): ("R7", "89.3"),
    ("002", 429): ("R6", "MBS=1"),
}


def audited(file: Path) -> list[dict[str, Any]]:
    """What `bench audit` says of one file."""
    done = quick(file.parent, "audit", file.name, "--format", "json")
    found: list[dict[str, Any]] = json.loads(done.out)
    return found


def found_in(folder: Path) -> list[Finding]:
    """The findings on everything in a folder."""
    with in_memory() as warehouse:
        ingest_into(warehouse, [folder], folder)
        return audit(warehouse)
