"""Runs until the best of a sweep is found: the planner, random order, and neighbours.

    python benchmarks/plan.py [REPLAYS] [FOLDER...]

A published sweep is the oracle. Three random rows are measured first; then each method chooses the
next row, until one is within 2% of the best (by model FLOP/s per device, as models differ in size).
The planner is fitted only to the rows measured so far. `neighbours` takes the row with the fewest
doublings and differing settings from the best so far.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from predict import ROOT, nearest, settings_of

from bench.foresight.posterior import fit
from bench.foresight.proposals import order
from bench.foresight.scales import PACE_SCALES
from bench.foresight.setting import Setting
from bench.foresight.terms import PACE

START, NEAR, FEWEST = 3, 0.02, 15  # initial rows; tolerance to the best; minimum rows of a sweep
REPLAYS = 200

Choice = Callable[[list[Setting], list[Setting]], int]


def cost(one: Setting) -> float:
    """ln(device-seconds per FLOP)."""
    return math.log(float(one.pace or 0) / one.flops)


def at_random(done: list[Setting], left: list[Setting]) -> int:
    """The first row left: the sweep was shuffled."""
    return 0


def most_similar(done: list[Setting], left: list[Setting]) -> int:
    """The row most similar to the best so far."""
    return left.index(nearest(min(done, key=cost), left))


def planned(done: list[Setting], left: list[Setting]) -> int:
    """The row that the planner proposes."""
    paces = [float(one.pace or 0) for one in done]
    fitted = fit(PACE, done, paces, [one.noise for one in done], PACE_SCALES)
    mean, covariance = fitted.predicted(left)
    mean = mean - np.log([one.flops for one in left])
    best = min(map(cost, done))
    return order(mean, covariance, best, PACE_SCALES.noise, np.ones(len(left)), 1)[0]


def needed(sweep: Sequence[Setting], choose: Choice, seed: int) -> int:
    """The number of runs after the initial ones until one is near the best."""
    rows = random.Random(seed).sample(list(sweep), len(sweep))
    done, left = rows[:START], rows[START:]
    goal = min(map(cost, sweep)) + math.log(1 + NEAR)
    while min(map(cost, done)) > goal:
        done.append(left.pop(choose(done, left)))
    return len(done) - START


def sweeps(settings: Sequence[Setting]) -> dict[str, list[Setting]]:
    """Sweeps with enough rows: those of one document on one system."""
    found: dict[str, list[Setting]] = defaultdict(list)
    for one in settings:
        found[f"{Path(one.source[0]).name[:40]}, {Path(str(one.system)).name[:24]}"].append(one)
    return {name: rows for name, rows in sorted(found.items()) if len(rows) >= FEWEST}


def main(replays: int, folders: Sequence[Path]) -> None:
    """Print the mean number of runs of each method, by sweep."""
    print("| sweep | rows | random | neighbours | planner |")
    print("| :-- | --: | --: | --: | --: |")
    for name, rows in sweeps(settings_of(folders)).items():
        found = [
            statistics.mean(needed(rows, choose, seed) for seed in range(replays))
            for choose in (at_random, most_similar, planned)
        ]
        print(f"| {name} | {len(rows)} | {' | '.join(f'{one:.1f}' for one in found)} |", flush=True)


if __name__ == "__main__":
    words = sys.argv[1:]
    many = int(words.pop(0)) if words and words[0].isdigit() else REPLAYS
    main(many, [Path(word) for word in words] or [ROOT / "data" / "tables"])
