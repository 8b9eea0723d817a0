"""What the words of a scheduler say and do not say; Ctrl-C while they are under way is for us."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.launch.launcher import JobState
from bench.launch.launchers.slurm import Slurm
from bench.launch.scheduler_client import states
from bench.schema.opening import open_read

SBATCH = "touch began; sleep 2; echo 7"
SACCT = "test -e gone && echo '7|CANCELLED|0:15|1' || echo '7|RUNNING|0:0|1'"
SCANCEL = "touch gone"


def install_fake_commands(folder: Path, **does: str) -> dict[str, str]:
    """Programs by these names that do so in the folder, and the PATH on which they are first."""
    place = folder / "bin"
    place.mkdir(exist_ok=True)
    for name, program in does.items():
        (place / name).write_text(f"#!/bin/sh\ncd '{folder}'\n{program}\n")
        (place / name).chmod(0o755)
    return {"PATH": f"{place}:{os.environ['PATH']}"}


def started(folder: Path, path: dict[str, str], plan: str) -> subprocess.Popen[str]:
    """A launch of such a plan."""
    (folder / "plan.toml").write_text(f"trainer = 'command'\nlauncher = 'slurm'\n{plan}")
    return subprocess.Popen(
        [sys.executable, "-m", "bench", "launch", "plan.toml", "--db", "x.duckdb"], cwd=folder,
        env={**os.environ, **path}, start_new_session=True, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def stopped(folder: Path, launched: subprocess.Popen[str]) -> tuple[str, dict[str, object]]:
    """What it said and its one run, after a Ctrl-C as soon as it has begun to submit."""
    until = time.monotonic() + 60
    while not (folder / "began").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert (folder / "began").exists(), "never submitted"
    os.killpg(launched.pid, signal.SIGINT)
    _, said = launched.communicate(timeout=120)
    assert launched.returncode == 128 + signal.SIGINT, said
    [state] = (folder / "launches" / "plan").glob("*/run.json")
    return said, json.loads(state.read_text())


ONE = "command = 'true {dp}'\n[settings]\ndp = 1\n"


def test_a_job_under_submission_is_cancelled_and_not_lost(tmp_path: Path) -> None:
    """A terminal sends Ctrl-C to all of its foreground group, an sbatch under way included."""
    path = install_fake_commands(tmp_path, sbatch=SBATCH, sacct=SACCT, scancel=SCANCEL)
    _, told = stopped(tmp_path, started(tmp_path, path, ONE))
    assert (told["status"], told["job_id"]) == ("cancelled", "7")
    assert (tmp_path / "gone").exists()


@pytest.mark.slow
def test_a_job_that_the_scheduler_does_not_cancel_is_not_called_cancelled(tmp_path: Path) -> None:
    refused = "echo 'scancel: error: Access/permission denied' >&2; exit 1"
    path = install_fake_commands(tmp_path, sbatch=SBATCH, sacct=SACCT, scancel=refused)
    said, told = stopped(tmp_path, started(tmp_path, path, ONE))
    assert (told["status"], told["job_id"]) == ("running", "7")
    assert "scancel failed: scancel: error: Access/permission denied" in said
    assert "1 possibly still running (job 7)" in said and "not started" not in said
    with open_read(tmp_path / "x.duckdb") as warehouse:
        assert warehouse.rows("SELECT status FROM runs") == [("running",)]
    (tmp_path / "gone").touch()
    again = started(tmp_path, path, ONE)
    again.communicate(timeout=60)
    [state] = (tmp_path / "launches" / "plan").glob("*/run.json")
    told = json.loads(state.read_text())
    assert (told["status"], told["attempt"]) == ("cancelled", 1), "gone on with"


@pytest.mark.slow
def test_many_jobs_are_asked_for_together_and_fill_as_many_arrays_as_they_need(
    tmp_path: Path,
) -> None:
    path = install_fake_commands(
        tmp_path,
        sbatch="echo x >>jobs; grep -c x jobs",
        scontrol="echo 'MaxArraySize            = 2'",
        sacct='echo "$*" >>asked; test $(wc -l <asked) -lt 3 && word=RUNNING || word=FAILED\n'
        'for job in 1_0 1_1 2_0 2_1 3; do echo "$job|$word|1:0|1"; done',
    )
    many = "command = 'true {n}'\nvalues = { n = [1, 2, 3, 4, 5] }\n"
    launched = started(tmp_path, path, many)
    _, said = launched.communicate(timeout=120)
    assert launched.returncode == 1 and "0 of 5 runs ok, 5 failed" in said, said
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == ["-X -n -P -j 1,2,3 -o JobID,State,ExitCode,ElapsedRaw"] * 3
    scripts = [script.read_text() for script in tmp_path.rglob("job.sh")]
    assert sum("--array=0-1" in script for script in scripts) == 2 and len(scripts) == 3


@pytest.mark.slow
def test_jobs_of_a_launcher_that_was_killed_are_asked_for_together(tmp_path: Path) -> None:
    path = install_fake_commands(
        tmp_path, sbatch="echo 7; touch began", scontrol="exit 1", scancel="touch gone",
        sacct='echo "$*" >>asked; test -e over && word=FAILED || word=RUNNING\n'
        'for job in 7_0 7_1; do echo "$job|$word|1:0|1"; done',
    )  # fmt: skip
    two = "command = 'true {n}'\nvalues = { n = [1, 2] }\n"
    launched = started(tmp_path, path, two)
    until = time.monotonic() + 60
    while not (tmp_path / "asked").exists() and time.monotonic() < until:
        time.sleep(0.05)
    launched.kill()
    launched.communicate(timeout=60)
    (tmp_path / "over").touch()
    (tmp_path / "asked").unlink()
    again = started(tmp_path, path, two)
    _, said = again.communicate(timeout=120)
    assert "0 of 2 runs ok, 2 failed" in said, said
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == ["-X -n -P -j 7 -o JobID,State,ExitCode,ElapsedRaw"] * 2
    states_ = [json.loads(one.read_text()) for one in tmp_path.rglob("run.json")]
    assert [one["attempt"] for one in states_] == [1, 1], "gone on with"


def test_a_scheduler_that_cannot_be_asked_has_not_lost_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")

    def say(**does: str) -> JobState | None:
        install_fake_commands(tmp_path, **does)
        return states(Slurm(), ["7"])["7"]

    refused = "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1"
    down = say(sacct=refused, scontrol=refused)
    assert down is not None and down.status is None
    unknown = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"
    assert say(scontrol=unknown) is None
    assert say(sacct="exit 0", scontrol=refused) is None
    found = say(sacct="echo '7|RUNNING|0:0|1'")
    assert found is not None and found.word == "RUNNING"
