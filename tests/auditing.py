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
