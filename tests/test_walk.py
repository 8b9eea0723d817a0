"""benchmarks/walk.py, by which the size of the house is measured, keeps running."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def walk(root: Path, *words: str) -> list[dict[str, Any]]:
    """The rows that the script prints as JSON."""
    command = [sys.executable, str(root / "benchmarks/walk.py"), "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def test_the_package_is_counted_without_its_tests(root: Path) -> None:
    counts = {row["count"]: row["value"] for row in walk(root, "static")}
    others = {"tests", "data", "docs", "benchmarks", "examples", "typings", "build", "out"}
    paths = (path.relative_to(root) for path in root.rglob("*.py"))
    rooms = [path for path in paths if not path.parts[0].startswith(".")]
    assert counts["files"] == sum(path.parts[0] not in others for path in rooms)
    assert counts["lines of a function, median"] <= counts["lines of a function, 90th percentile"]
    assert {"upward arrows between rooms", "circles of files", "circles of rooms"} <= set(counts)


@pytest.mark.slow
def test_a_walk_counts_what_it_enters(root: Path) -> None:
    (runs,) = walk(root, "runs")
    assert 10 < runs["files"] <= runs["functions"] <= runs["calls"]
    assert runs["changes of file"] <= runs["calls"] and runs["cpu_s"] > 0
