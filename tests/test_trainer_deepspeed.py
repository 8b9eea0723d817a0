"""The reference model through the real DeepSpeed engine gives the losses of our own trainer."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench.schema.opening import open_read
from bench.trainer import spawn
from bench.trainer.options import parse
from tests.program import bench, quick

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("deepspeed") is None,
        reason="NOT TESTED: deepspeed is not installed, `make test` installs it",
    ),
]
ROOT = Path(__file__).resolve().parents[1]
PROGRAM = [sys.executable, "-m", "tests.test_trainer_deepspeed"]
STAGE = "=== ZeRO stage "
RUN = ["--preset", "nano", "--gbs", "8", "--iters", "4"]


def trained(program: str, *more: str) -> str:
    words = [sys.executable, "-m", f"bench.trainer.{program}", *RUN, *more]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def numbers(log: str, name: str) -> list[float]:
    return [float(text) for text in re.findall(rf"{name}: ([\d.E+-]+) \|", log)]


@pytest.fixture(scope="module")
def reference() -> str:
    """The log of one process of our own trainer."""
    return trained("train")


def work() -> None:
    """In a rank: one stage after the other; DeepSpeed takes longer to import than to train."""
    engine = import_module("bench.trainer.engine")
    comm = import_module("deepspeed.comm.comm")
    for stage in range(4):
        if os.environ["RANK"] == "0":
            print(f"{STAGE}{stage}", flush=True)
        vars(comm)["cdb"] = None  # the last run took its process group down
        engine.train(parse([*RUN, "--dp", "2", "--zero", str(stage)]))
    spawn.leave()


@pytest.fixture(scope="module")
def stages() -> list[str]:
    """The log of each stage of ZeRO, on two processes; this file is the program of each."""
    done = subprocess.run(
        PROGRAM, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True,
        text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return re.split(rf"^{STAGE}\d\n", done.stdout, flags=re.M)[1:]


@pytest.mark.parametrize("stage", range(4))
def test_every_stage_gives_the_losses_of_one_process(
    reference: str, stages: list[str], stage: int
) -> None:
    log = stages[stage]
    losses = numbers(log, "lm loss")
    assert len(losses) == 4
    assert losses == pytest.approx(numbers(reference, "lm loss"), abs=2e-5)
    if stage:  # without ZeRO the engine tells no norm in fp32
        assert numbers(log, "grad norm") == pytest.approx(numbers(reference, "grad norm"), abs=2e-3)
    assert re.findall(r"step=(\d+), skipped=0", log)[-1] == "4", "DeepSpeed's own lines"


def test_what_the_engine_does_not_share_is_refused() -> None:
    words = [sys.executable, "-m", "bench.trainer.deepspeed", "--tp", "2"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "DP(1)-TP(2)-PP(1) shares layers too" in done.stderr


def test_a_plan_with_zero_2(folder: Path) -> None:
    (folder / "zero.toml").write_text(
        'trainer = "deepspeed"\n[settings]\nmodel = "nano"\ndp = 2\ngbs = 4\niterations = 3\n'
        "zero_stage = 2\ntp = [1, 2]\n"
    )
    done = bench(folder, "launch", "zero.toml")
    assert done.code == 0, done.text
    assert "dropped tp=2: the DeepSpeed trainer supports only data parallelism" in done.err
    with open_read(folder / "bench.duckdb") as warehouse:
        told = warehouse.rows("SELECT status, framework, zero_stage, dp FROM configurations")
    assert told == [("ok", "DeepSpeed", 2, 2)]
    assert "| ok " in quick(folder, "runs").out


if __name__ == "__main__":
    if "RANK" in os.environ:
        spawn.die_with_parent()
        work()
    sys.exit(spawn.run(PROGRAM, 2))
