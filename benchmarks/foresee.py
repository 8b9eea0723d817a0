"""The planner for real: a sweep of the reference trainer on this machine, proposed run by run.

    python benchmarks/foresee.py [--iters N] [--seed N] [--runs N]

Data, tensor and pipeline parallelism on one and two processes, three micro-batches, one and two
threads: 24 configurations of one model and batch. Three are run by chance; the planner, fitted to
the runs so far and to nothing else, says which is next, until twelve are done. Then the rest of the
sweep is run, so that the best is known. Needs torch; a busy machine makes the order of near
configurations random, so the load is printed.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from predict import settings_of

from bench.foresight.posterior import fit
from bench.foresight.proposals import order
from bench.foresight.setting import Setting
from bench.foresight.similarity import PACE_SCALES
from bench.foresight.terms import PACE

GRIDS = ((1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2))  # DP, TP, PP
MICRO, THREADS = (1, 2, 4), (1, 2)
BATCH, START = 8, 3
SHAPE = ["--preset", "nano", "--layers", "4", "--hidden", "128", "--heads", "4", "--seq-len", "128"]


class Point(NamedTuple):
    """A configuration of the sweep."""

    dp: int
    tp: int
    pp: int
    mbs: int
    threads: int

    def __str__(self) -> str:
        return f"DP{self.dp} TP{self.tp} PP{self.pp}, MBS {self.mbs}, {self.threads} threads"


def sweep() -> list[Point]:
    """All configurations."""
    return [Point(*grid, *rest) for grid, *rest in itertools.product(GRIDS, MICRO, THREADS)]


def run(point: Point, iters: int, folder: Path) -> Setting:
    """The configuration as read from its log."""
    log = folder / f"{'_'.join(map(str, point))}.log"
    words = ["--dp", point.dp, "--tp", point.tp, "--pp", point.pp, "--mbs", point.mbs, "--gbs",
             BATCH, "--threads", point.threads, "--iters", iters]  # fmt: skip
    command = [sys.executable, "-P", "-m", "bench.trainer.train", *SHAPE, *map(str, words)]
    with log.open("w") as file:
        subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=True)
    [one] = settings_of([log])
    return as_setting(one, point)


def as_setting(setting: Setting, point: Point, pace: float | None = None) -> Setting:
    """A point as the model's input; logs of one machine are one system and source here."""
    devices = point.dp * point.tp * point.pp
    return replace(
        setting, system="here", source=("sweep", None), group=point,
        other_settings={"threads": str(point[4])},
        devices=float(devices), devices_per_node=2.0, tp=float(point.tp), pp=float(point.pp),
        mbs=point.mbs, s_per_token=pace or setting.s_per_token,
    )  # fmt: skip


def seconds(setting: Setting) -> float:
    """Seconds per step."""
    return (
        float(setting.s_per_token or 0)
        / setting.devices
        * float(setting.gbs or 0)
        * float(setting.seq_len or 0)
    )


def proposed(done: Sequence[Setting], left: Sequence[Point]) -> int:
    """The index of the point that the planner would run next for the shortest step."""
    paces = [float(setting.s_per_token or 0) for setting in done]
    fitted = fit(PACE, done, paces, [setting.noise for setting in done], PACE_SCALES)
    new = [as_setting(done[0], point) for point in left]
    mean, covariance = fitted.predicted(new)
    best = min(math.log(float(setting.s_per_token or 0) / setting.devices) for setting in done)
    mean = mean - np.log([one.devices for one in new])
    return order(mean, covariance, best, PACE_SCALES.noise, np.ones(len(new)), 1)[0].at


def main() -> None:
    """Run the sweep and print each run with its step time, then what the planner found."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--iters", type=int, default=6)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--runs", type=int, default=12, help="of the planner, the first three too")
    given = words.parse_args()
    left = sweep()
    random.Random(given.seed).shuffle(left)
    done: dict[Point, Setting] = {}
    began = time.monotonic()
    print("| run | chosen | configuration | s/step | load |\n| --: | :-- | :-- | --: | --: |")
    with tempfile.TemporaryDirectory() as folder:
        while left:
            by = "chance" if len(done) < START else "planner" if len(done) < given.runs else "rest"
            at = proposed([*done.values()], left) if by == "planner" else 0
            point = left.pop(at)
            done[point] = run(point, given.iters, Path(folder))
            print(f"| {len(done)} | {by} | {point} | {seconds(done[point]):.4f} |"
                  f" {os.getloadavg()[0]:.1f} |", flush=True)  # fmt: skip
    times = [seconds(setting) for setting in done.values()]
    best, ranked = min(times[: given.runs]), sorted(times)
    near = next(at for at, one in enumerate(times, 1) if one <= ranked[0] * 1.02)
    print(f"\nBest of {given.runs} runs: {best:.4f} s/step, rank {ranked.index(best) + 1} of"
          f" {len(times)}, {best / ranked[0] - 1:.1%} above the best of the sweep; within 2% after"
          f" {near} runs; {(time.monotonic() - began) / 60:.0f} minutes")  # fmt: skip


if __name__ == "__main__":
    main()
