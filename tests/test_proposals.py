"""Runs that `bench plan` proposes: what they are worth, within which limits, and when to stop."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from bench.decide.neighbours import as_plan
from bench.decide.query import Query
from bench.foresight.planning import Limits, proposed
from bench.foresight.proposals import beating, expected_improvement, order, worth_repeating
from bench.launch.plan import Plan
from bench.schema.errors import BenchError
from bench.schema.warehouse import Warehouse
from bench.vocabulary.format import chance
from bench.vocabulary.prices import Price, Prices
from tests.deciding import published, table
from tests.program import quick, told

SWEEP = "2 | 1.3B | {dp} | {tp} | {pp} | {mbs} | 512 | 20GB | {time:.2f} | | {day} "
PRICED = Query(model="181B", prices=Prices(Price(2.0, "USD")))


@pytest.fixture(scope="module")
def warehouse() -> Warehouse:
    return published("00[24]*.md")


def _row(mbs: int, time: float, tp: int = 1, pp: int = 1, day: str = "") -> str:
    return SWEEP.format(dp=16 // tp // pp, tp=tp, pp=pp, mbs=mbs, time=time, day=day)


def test_runs_proposed_are_feasible_new_and_a_plan_that_launch_reads(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    made = proposed(warehouse, Query(model="181B"), {}, 3, Limits(steps=7))
    assert [row["rank"] for row in made.rows] == [1, 2, 3]
    for row in made.rows:
        assert 0 <= row["chance_of_best"] <= 1 and 0 <= row["narrows"] <= 1
        assert f"{chance(row['chance_of_best'])} chance to beat the best; narrows" in row["why"]
    shapes = {(row["dp"], row["tp"], row["pp"], row["mbs"]) for row in made.rows}
    assert len(shapes) == 3 and (8, 4, 12, 2) not in shapes  # the best measured run
    text = as_plan([{**row, "iterations": 7} for row in made.rows], [], "proposals")
    plan = Plan.model_validate(tomllib.loads(text))
    assert plan.name == "proposals"
    assert {(one.dp, one.tp, one.pp, one.mbs) for one in plan.matrix} == shapes
    assert {one.iterations for one in plan.matrix} == {7}
    # Its document states neither: they are inferred, and the runs would not fit without.
    assert {(one.zero_stage, one.recompute) for one in plan.matrix} == {(1, "full")}
    assert any("ZeRO 1, which" in text for text in made.facts["assumed"])


def test_a_split_measured_on_another_day_is_not_proposed_as_new(tmp_path: Path) -> None:
    """What was said to be of splits that nobody ran had been run the day before."""
    before = [_row(mbs, 20.0 + mbs, tp, day="05-26") for mbs in (1, 2, 4) for tp in (2, 4)]
    table(tmp_path / "sweep.md", [*before, *(_row(mbs, 18.0 + mbs, day="05-27") for mbs in (1, 2))])
    done = quick(tmp_path, "plan", "sweep.md", "--next", "50", "--format", "json")
    new = {(one["dp"], one["tp"], one["pp"], one["mbs"]) for one in json.loads(done.out)
           if "a repeat" not in one["why"]}  # fmt: skip
    assert new and new.isdisjoint({(8, 2, 1, 2), (4, 4, 1, 2), (8, 2, 1, 4), (4, 4, 1, 4)})
    said = quick(tmp_path, "predict", "sweep.md", "--tp", "2", "--mbs", "2", "--format", "md",
                 "--where", "mbs = 1 and tp = 1").out  # fmt: skip
    assert "Measured on another day: 22.00 s/it on 05-26" in said, said


def test_limits_of_device_hours_hold_and_too_few_devices_are_an_error(
    warehouse: Warehouse,
) -> None:
    whole = proposed(warehouse, Query(model="181B"), {}, 3, Limits())
    hours = [row["run_device_hours"] for row in whole.rows]
    assert whole.facts["spent"]["run_device_hours"] == pytest.approx(sum(hours))
    with pytest.raises(BenchError, match="within the limits"):
        proposed(warehouse, Query(model="181B"), {}, 3, Limits(devices=7))
    with pytest.raises(BenchError) as on_one_node:
        proposed(warehouse, Query(model="181B"), {}, 3, Limits(devices=8))
    assert "likely to be out of memory" in (on_one_node.value.why or "")


def test_money_limits_the_runs_that_are_proposed(warehouse: Warehouse) -> None:
    whole = proposed(warehouse, PRICED, {}, 3, Limits())
    costs = [row["run_cost"] for row in whole.rows]
    made = proposed(warehouse, PRICED, {}, 3, Limits(money=costs[0] + min(costs[1:])))
    assert made.facts["spent"]["run_cost"] <= costs[0] + min(costs[1:])
    assert len(made.rows) < 3 or made.rows != whole.rows
    with pytest.raises(BenchError, match="no run is within the limits"):
        proposed(warehouse, PRICED, {}, 3, Limits(money=0.01))
    with pytest.raises(BenchError, match="no price of"):
        proposed(warehouse, Query(model="181B"), {}, 3, Limits(money=100.0))


def test_a_run_is_worth_what_it_may_improve_and_what_is_chosen_teaches() -> None:
    mean = np.array([0.0, 0.0, 0.5])
    alike = np.array([[0.04, 0.039, 0.0], [0.039, 0.04, 0.0], [0.0, 0.0, 0.0001]])
    # The second is all but told by the first, and the third is known to be slow.
    [first] = order(mean, alike, 0.0, 0.01, np.ones(3), 1)
    assert {first.at, first.most} == {0, 1} and first.narrows_most > 0.5
    gain, share = beating(0.0, (-0.3, 0.6), 0.0)
    assert gain > 0 and share == pytest.approx(0.5)
    # The ends of a 90% interval are beaten, or not, with 5%.
    assert beating(0.0, (-0.3, 0.6), -0.3)[1] == pytest.approx(0.05)
    assert beating(0.0, (-0.3, 0.6), 0.6)[1] == pytest.approx(0.95)
    assert order(mean, alike, 0.0, 0.01, np.array([0.1, 1.0, 1.0]), 1)[0].at == 1
    assert expected_improvement(np.array([-1.0]), np.array([1e-6]), 0.0) == pytest.approx([1.0])
    assert order(mean, alike, 0.0, 0.01, np.ones(3), 9) != []


def test_where_noise_is_the_question_a_measured_run_is_proposed_again(tmp_path: Path) -> None:
    """The two best are too near to tell, and the sizes that were not run are far slower."""
    worth = worth_repeating(np.array([0.0, 0.001, 0.4]), np.array([1e-5] * 3), 0.006)
    assert worth[0] == pytest.approx(worth[1]) and worth[1] > 1e-4 > 1e-9 > worth[2]
    assert worth_repeating(np.array([0.0]), np.array([1e-5]), 0.006) == [0.0]
    rows = [_row(mbs, time, tp, pp) for tp, pp, slow in
            ((1, 1, 1.0), (2, 1, 1.6), (4, 1, 2.6), (8, 1, 4.5), (1, 2, 1.3), (1, 4, 1.9))
            for mbs, time in ((1, 30 * slow), (2, 24 * slow), (4, 20 * slow), (8, 20.02 * slow),
                              (16, 27 * slow))]  # fmt: skip
    path = table(tmp_path / "sweep.md", [*rows, _row(4, 20.01)])
    *head, first, rule = path.read_text().split("| 2 |")[0].splitlines()
    cells = path.read_text().splitlines()[len(head) + 2 :]
    words = [*["1F1B"] * (len(cells) - 1), "GPipe"]
    lines = [f"{cell} {word} |" for cell, word in zip(cells, words, strict=True)]
    path.write_text("\n".join([*head, f"{first} Schedule |", f"{rule} --- |", *lines, ""]))
    done = quick(tmp_path, "plan", "sweep.md", "--next", "40", "--format", "json")
    found = json.loads(done.out)
    same = [row for row in found if row["changes"].endswith("again") and row["tp"] == 1
            and row["mbs"] == 4]  # fmt: skip
    assert len(same) == len({row["changes"] for row in same}) == 2, same
    assert any("Schedule 1F1B → GPipe" in row["changes"] + row["why"] for row in same)
    again = {(row["tp"], row["mbs"]): row for row in found
             if row["changes"].endswith("again")}  # fmt: skip
    assert {mbs for _, mbs in again} == {4, 8}, again.keys()
    assert len({(row["heads"], row["hidden"]) for row in found}) == 1
    assert len(again) < len(found)


def test_on_fewer_nodes_the_best_to_beat_is_of_as_many(tmp_path: Path) -> None:
    """The fastest of all has more devices: against it nothing on one node gains anything."""
    small = "1 | 1.3B | 8 | 1 | 1 | 2 | 512 | 20GB | 44.00 | | "
    table(tmp_path / "sweep.md", [*(_row(mbs, 20 + mbs) for mbs in (1, 2, 4)), small])
    asked = ("plan", "sweep.md", "--nodes", "1", "--next", "3", "--format", "json")
    done = quick(tmp_path, *asked)
    assert max(row["expected_gain"] for row in json.loads(done.out)) > 1e-3, done.out


def _far_ahead() -> list[str]:
    return [_row(mbs, time * slow, tp, pp) for tp, pp, slow in
            ((1, 1, 1.0), (2, 1, 1.6), (4, 1, 2.6), (8, 1, 4.5), (1, 2, 1.3), (1, 4, 1.9))
            for mbs, time in ((1, 30), (2, 24), (4, 20), (8, 18), (16, 27), (32, 40))]  # fmt: skip


def test_a_plan_that_gains_nothing_says_stop(tmp_path: Path) -> None:
    """A sweep whose best is far ahead of all around it; of three runs, or far from what was
    measured, more is left to gain."""
    rows = _far_ahead()
    table(tmp_path / "all.md", rows)
    table(tmp_path / "few.md", rows[:3])
    near, of_few, far = (
        quick(tmp_path, "plan", *asked, "--format", "md")
        for asked in (("all.md", "--pp", "2"), ("few.md",), ("all.md", "--pp", "16"))
    )
    assert "**Stop here: no run is expected to gain more than" in near.out, near.text
    assert "Stop here" not in of_few.out, of_few.text
    assert "Stop here" not in far.out and "PP 1 → 16" in far.out, far.text


def test_a_limit_of_devices_proposes_as_many_nodes_as_fit(tmp_path: Path) -> None:
    table(tmp_path / "sweep.md", [_row(mbs, 20 + mbs) for mbs in (1, 2, 4)])
    asked = ("plan", "sweep.md", "--format", "json")
    done = quick(tmp_path, *asked, "--devices", "9")
    assert {row["device_count"] for row in json.loads(done.out)} == {8}, done.text
    told(quick(tmp_path, *asked, "--devices", "9", "--nodes", "2"), 2, "16 devices, 9 allowed")
    told(quick(tmp_path, *asked, "--devices", "7"), 2, "16 devices, 7 allowed")


def test_without_a_measured_best_no_chance_is_told(tmp_path: Path) -> None:
    table(tmp_path / "sweep.md", [_row(mbs, 20 + mbs) for mbs in (1, 2, 4)])
    asked = ("plan", "sweep.md", "--model", "2B", "--next", "3", "--format")
    found = json.loads(quick(tmp_path, *asked, "json").out)
    for row in found:
        assert row["chance_of_best"] is row["expected_gain"] is None, row
        assert row["why"].startswith("no run to beat; narrows")
    said = quick(tmp_path, *asked, "md").out
    assert said.startswith("Nothing comparable was measured of 2B on 16 devices"), said
    assert "Best so far" not in said and "Stop here" not in said


def test_the_chance_is_that_of_the_interval_beside_it(tmp_path: Path) -> None:
    table(tmp_path / "sweep.md", _far_ahead())
    asked = ("plan", "sweep.md", "--next", "40", "--format", "json")
    found = [row for row in json.loads(quick(tmp_path, *asked).out)
             if row["chance_of_best"] is not None]  # fmt: skip
    reach = [row["step_time_low"] < 18.0 for row in found]
    assert {*reach} == {True, False}
    assert [row["chance_of_best"] > 0.05 for row in found] == reach


def test_a_contradiction_is_no_best(tmp_path: Path) -> None:
    """Of one configuration in 8 and 30 s the median counts; nothing is faster than the device."""
    rows = [_row(1, 30.0), _row(1, 8.0), _row(2, 18.0), _row(4, 0.5), _row(8, 21.0)]
    table(tmp_path / "sweep.md", rows)
    said = quick(tmp_path, "plan", "sweep.md", "--format", "md").out
    assert said.startswith("Best so far of 1.3B on A100-80GB") and "MBS 2" in said[:120], said
