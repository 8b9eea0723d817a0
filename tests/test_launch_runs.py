"""Runs of a plan: each ends as it should, is ended for certain, and is a row in the warehouse."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from bench.launch import planned_runs
from bench.launch.folder import State
from bench.terminal.live import clock
from tests.launching import ACTING, pairs, plan, preloadable, rows, states
from tests.program import Outcome, bench, environment, quick


def alive(folder: Path, word: str) -> list[psutil.Process]:
    """Programs told to do `word` that were started in the folder and are still there."""
    found = []
    for process in psutil.process_iter():
        try:
            ours = word in process.cmdline() and process.cwd() == str(folder)
            if ours and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found


@pytest.fixture(scope="module")
def acted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    """A folder in which every act was launched once."""
    folder = tmp_path_factory.mktemp("acts")
    (folder / ".git").mkdir()
    acts = ("well", "hang", "stubborn", "greedy", "raise", "kill", "nan", "abort", "late", "escape",
            "linger", "deaf")  # fmt: skip
    file = plan(folder, *acts, limits="time_s = 60\nidle_s = 6\nexit_s = 2\nmemory_gb = 0.3")
    return folder, quick(folder, "launch", str(file))


@pytest.mark.slow
def test_every_outcome_has_its_name_and_its_evidence(acted: tuple[Path, Outcome]) -> None:
    folder, done = acted
    assert done.code == 1, done.text
    found = {act: (state.status, state.evidence) for act, state in states(folder).items()}
    statuses = {act: status for act, (status, _) in found.items()}
    assert statuses == {
        "well": "ok", "hang": "hang", "stubborn": "hang", "greedy": "oom", "raise": "fail",
        "kill": "fail", "nan": "nan", "abort": "ok", "late": "fail", "escape": "ok",
        "linger": "ok", "deaf": "ok",
    }  # fmt: skip
    assert found["hang"][1].startswith("no output for 6 s; last line: iteration 1/")
    assert "GiB used, limit 0.3 GiB; last line: " in found["greedy"][1]
    assert found["raise"][1] == "RuntimeError: this case fails"
    assert found["kill"][1].startswith("exit code -9 (SIGKILL)")
    assert found["abort"][1] == "aborted on exit after training finished"
    hung = "hung on exit after training finished, killed: no output for 2 s"
    assert (found["linger"][1], found["deaf"][1]) == (hung, hung)
    assert states(folder)["deaf"].exit_code == -signal.SIGKILL
    assert found["late"][1].startswith("exit code 3; last line: [after training is done]")


@pytest.mark.slow
@pytest.mark.parametrize("limits", ["time_s = 3", "idle_s = 2"])
def test_any_limit_behind_the_end_of_the_training_finds_a_run_that_is_done(
    folder: Path, limits: str
) -> None:
    assert quick(folder, "launch", str(plan(folder, "linger", limits=limits))).code == 0
    state = states(folder)["linger"]
    assert state.status == "ok" and "hung on exit after training finished" in state.evidence
    assert rows(folder, "SELECT status FROM runs") == [("ok",)]


@pytest.mark.slow
def test_nothing_is_left_not_even_what_left_its_group(acted: tuple[Path, Outcome]) -> None:
    folder, _ = acted
    assert alive(folder, str(ACTING)) == [] and alive(folder, "escaped") == []
    assert states(folder)["stubborn"].exit_code == -signal.SIGKILL
    query = "SELECT value FROM facts WHERE field = 'left_behind'"
    assert rows(folder, query) == [("1",)], "the one that escaped is told"


@pytest.mark.slow
def test_failures_are_rows_with_their_reasons(acted: tuple[Path, Outcome]) -> None:
    folder, _ = acted
    query = "SELECT e.value, r.status FROM runs r JOIN env_flags e USING (run_id)"
    stored = pairs(folder, f"{query} WHERE e.kind = 'launcher'")
    assert stored == {act: state.status for act, state in states(folder).items()}
    told = rows(folder, "SELECT status_reason FROM runs WHERE status = 'oom'")
    assert "limit 0.3 GiB" in str(told[0][0])
    listed = quick(folder, "runs")
    assert "act=greedy" in listed.out and "| oom " in listed.out
    page = quick(folder, "report")
    assert page.code == 0 and "| hang " in page.out


@pytest.mark.slow
def test_a_run_folder_holds_log_state_and_exact_command(acted: tuple[Path, Outcome]) -> None:
    folder, _ = acted
    [run] = (folder / "launches" / "acts").glob("act-well-*-r1")
    assert {file.name for file in run.iterdir()} == {"command.sh", "run.json", f"{run.name}.log"}
    again = ["sh", str(run / "command.sh")]
    done = subprocess.run(again, capture_output=True, text=True, check=True)
    assert "[after training is done]" in done.stdout


@pytest.mark.slow
def test_launching_again_runs_what_is_missing_and_with_retry_what_failed(folder: Path) -> None:
    file = plan(folder, "well", "raise")
    assert quick(folder, "launch", str(file)).code == 1
    wider = plan(folder, "well", "raise", "abort")
    again = quick(folder, "launch", str(wider))
    assert "[1/1] act=abort" in again.err and "2 of 3 runs ok, 1 failed" in again.err
    retried = quick(folder, "launch", str(wider), "--retry")
    assert "[1/1] act=raise, repeat 1, attempt 2: fail" in retried.err
    [run] = (folder / "launches" / "acts").glob("act-raise-*-r1")
    assert (run / "attempt-1" / f"{run.name}-attempt-1.log").exists()
    query = "SELECT value, status FROM runs JOIN facts USING (run_id) WHERE field = 'attempt'"
    kept = [("1", "fail"), ("1", "ok"), ("1", "ok"), ("2", "fail")]
    assert sorted(rows(folder, query)) == kept, "an earlier attempt is a row, and each is one"
    assert quick(folder, "ingest", "launches").code == 0
    assert sorted(rows(folder, query)) == kept
    assert f"| {run.name}-attempt-1:1" in quick(folder, "report").out


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_everything_and_leaves_it_consistent(folder: Path, number: int) -> None:
    file = plan(folder, "slow", "well")
    words = [sys.executable, "-m", "bench", "launch", str(file)]
    launched = subprocess.Popen(words, cwd=folder, env=environment(), stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while not alive(folder, "slow") and time.monotonic() < until:
        time.sleep(0.1)
    launched.send_signal(number)
    said = launched.communicate(timeout=60)[1].decode()
    assert launched.returncode == 128 + number
    assert "0 of 2 runs ok, 1 cancelled, 1 not started (in" in said and "--retry" not in said
    assert f"next: bench launch {file} resumes; " in said
    assert alive(folder, "slow") == []
    found = states(folder)
    assert set(found) == {"slow"} and found["slow"].status == "cancelled"
    assert found["slow"].evidence == f"stopped by {signal.Signals(number).name}"
    assert rows(folder, "SELECT status FROM runs") == [("cancelled",)]


@pytest.mark.slow
def test_a_launcher_that_is_killed_takes_its_run_along_and_is_gone_on_from(folder: Path) -> None:
    file = plan(folder, "slow", limits="time_s = 2")
    words = [sys.executable, "-m", "bench", "launch", str(file)]
    launched = subprocess.Popen(words, cwd=folder, env=environment(), stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while not alive(folder, "slow") and time.monotonic() < until:
        time.sleep(0.1)
    launched.kill()
    launched.communicate(timeout=60)
    until = time.monotonic() + 20
    while alive(folder, "slow") and time.monotonic() < until:
        time.sleep(0.1)
    assert alive(folder, "slow") == []
    assert states(folder)["slow"].status == "running"
    assert quick(folder, "ingest", "launches").code == 0
    assert quick(folder, "launch", str(file)).code == 1
    assert states(folder)["slow"].status == "timeout"
    ended = [("cancelled",), ("timeout",)]
    assert sorted(rows(folder, "SELECT status FROM runs")) == ended, "the first runs no more"
    [attempt] = folder.rglob("attempt-1/run.json")
    told = State(**json.loads(attempt.read_text()))
    assert told.status == "cancelled" and "launcher died" in told.evidence


@pytest.mark.slow
def test_secrets_stay_in_the_script_that_needs_them(folder: Path) -> None:
    tokens = [f"hf_{letter * 30}" for letter in "ab"]
    more = f"env = {{ HF_TOKEN = {json.dumps(tokens)} }}"
    file = plan(folder, "well", "raise", more=more)
    text = file.read_text().replace("{act}", "{act} --api-key aaaaaaaaaa")
    file.write_text(text)
    shown = quick(folder, "launch", str(file), "--dry-run")
    assert "aaaaaaaa" not in shown.text and "HF_TOKEN='[redacted]'" in shown.out
    assert "aaaaaaaa" not in quick(folder, "launch", str(file)).text
    files = [file for file in folder.rglob("*") if file.is_file()]
    told = [file.name for file in files if b"aaaaaaaa" in file.read_bytes()]
    assert sorted(set(told)) == ["acts.toml", "command.sh"]
    assert not [file for file in files if "aaaaaaaa" in str(file)]
    scripts = [file for file in files if file.name == "command.sh"]
    assert {script.stat().st_mode & 0o777 for script in scripts} == {0o600}


@pytest.mark.slow
def test_a_run_that_goes_on_is_in_the_warehouse_and_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned_runs, "EVERY_S", 1.0)
    file = plan(folder, "hang", "well", limits="time_s = 10")  # a busy machine looks late
    seen: list[str] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(1.0):
            seen.append(bench(folder, "runs").out)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for words in ((), ("--retry",)):
            assert quick(folder, "launch", str(file), *words).code == 1
    finally:
        over.set()
        looking.join()
    assert any("| running " in page and "act=hang" in page for page in seen), seen[-1]
    counts = "SELECT count(*) FROM iterations i WHERE i.run_id = r.run_id"
    told = rows(folder, f"SELECT status, ({counts}) FROM runs r ORDER BY ALL")
    assert told == [("ok", 3), ("timeout", 1), ("timeout", 1)]
    assert rows(folder, "SELECT count(*) FROM iterations") == [(5,)]


def test_a_dry_run_tells_commands_count_drops_and_time(folder: Path) -> None:
    file = plan(folder, "well", "raise", more="repeats = 2\nconstraints = [\"act != 'raise'\"]")
    told = quick(folder, "launch", str(file), "--dry-run")
    assert told.code == 0
    lines = told.out.splitlines()
    assert len(lines) == 2 and all(f"{ACTING} well" in line for line in lines)
    assert "dropped act=raise: act != 'raise' is false (act raise)" in told.err
    assert "2 runs of 1 setting x 2, 1 setting dropped" in told.err
    assert "duration unknown: no comparable past run" in told.err
    assert not (folder / "launches").exists()


@pytest.mark.slow
def test_the_estimate_is_what_past_runs_took(folder: Path) -> None:
    assert quick(folder, "launch", str(plan(folder, "well"))).code == 0
    [(wall,)] = rows(folder, "SELECT try_cast(value AS DOUBLE) FROM facts WHERE field = 'wall_s'")
    told = quick(folder, "launch", str(plan(folder, "well", more="repeats = 11")), "--dry-run")
    assert f"about {clock(10 * float(str(wall)))}, based on past runs" in told.err


def test_a_plan_that_cannot_be_started_is_told_before(folder: Path) -> None:
    file = plan(folder, "well", more='env = { LD_PRELOAD = "libtcmalloc_minimal.so.99" }')
    told = quick(folder, "launch", str(file))
    assert told.code == 2 and "libtcmalloc_minimal.so.99" in told.err
    assert not list(folder.rglob("*.log"))


@pytest.mark.slow
def test_what_another_launch_did_meanwhile_is_not_done_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one comes while the first looks whether its libraries can be loaded."""
    library = preloadable(folder, "libjemalloc_of_ours.so")
    more = f"env = {{ LD_PRELOAD = {json.dumps(str(library))} }}"
    file = plan(folder, "well", more=more)
    probe = folder / "bin" / "true"
    probe.parent.mkdir()
    told = f"LD_PRELOAD= PATH='{os.environ['PATH']}' {sys.executable} -m bench launch {file}"
    probe.write_text(f"#!/bin/sh\n{told} >{folder}/other 2>&1\n")
    probe.chmod(0o755)
    monkeypatch.setenv("PATH", str(probe.parent), prepend=os.pathsep)
    assert quick(folder, "launch", str(file)).code == 0
    assert "another launch of this plan is running" in (folder / "other").read_text()
    assert [state.attempt for state in states(folder).values()] == [1]


def test_a_program_that_is_not_there_fails_with_its_reason(folder: Path) -> None:
    (folder / "none.toml").write_text('trainer = "command"\ncommand = "no-such-program-here"\n')
    assert quick(folder, "launch", "none.toml").code == 1
    told = rows(folder, "SELECT status, status_reason FROM runs")
    assert told == [("fail", "cannot start: no-such-program-here: No such file or directory")]


def test_without_a_plan_it_says_what_to_name(folder: Path) -> None:
    told = quick(folder, "launch")
    assert told.code == 2 and "--model nano" in told.err
    told = quick(folder, "launch", str(plan(folder, "well")), "--dp", "2")
    assert told.code == 2 and "a plan cannot be combined" in told.err
