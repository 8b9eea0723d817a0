"""Ctrl-C while the words of a scheduler are under way: it is for us, and not for them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.launch.launchers.scheduler import JobState
from bench.launch.launchers.slurm import Slurm
from bench.launch.queue import state_of

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


def test_a_scheduler_that_cannot_be_asked_has_not_lost_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def say(**words: str) -> JobState | None:
        for name, does in words.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
            (tmp_path / name).chmod(0o755)
        return state_of(Slurm(), "7")

    refused = "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1"
    down = say(sacct=refused, scontrol=refused)
    assert down is not None and down.status is None
    unknown = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"
    assert say(scontrol=unknown) is None
    assert say(sacct="exit 0", scontrol=refused) is None
    found = say(sacct="echo 'RUNNING|0:0|1'")
    assert found is not None and found.word == "RUNNING"
