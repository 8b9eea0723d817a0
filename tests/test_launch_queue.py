"""Ctrl-C while the words of a scheduler are under way: it is for us, and not for them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SBATCH = "touch began; sleep 2; echo 7"
SACCT = "test -e gone && echo 'CANCELLED|0:15|1' || echo 'RUNNING|0:0|1'"
SCANCEL = "touch gone"


def test_a_job_under_submission_is_cancelled_and_not_lost(tmp_path: Path) -> None:
    """A terminal sends Ctrl-C to all of its foreground group, an sbatch under way included."""
    words = tmp_path / "bin"
    words.mkdir()
    for name, does in (("sbatch", SBATCH), ("sacct", SACCT), ("scancel", SCANCEL)):
        (words / name).write_text(f"#!/bin/sh\ncd '{tmp_path}'\n{does}\n")
        (words / name).chmod(0o755)
    plan = "trainer = 'command'\nlauncher = 'slurm'\ncommand = 'true {dp}'\n[settings]\ndp = 1\n"
    (tmp_path / "plan.toml").write_text(plan)
    command = [sys.executable, "-m", "bench", "launch", "plan.toml", "--db", "x.duckdb"]
    launched = subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "PATH": f"{words}:{os.environ['PATH']}"},
        start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + 60
    while not (tmp_path / "began").exists() and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(launched.pid, signal.SIGINT)
    assert launched.wait(60) == 128 + signal.SIGINT
    [state] = (tmp_path / "launches" / "plan").glob("*/run.json")
    told = json.loads(state.read_text())
    assert (told["status"], told["job_id"]) == ("cancelled", "7")
    assert (tmp_path / "gone").exists()
