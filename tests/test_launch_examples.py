"""The plans of examples/: what docs/launch.md shows of them is what they do."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from bench.schema.opening import open_read
from tests.program import quick

ROOT = Path(__file__).resolve().parents[1]
SHOWN = re.compile(r"\[\d/\d\] ends=[\w-]+, repeat 1: \w+ after|\d of \d runs ok.*")


@pytest.mark.slow
def test_runs_that_end_badly_end_as_the_documentation_shows(folder: Path) -> None:
    shutil.copytree(ROOT / "examples", folder / "examples")
    done = quick(folder, "launch", "examples/failures.toml")
    assert done.code == 1, done.text
    page = (ROOT / "docs" / "launch.md").read_text()
    shown = page[page.index("$ bench launch examples/failures.toml") :].partition("```")[0]
    assert SHOWN.findall(done.err) == SHOWN.findall(shown) and len(SHOWN.findall(shown)) == 5
    with open_read(folder / "bench.duckdb") as warehouse:
        found = warehouse.rows("SELECT status FROM runs ORDER BY status")
    assert found == [("fail",), ("hang",), ("ok",), ("oom",)]
    for words in (("runs",), ("report",)):
        listed = quick(folder, *words).out
        assert all(f"| {status} " in listed for (status,) in found)


def test_every_example_is_a_plan(folder: Path) -> None:
    shutil.copytree(ROOT / "examples", folder / "examples")
    for plan in sorted(folder.glob("examples/*.toml")):
        done = quick(folder, "launch", str(plan), "--dry-run")
        runs = len(done.out.splitlines())
        assert runs and f"{runs} runs of " in done.err, done.text
