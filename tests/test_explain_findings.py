"""Findings stand beside whatever rests on a line, however the line is asked for."""

from __future__ import annotations

from pathlib import Path

from bench.audit.places import placed
from bench.audit.run import audit
from bench.explain.target import explain
from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory


def test_a_finding_is_shown_at_its_line_and_at_its_cell(root: Path) -> None:
    folder = root / "data" / "tables"
    with in_memory() as warehouse:
        ingest_into(warehouse, sorted(folder.glob("00[013]*.md")), folder)
        found = placed(warehouse, audit(warehouse), folder)
        for one in {one.rules: one for one in found}.values():
            first = one.cells[0]
            for column in ("", f":{first.column}" if first.column else ""):
                what = f"{first.uri}:{first.line}{column}"
                told = explain(warehouse, folder, what).findings
                assert one.message in [other.message for other in told], what
