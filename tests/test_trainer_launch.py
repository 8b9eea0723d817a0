"""The reference trainer under `bench launch`: what it runs is what the label says."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from bench.terminal.live import clock
from bench.trainer import spawn
from bench.trainer.grid import GridError
from tests.launching import pairs, rows
from tests.program import bench

pytestmark = pytest.mark.slow
ENDLESS = 123_456_789
FLAGS = ("--preset", "nano", "--dp", "2", "--gbs", "4", "--iters", "4", "--seed", "7")


def endless() -> list[str]:
    """Ranks that were to train for ever and are still there."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or []
        if str(ENDLESS) in words and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(" ".join(words))
    return found


def test_a_single_run(folder: Path) -> None:
    words = "launch --model nano --dp 2 --gbs 4 --iterations 4 --set seed=7 --env GLOO_X=1"
    done = bench(folder, *words.split())
    assert done.code == 0, done.text
    [run] = rows(folder, "SELECT status, layers, framework, device IS NOT NULL FROM runs")
    assert run == ("ok", 2, "bench.trainer", True)
    assert rows(folder, "SELECT dp, gbs, ranks FROM topology") == [(2, 4, 2)]
    assert rows(folder, "SELECT count(*) FROM iterations") == [(4,)]
    each = str(max(1, len(os.sched_getaffinity(0)) // 2))
    flags = pairs(folder, "SELECT name, value FROM env_flags")
    assert flags["GLOO_X"] == "1" and flags["OMP_NUM_THREADS"] == each
    facts = pairs(folder, "SELECT field, value FROM facts WHERE scope = 'header'")
    assert facts["command"].endswith("-P -m bench.trainer.train " + " ".join(FLAGS))
    assert facts["plan"] == "single" and facts["allocator"] == "libc" and facts["repeat"] == "1"
    assert rows(folder, "SELECT code, message FROM warnings") == []


def test_a_longer_run_is_estimated_from_the_steps_of_a_shorter_one(folder: Path) -> None:
    same = ["launch", "--model", "nano", "--gbs", "4", "--iterations"]
    assert bench(folder, *same, "3").code == 0
    [(step,)] = rows(folder, "SELECT median FROM run_stats WHERE metric = 'step_time_s'")
    told = bench(folder, *same, "1000", "--dry-run")
    assert f"about {clock(5 + 1000 * float(str(step)))}, based on past runs" in told.err


def test_a_limit_ends_every_rank(folder: Path) -> None:
    words = f"launch --model nano --dp 2 --iterations {ENDLESS} --time-limit 7"
    assert bench(folder, *words.split()).code == 1
    assert endless() == []
    assert rows(folder, "SELECT status FROM runs") == [("timeout",)]


def test_torchrun_runs_and_its_workers_are_ended_too(folder: Path) -> None:
    text = 'launcher = "torchrun"\n[settings]\nmodel = "nano"\ndp = 2\niterations = {}\n'
    (folder / "short.toml").write_text(text.format(3))
    assert bench(folder, "launch", "short.toml").code == 0
    (folder / "long.toml").write_text(text.format(ENDLESS) + "[limits]\ntime_s = 12\n")
    assert bench(folder, "launch", "long.toml").code == 1
    assert endless() == []
    told = rows(folder, "SELECT status, count(*) FROM runs GROUP BY ALL ORDER BY ALL")
    assert told == [("ok", 1), ("timeout", 1)]


def test_a_killed_launcher_takes_the_workers_of_torchrun_along(folder: Path) -> None:
    text = f'launcher = "torchrun"\n[settings]\nmodel = "nano"\ndp = 2\niterations = {ENDLESS}\n'
    (folder / "long.toml").write_text(text)
    words = [sys.executable, "-m", "bench", "launch", "long.toml"]
    launched = subprocess.Popen(words, cwd=folder, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 90
    while not trains(folder) and time.monotonic() < until:
        time.sleep(0.2)
    assert trains(folder) and len(endless()) == 3, "torchrun and two workers"
    launched.kill()
    launched.wait()
    until = time.monotonic() + 10
    while endless() and time.monotonic() < until:
        time.sleep(0.2)
    assert endless() == []


def trains(folder: Path) -> bool:
    """Whether a log of the folder has steps in it."""
    return any("lm loss" in log.read_text() for log in folder.glob("launches/*/*/*.log"))


def test_threads_that_did_not_take_make_a_run_fail(folder: Path) -> None:
    """What the trainer finds in its process counts, not what the plan says."""
    (folder / "t.toml").write_text(
        f'trainer = "command"\ncommand = "{sys.executable} -m bench.trainer.train --threads 1'
        ' --iters 3"\n'
        "settings = { threads = 2 }\n"
    )
    assert bench(folder, "launch", "t.toml").code == 1
    told = rows(folder, "SELECT status, status_reason FROM runs")
    assert told == [("fail", "threads = 2, but the process uses 1")]


def test_ranks_meet_at_a_port_that_no_connection_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ports from 32768 on go to whoever connects somewhere, while torch is still imported."""
    assert all(20_000 <= spawn.free_port() < 32_000 for _ in range(20))
    with socket.socket() as taken:
        port = spawn.free_port()
        taken.bind(("127.0.0.1", port))
        monkeypatch.setattr(spawn, "PORTS", range(port, port + 1))
        with pytest.raises(GridError, match=f"no port from {port} to {port}"):
            spawn.free_port()
