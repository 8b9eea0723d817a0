"""A real Slurm on loopback: runs, ends at a limit, cancels, fails; with and without accounting."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.launch.folder import State
from bench.schema.opening import open_read
from tests.launching import preloadable
from tests.program import Outcome, bench, environment

pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("slurmctld") is None,
        reason="NOT TESTED: Slurm is not installed, or this is not root",
    ),
]
PARTITIONS = 'job = { partition = ["debug", "nowhere", "debug,debug"] }'
ACTING = Path(__file__).with_name("acting.py")
SCRIPT = Path(__file__).with_name("services") / "slurm.sh"


@pytest.fixture(scope="module", params=["yes", "no"], ids=["sacct", "scontrol"])
def slurm(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """The environment of a Slurm that runs, with accounting and without."""
    base = tmp_path_factory.mktemp("slurm")
    port = {"yes": "16917", "no": "16937"}[request.param]
    env = {**os.environ, "ACCOUNTING": request.param, "PORT": port}
    try:
        with (base / "up.log").open("w") as log:  # daemons hold on to what they are given
            up = [str(SCRIPT), "up", str(base)]
            done = subprocess.run(up, env=env, stdout=log, stderr=log, check=False)
        assert done.returncode == 0, (base / "up.log").read_text()
        yield {"SLURM_CONF": str(base / "etc" / "slurm.conf")}
    finally:
        subprocess.run([SCRIPT, "down", base], env=env, check=True, timeout=120)


def write(
    folder: Path, acts: list[str], limits: str = "", more: str = "", name: str = "jobs.toml"
) -> Path:
    file = folder / name
    file.write_text(
        f"""
        launcher = "slurm"
        trainer = "command"
        command = "{sys.executable} {ACTING} {{act}}"
        values = {{ act = {json.dumps(acts)} }}
        limits = {{ {limits} }}
        {more}
        """
    )
    return file


def states(folder: Path) -> dict[str, State]:
    found = [State(**json.loads(file.read_text())) for file in folder.rglob("*-r1/run.json")]
    return {state.label.removeprefix("act="): state for state in found}


def launch(folder: Path, slurm: dict[str, str], file: str) -> Outcome:
    return bench(folder, "launch", file, env=slurm, timeout=300)


def test_two_replicas_train(slurm: dict[str, str], folder: Path) -> None:
    text = 'launcher = "slurm"\n[settings]\nmodel = "nano"\ndp = 2\niterations = 4\n'
    (folder / "dp2.toml").write_text(text)
    done = launch(folder, slurm, "dp2.toml")
    assert done.code == 0, done.text
    with open_read(folder / "bench.duckdb") as warehouse:
        told = warehouse.rows("SELECT status, dp, world_size, size FROM configurations")
        query = "SELECT field, value FROM facts WHERE field LIKE 'job%'"
        facts: dict[str, str] = dict(warehouse.rows(query))
        assert warehouse.rows("SELECT count(*) FROM iterations") == [(4,)]
    assert told == [("ok", 2, 2, "0.118M")]
    assert facts["job_state"] == "COMPLETED" and facts["job_id"].isdigit()


def test_an_array_of_good_and_bad(slurm: dict[str, str], folder: Path) -> None:
    file = write(folder, ["well", "raise", "greedy", "abort"], "memory_gb = 0.3")
    done = launch(folder, slurm, file.name)
    assert done.code == 1, done.text
    found = {act: (state.status, state.exit_code) for act, state in states(folder).items()}
    assert found["well"] == ("ok", 0) and found["raise"] == ("fail", 1)
    assert found["greedy"][0] == "oom" and found["abort"][0] == "ok"
    assert "exceeded memory limit" in states(folder)["greedy"].evidence
    jobs = {str(state.job_id).partition("_")[0] for state in states(folder).values()}
    assert len(jobs) == 1, "one array"


def test_more_runs_than_an_array_may_have_are_two(slurm: dict[str, str], folder: Path) -> None:
    file = write(folder, ["well", "raise", "abort", "late", "nan"])
    assert launch(folder, slurm, file.name).code == 1
    found = states(folder)
    assert {act: state.status for act, state in found.items()} == {
        "well": "ok", "raise": "fail", "abort": "ok", "late": "fail", "nan": "nan",
    }  # fmt: skip
    arrays = [str(state.job_id).partition("_")[0] for state in found.values()]
    assert sorted(arrays.count(one) for one in set(arrays)) == [1, 4]


def test_a_time_limit_ends_a_job(slurm: dict[str, str], folder: Path) -> None:
    file = write(folder, ["slow"], "time_s = 60")
    assert launch(folder, slurm, file.name).code == 1
    state = states(folder)["slow"]
    assert state.status == "timeout"
    assert re.search(r"DUE TO TIME LIMIT.*; scheduler state TIMEOUT; last line: still here",
                     state.evidence)  # fmt: skip
    [log] = folder.rglob("*-r1.log")
    assert "DUE TO TIME LIMIT" in log.read_text()


def test_a_silent_job_is_cancelled_as_hanging(slurm: dict[str, str], folder: Path) -> None:
    file = write(folder, ["hang"], "idle_s = 5")
    assert launch(folder, slurm, file.name).code == 1
    state = states(folder)["hang"]
    assert state.status == "hang"
    assert state.evidence.startswith("no output for 5 s; last line: iteration 1/"), state.evidence
    assert queued(slurm) == ""


def test_a_job_that_never_prints_hangs_too(slurm: dict[str, str], folder: Path) -> None:
    file = write(folder, ["mute"], "idle_s = 5")
    assert launch(folder, slurm, file.name).code == 1
    state = states(folder)["mute"]
    assert state.status == "hang" and state.evidence.startswith("no output for 5 s"), state.evidence
    assert queued(slurm) == ""


def test_a_job_whose_exit_hangs_is_ended_and_done(slurm: dict[str, str], folder: Path) -> None:
    file = write(folder, ["linger"], "exit_s = 4")
    assert launch(folder, slurm, file.name).code == 0
    state = states(folder)["linger"]
    assert state.status == "ok"
    assert state.evidence.startswith("hung on exit after training finished")
    assert queued(slurm) == ""


def test_a_job_that_is_refused_leaves_none_unwatched(slurm: dict[str, str], folder: Path) -> None:
    file = write(folder, ["pause"], more=PARTITIONS)
    done = launch(folder, slurm, file.name)
    assert done.code == 1, done.text
    found = {label.partition("=")[2]: state for label, state in states(folder).items()}
    assert {name: state.status for name, state in found.items()} == {
        "debug": "ok", "nowhere": "fail", "debug,debug": "ok",
    }  # fmt: skip
    assert "invalid partition specified: nowhere" in found["nowhere"].evidence
    assert queued(slurm) == ""


@pytest.mark.parametrize("acts", [["well"], ["well", "pause"]], ids=["job", "array"])
def test_folders_and_files_may_be_called_anything(
    slurm: dict[str, str], folder: Path, acts: list[str]
) -> None:
    odd = folder / '50%j o\'f "$HOME"'
    odd.mkdir()
    (odd / ".git").mkdir()
    done = launch(odd, slurm, write(odd, acts, name="my jobs, 50%.toml").name)
    assert done.code == 0, done.text
    assert sorted(path.name for path in folder.iterdir()) == [".git", odd.name]
    logs = list(odd.glob("launches/my-jobs-50/*/*.log"))
    assert len(logs) == len(acts)
    assert all("[after training is done]" in log.read_text() for log in logs)


def test_a_job_tells_what_its_processes_had_mapped(slurm: dict[str, str], folder: Path) -> None:
    library = preloadable(folder, "libjemalloc_of_ours.so")
    more = f"env = {{ LD_PRELOAD = {json.dumps(str(library))} }}"
    assert launch(folder, slurm, write(folder, ["pause", "clean"], more=more).name).code == 1
    found = states(folder)
    assert found["pause"].status == "ok" and found["clean"].status == "fail"
    assert found["clean"].evidence.endswith(" had libc mapped")
    assert (found["clean"].peak_memory_mb or 0) >= 96


def test_ctrl_c_cancels_what_waits_and_what_runs(slurm: dict[str, str], folder: Path) -> None:
    file = write(folder, ["slow", "hang"])
    words = [sys.executable, "-m", "bench", "launch", file.name]
    launched = subprocess.Popen(words, cwd=folder, env=environment(slurm), stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while " R " not in queued(slurm) and time.monotonic() < until:
        time.sleep(0.2)
    launched.send_signal(signal.SIGINT)
    _, told = launched.communicate(timeout=120)
    assert launched.returncode == 130, told.decode()
    assert {state.status for state in states(folder).values()} == {"cancelled"}
    assert queued(slurm) == ""


def test_a_job_goes_on_without_its_launcher(slurm: dict[str, str], folder: Path) -> None:
    file = write(folder, ["pause"])
    words = [sys.executable, "-m", "bench", "launch", file.name]
    launched = subprocess.Popen(words, cwd=folder, env=environment(slurm), stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while " R " not in queued(slurm) and time.monotonic() < until:
        time.sleep(0.2)
    launched.kill()
    launched.communicate(timeout=60)
    before = states(folder)["pause"].job_id
    assert launch(folder, slurm, file.name).code == 0
    after = states(folder)["pause"]
    assert (after.status, after.job_id) == ("ok", before), "gone on with, not run again"


@pytest.mark.parametrize(
    "does",
    ['{sbatch} "$@"; kill -9 $PPID', 'kill -9 $PPID; sleep 3; exec {sbatch} "$@"'],
    ids=["answered", "under-way"],
)
def test_a_launcher_killed_while_it_submits_finds_its_jobs_again(
    slurm: dict[str, str], folder: Path, does: str
) -> None:
    """The moment between the answer of sbatch and the book of the launcher is no hole."""
    file = write(folder, ["pause", "well"])
    killer = folder / "bin" / "sbatch"
    killer.parent.mkdir()
    killer.write_text(f"#!/bin/sh\n{does.format(sbatch=shutil.which('sbatch'))}\n")
    killer.chmod(0o755)
    path = f"{killer.parent}:{os.environ['PATH']}"
    assert launch(folder, {**slurm, "PATH": path}, file.name).code == -signal.SIGKILL
    assert {(state.status, state.job_id) for state in states(folder).values()} == {
        ("running", None)
    }
    assert launch(folder, slurm, file.name).code == 0
    found = states(folder).values()
    assert {(state.status, state.attempt) for state in found} == {("ok", 1)}
    assert len({str(state.job_id).partition("_")[0] for state in found}) == 1
    assert len(list(folder.glob("launches/jobs/jobs/*"))) == 1, "submitted once"


def queued(slurm: dict[str, str]) -> str:
    """What squeue lists."""
    words = ["squeue", "-h", "-o", "%i %t %j"]
    env = environment(slurm)
    return subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout
