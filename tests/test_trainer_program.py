"""The trainer as a user starts it: by itself, under torchrun, into a wall, with a signal."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.ingest.logs.log import LogResult
from bench.trainer import environment, log
from bench.trainer.flops import printed
from bench.trainer.options import parse
from tests.logs import read

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("torch") is None,
        reason="NOT TESTED: torch is missing, the trainer was not started",
    ),
]

ENV = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
TRAIN = [sys.executable, "-m", "bench.trainer.train", "--device", "cpu"]
# No format reads these yet; nothing else may go unread.
NOT_A_FORMAT = ("time (ms) |", "[Rank ", environment.LABEL, "using torch.float32", "training ...")


def run(*words: str, code: int = 0, **env: str) -> str:
    done = subprocess.run(
        [*TRAIN, *words],
        env=ENV | {"OMP_NUM_THREADS": "1"} | env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


WORDS = ("--dp", "2", "--gbs", "8", "--iters", "3")


@pytest.fixture(scope="module")
def two_ranks() -> str:
    """The log of two ranks that the trainer started itself."""
    return run(*WORDS)


def test_two_ranks_write_one_log_that_is_read(two_ranks: str) -> None:
    text = two_ranks
    found = read(text)
    tables, options = found.rows.by_table, parse(WORDS)
    ((run_,), (topology,)) = tables["runs"], tables["topology"]
    assert (run_["status"], run_["layers"], run_["vocab"]) == ("ok", 2, 256)
    assert (topology["ranks"], topology["dp"], topology["grad_accum"]) == (2, 2, 4)
    steps = tables["iterations"]
    assert [step["iteration"] for step in steps] == [1, 2, 3]
    assert [(step["skipped"], step["nan"]) for step in steps] == [(0, 0)] * 3
    flops = printed(options.shape, 8, 256, "none") / 2e12
    for step in steps:
        assert isinstance(step["step_time_s"], float) and isinstance(step["tflops"], float)
        # Both are rounded: 0.1 ms and 0.0001 TFLOP/s.
        assert step["tflops"] == pytest.approx(flops / step["step_time_s"], rel=0.02, abs=6e-5)
    unread = [line for line in text.splitlines() if not line.startswith(NOT_A_FORMAT)]
    assert read("\n".join(unread)).lines_unread == 0
    assert text.count(log.DONE) == 1
    assert text.count("time (ms) | forward-backward: ") == 3
    assert text.count("[Rank 1] (after 3 iterations) CPU memory (MB) | ") == 1


def test_torchrun_gives_the_same_numbers(two_ranks: str) -> None:
    words = [*WORDS, "--device", "cpu"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*torchrun, "--nproc-per-node", "2", "-m", "bench.trainer.train", *words],
        env=ENV | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    ours, theirs = read(two_ranks), read(done.stdout)

    def losses(found: LogResult) -> list[object]:
        return [row["loss"] for row in found.rows.by_table["iterations"]]

    assert losses(ours) == losses(theirs) and len(losses(ours)) == 3


def test_steps_without_numbers_are_skipped_and_counted() -> None:
    steps = read(run("--iters", "3", "--lr", "1e30")).rows.by_table["iterations"]
    assert [step["skipped"] for step in steps] == [0, 1, 1]
    assert [step["nan"] for step in steps] == [0, 1, 1]
    assert [step.get("loss") is None for step in steps] == [False, True, True]


@pytest.mark.parametrize(
    ("told", "error"),
    [
        (
            {"LOCAL_WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"},
            "the world has 3 processes, but DP 2 x TP 1 x PP 1 = 2",
        ),
        ({}, "RANK is set, but not LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT"),
    ],
)
def test_a_world_that_does_not_fit_is_refused(told: dict[str, str], error: str) -> None:
    world = {"RANK": "0", "WORLD_SIZE": "3", "LOCAL_RANK": "0"} | told
    done = subprocess.run(
        [*TRAIN, "--dp", "2"], env=ENV | world, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert error in done.stderr


def test_a_killed_rank_ends_the_run_and_leaves_nobody() -> None:
    running = subprocess.Popen(
        [*TRAIN, "--dp", "2", "--iters", "100000"],
        env=ENV | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    for line in running.stdout:
        if line.startswith(" iteration "):
            break
    ranks = children(running.pid)
    assert len(ranks) == 2
    os.kill(ranks[1], signal.SIGKILL)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 137, told
    assert "rank 1 failed (exitcode: -9)" in told
    limit = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in ranks) and time.monotonic() < limit:
        time.sleep(0.05)
    assert not [pid for pid in ranks if Path(f"/proc/{pid}").exists()]


def children(pid: int) -> list[int]:
    """Children of a process, in the order of their start."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    found = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    return sorted(found)
