"""A disk that is full and a warehouse that is not to be had: told in words, and runs go on."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bench.schema.errors import Incompatible
from tests.launching import write
from tests.program import Outcome, environment, quick, told

ACTING = Path(__file__).with_name("acting.py")
PLAN = """
    trainer = "command"
    command = "sh -c '{before}exec {program} well' {{n}}"
    values = {{ n = [1, 2] }}
    """


def plan(folder: Path, before: str = "") -> Path:
    """Two runs that end well; `before`: words of a shell in front of each."""
    return write(folder, PLAN.format(before=before, program=f"{sys.executable} {ACTING}"))


def small(folder: Path, blocks: int, *words: str) -> Outcome:
    """`bench` where no file may grow beyond so many blocks of 512 bytes, as on a full disk."""
    command = shlex.join([sys.executable, "-m", "bench", *words])
    limited = ["sh", "-c", f"ulimit -f {blocks}; exec {command}"]
    done = subprocess.run(
        limited, cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def test_a_warehouse_that_cannot_be_made_is_told_before_anything_runs(folder: Path) -> None:
    file = plan(folder)
    done = quick(folder, "launch", str(file), "--db", "nowhere/x.duckdb")
    told(done, 2, "cannot make a warehouse at", "its folder does not exist")
    assert not list(folder.rglob("*.log"))
    done = quick(folder, "launch", str(file), "--db", "nowhere/x.duckdb", "--dry-run")
    assert done.code == 1 and "its folder does not exist" in done.err, done.text


@pytest.mark.slow
def test_a_warehouse_that_breaks_on_the_way_does_not_end_the_sweep(folder: Path) -> None:
    broken = folder / "bench.duckdb"
    done = quick(folder, "launch", str(plan(folder, f"echo junk >{broken}; ")))
    assert done.code == Incompatible.exit_code, done.text
    assert "2 of 2 runs ok" in done.err, "both were made"
    assert done.err.splitlines()[-3].startswith("error: ") and str(broken) in done.err
    broken.unlink()
    assert quick(folder, "ingest", "launches").code == 0, "the logs have it all"
    assert quick(folder, "runs").out.count("| ok ") == 2


@pytest.mark.slow
def test_a_disk_that_is_full_is_told_with_the_file(folder: Path) -> None:
    done = small(folder, 1, "launch", str(plan(folder)))
    told(done, 2, "cannot write the log of a run", "File too large", "-r1.log")
    done = small(folder, 64, "launch", str(plan(folder)))
    told(done, 2, "out of memory or disk space", "bench.duckdb")
    assert "2 of 2 runs ok" in done.err
