"""Runs until the best of a sweep is found: the planner, random order, and neighbours.

    python benchmarks/plan.py [REPLAYS] [FOLDER...]

A published sweep is the oracle. Three random rows are measured first; then each method chooses the
next row, until one is within 2% of the best (by model FLOP/s per device, as models differ in size).
The planner is what `bench plan` calls, fitted only to the rows measured so far. `neighbours` takes
the row with the fewest doublings and differing settings from the best so far.
"""

from __future__ import annotations

import contextlib
import math
import random
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from measured import ROOT
from predict import nearest, rows_of

from bench.foresight.predictor import trained
from bench.foresight.setting import Setting, setting
from bench.foresight.sizes import changed
from bench.schema.errors import BenchError
from bench.schema.warehouse import Row

START, NEAR, FEWEST = 3, 0.02, 15  # initial rows; tolerance to the best; minimum rows of a sweep
REPLAYS = 200


class Run(NamedTuple):
    """A row of a sweep: as it was measured, as it is asked for, and as the model reads it."""

    row: Row
    asked: Row
    setting: Setting


Choice = Callable[[list[Run], list[Run]], int]


def cost(run: Run) -> float:
    """ln(device-seconds per FLOP)."""
    return math.log(float(run.setting.s_per_token or 0) / run.setting.flops)


def at_random(done: list[Run], left: list[Run]) -> int:
    """The first row left: the sweep was shuffled."""
    return 0


def most_similar(done: list[Run], left: list[Run]) -> int:
    """The row most similar to the best so far."""
    settings = [run.setting for run in left]
    return settings.index(nearest(min(done, key=cost).setting, settings))


def planned(done: list[Run], left: list[Run]) -> int:
    """The row that `bench plan` would propose first, were these all that there is to run."""
    predictor = trained([run.row for run in done], [])
    made = []
    for place, one in enumerate(left):
        with contextlib.suppress(BenchError):  # refused: far larger than what was measured
            made += predictor.rated([{**one.asked, "place": place}])
    # Every row of a sweep was run, so that each has room.
    made = [{**row, "out_of_memory": None} for row in made]
    proposed = predictor.proposed(made, 1, per_device=True) if made else []
    return int(proposed[0]["place"]) if proposed else at_random(done, left)


def needed(sweep: Sequence[Run], choose: Choice, seed: int) -> int:
    """The number of runs after the initial ones until one is near the best."""
    rows = random.Random(seed).sample(list(sweep), len(sweep))
    done, left = rows[:START], rows[START:]
    goal = min(map(cost, sweep)) + math.log(1 + NEAR)
    while min(map(cost, done)) > goal:
        done.append(left.pop(choose(done, left)))
    return len(done) - START


def sweeps(rows: Sequence[Row]) -> dict[str, list[Run]]:
    """Sweeps with enough rows: those of one document on one system."""
    groups: dict[str, list[Run]] = defaultdict(list)
    for row in rows:
        if one := setting(row):
            asked = changed(row, {})
            name = f"{Path(one.source[0]).name[:40]}, {Path(str(one.system)).name[:24]}"
            groups[name].append(Run(row, asked, one))
    return {name: rows for name, rows in sorted(groups.items()) if len(rows) >= FEWEST}


def main(replays: int, folders: Sequence[Path]) -> None:
    """Print the mean number of runs of each method, by sweep."""
    print("| sweep | rows | random | neighbours | planner |")
    print("| :-- | --: | --: | --: | --: |")
    for name, rows in sweeps(rows_of(folders)).items():
        found = [
            statistics.mean(needed(rows, choose, seed) for seed in range(replays))
            for choose in (at_random, most_similar, planned)
        ]
        print(f"| {name} | {len(rows)} | {' | '.join(f'{one:.1f}' for one in found)} |", flush=True)


if __name__ == "__main__":
    words = sys.argv[1:]
    many = int(words.pop(0)) if words and words[0].isdigit() else REPLAYS
    main(many, [Path(word) for word in words] or [ROOT / "data" / "tables"])
