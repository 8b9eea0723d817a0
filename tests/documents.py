"""Documents for tests, and the runs that are read of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.ingest.documents.tables import read_markdown
from bench.ingest.files.pipeline import ingest_into
from bench.ingest.files.summary import Summary
from bench.schema.opening import in_memory
from bench.schema.rows import Row

Run = Mapping[str, Any]  # a row of the view, measurements added by name

_FIELDS = ("model", "device", "devices", "nodes", "mbs", "gbs", "dtype", "recompute", "seq_len",
           "grad_accum", "tp", "pp", "dp")  # fmt: skip


def read(text: str, folder: Path) -> tuple[list[Run], Summary]:
    (folder / "a.md").write_text(text, "utf-8")
    with in_memory() as warehouse:
        summary = ingest_into(warehouse, [folder / "a.md"], folder)
        runs = warehouse.dicts("SELECT * FROM configurations WHERE origin = 'row' ORDER BY line")
        for run in runs:
            for row in warehouse.dicts(
                "SELECT * FROM measurements WHERE run_id = ?", [run["run_id"]]
            ):
                run[row["metric"]] = row["value"]
            settings = warehouse.rows(
                "SELECT name, value FROM env_flags WHERE run_id = ?", [run["run_id"]]
            )
            run["settings"] = dict(settings)
        return list(runs), summary


def check(run: Run, **expected: object) -> None:
    found = {name: run.get(name) for name in expected}
    assert found == {
        name: pytest.approx(value) if isinstance(value, float) else value
        for name, value in expected.items()
    }


def runs(text: str) -> list[dict[str, object]]:
    """The runs of a document with what is known of each, and its measurements by metric."""
    rows, _ = read_markdown(text, "s")
    by_table = rows.by_table
    found = []
    sizes: dict[object, Row] = {row["run_id"]: row for row in by_table.get("topology", ())}
    for run in by_table.get("runs", ()):
        both = {**run, **sizes.get(run["run_id"], {})}
        one = {name: both[name] for name in _FIELDS if both.get(name) is not None}
        measured = [m for m in by_table.get("measurements", ()) if m["run_id"] == run["run_id"]]
        one |= {str(m["metric"]): m["value"] for m in measured}
        if run["status"] != "ok":
            one["status"] = run["status"]
        found.append(one)
    return found
