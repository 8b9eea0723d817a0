"""Documents for tests, and the runs that are read of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.ingest.files.pipeline import ingest_into
from bench.ingest.files.summary import Summary
from bench.schema.opening import in_memory

Run = Mapping[str, Any]  # a row of the view, measurements added by name


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
