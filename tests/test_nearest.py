"""Runs without a partner: the nearest one is found at a cost that grows with the runs alone."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from time import process_time
from timeit import repeat

from bench.decide.factors import factor
from bench.decide.matching import matched
from bench.decide.query import Query
from bench.decide.rows import load
from bench.decide.selection import select
from bench.schema.warehouse import Row
from bench.terminal.source import Source
from tests.deciding import table

JOB = "{nodes} | 1.3B | {dp} | {tp} | 1 | {mbs} | {gbs} | 20GB | {time} | | "


def runs(folder: Path, count: int) -> list[Row]:
    """Runs at TP 1 and TP 2 whose batches never agree, so that none has a partner."""
    rows = [
        JOB.format(nodes=at, dp=8 * at // tp, tp=tp, mbs=tp, gbs=64 * at + tp, time=10 + at / 100)
        for at in range(1, count // 2 + 1)
        for tp in (1, 2)
    ]
    with Source(paths=(table(folder / "a.md", rows),)).opened() as warehouse:
        select(warehouse, Query())
        return load(warehouse)


def test_four_times_the_runs_take_about_four_times_as_long(folder: Path) -> None:
    every = runs(folder, 800)
    assert len(every) == 800
    # The least of several, with no search for cycles in between: some ten milliseconds each.
    by_tp, took = factor("tp", every), []
    for count in (200, 800):
        match = partial(matched, every[:count], by_tp)
        took.append(min(repeat(match, timer=process_time, number=1, repeat=5)))
    assert took[1] < 8 * took[0], took


def test_the_nearest_is_the_first_that_differs_in_one_thing(folder: Path) -> None:
    rows = [
        JOB.format(nodes=2, dp=16, tp=1, mbs=1, gbs=512, time=10.0),
        JOB.format(nodes=2, dp=16, tp=1, mbs=2, gbs=512, time=9.0),
        JOB.format(nodes=2, dp=8, tp=2, mbs=4, gbs=512, time=8.0),
        JOB.format(nodes=4, dp=16, tp=2, mbs=8, gbs=512, time=7.0),
    ]
    with Source(paths=(table(folder / "a.md", rows),)).opened() as warehouse:
        select(warehouse, Query())
        found, alone = matched(load(warehouse), factor("tp", load(warehouse)))
    assert [(pair.before[0]["mbs"], pair.after[0]["mbs"], [*pair.also]) for pair in found] == [
        (1, 4, ["mbs"])
    ]
    assert [(row["nodes"], row["mbs"]) for row in alone] == [(2, 2), (4, 8)]
