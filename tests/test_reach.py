"""What a prediction leaves of what was measured: named, and as wide as runs left out like it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.decide.eligible import candidates
from bench.decide.query import Query
from bench.foresight.days import apart
from bench.foresight.folds import Beyond, Outside, Reach, folds, reach
from bench.foresight.intervals import Widths
from bench.foresight.posterior import Posterior, fit
from bench.foresight.scales import PACE_SCALES
from bench.foresight.setting import Setting, setting
from bench.foresight.terms import MEMORY, PACE
from tests.deciding import published, table
from tests.program import quick

SWEEP = "{nodes} | {size} | {dp} | {tp} | {pp} | {mbs} | 512 | 20GB | {time:.2f} | | {day} "


def _row(
    time: float, mbs: int = 2, tp: int = 1, pp: int = 1, size: str = "1.3B", day: str = ""
) -> str:
    dp = 16 // tp // pp
    return SWEEP.format(nodes=2, size=size, dp=dp, tp=tp, pp=pp, mbs=mbs, time=time, day=day)


@pytest.fixture(scope="module")
def fitted() -> Posterior:
    rows = candidates(published("004*.md"), Query()).eligible("pace").kept
    settings = [one for row in rows if (one := setting(row)) and one.pace]
    return _fit(settings)


def _fit(settings: list[Setting]) -> Posterior:
    paces = [float(one.pace or 0) for one in settings]
    return fit(PACE, settings, paces, [one.noise for one in settings], PACE_SCALES)


def _told(folder: Path, *asked: str) -> dict[str, Any]:
    done = quick(folder, "predict", "sweep.md", "--format", "json", *asked)
    assert done.code == 0, done.text
    [row] = json.loads(done.out)
    return dict(row)


def test_each_size_beyond_the_measured_is_named(fitted: Posterior) -> None:
    one = fitted.settings[0]
    runs = [run for run in fitted.settings if run.model == one.model]
    most = max(run.devices for run in runs)
    far = replace(one, seq_len=4.0 * float(one.seq_len or 0), devices=2 * most)
    found = reach(fitted.settings, far)
    assert found.kinds == (Beyond.SIZE, Beyond.RANGE)
    assert {size.name: size.times for size in found.outside} == {"devices": 2, "sequence length": 4}
    assert "sequence length 8,192, measured up to 2,048" in [size.words for size in found.outside]


def test_an_interval_grows_with_the_distance() -> None:
    for name, kind in (("devices", Beyond.SIZE), ("TP", Beyond.RANGE)):
        grown = [
            Reach((kind,), (Outside(name, 8.0 * times, 4.0, 8.0),)).grown(kind)
            for times in (1.5, 2, 4, 8)
        ]
        assert grown == pytest.approx([1, 1, math.sqrt(2), math.sqrt(3)])


def test_what_lies_beyond_is_never_surer(fitted: Posterior) -> None:
    widths, system = Widths(fitted), fitted.settings[0].system
    inside, _ = widths.width(Reach((Beyond.SETTING,)), system, 0.0001)
    far = Reach((Beyond.RANGE,), (Outside("TP", 32.0, 1.0, 4.0),))
    assert widths.width(far, system, 0.0001)[0] > inside
    assert widths.width(Reach((Beyond.SOURCE,)), system, 0.0)[0] > inside


def test_a_model_between_measured_ones_is_left_out_whole(fitted: Posterior) -> None:
    middle = fitted.settings[0]
    sizes = [replace(middle, params=middle.params * by, model=str(by), group=(by, at))
             for by in (0.5, 1, 2) for at in range(2)]  # fmt: skip
    assert [fold.removed for fold in folds(sizes, Beyond.MODEL)] == [(2, 3)]
    new = replace(middle, params=middle.params * 1.5, model="new")
    assert reach(sizes, new).kinds == (Beyond.MODEL,)
    assert reach(sizes, replace(new, params=middle.params * 3)).kinds == (Beyond.SOURCE,)


def test_a_run_is_left_out_by_a_fit_without_it(fitted: Posterior) -> None:
    """How rough its source is was told by it too, so that the closed form is too sure."""
    at = len(fitted.settings) // 2
    again = fitted.without([at])
    assert again.settings == fitted.settings[:at] + fitted.settings[at + 1 :]
    cold = _fit([*again.settings])
    new = [fitted.settings[at]]
    assert again.predicted(new)[0] == pytest.approx(cold.predicted(new)[0], abs=0.01)


def test_a_machine_that_was_slow_between_fast_days_may_be_so_again(tmp_path: Path) -> None:
    days = {"05-25": 129.0, "05-26": 217.0, "05-27": 125.0, "05-28": 225.0}
    rows = [_row(time, day=day) for day, time in days.items()]
    table(tmp_path / "sweep.md", [*rows, *(_row(125.0 + mbs, mbs, day="05-27") for mbs in (1, 4))])
    row = _told(tmp_path, "--mbs", "2")
    assert row["step_time_s"] == pytest.approx(125, rel=0.05) and row["step_time_high"] >= 225
    assert row["step_time_low"] > 100, "nothing was ever twice as fast"
    beside = _told(tmp_path, "--mbs", "4")
    assert beside["step_time_high"] > 1.7 * beside["step_time_s"]
    said = quick(tmp_path, "predict", "sweep.md", "--format", "md", "--mbs", "2").out
    assert "The machine was not steady" in said and "217.00 s/it on 05-26" in said, said


def test_what_was_before_a_repair_does_not_count() -> None:
    rows = candidates(published("004*.md"), Query()).eligible("pace").kept
    row, one = next((row, one) for row in rows if (one := setting(row)) and one.pace)
    pace = float(one.pace or 0)
    day = {"before": 2.0, "since": 1.0, "then": 1.05}
    runs = [replace(one, pace=pace * by, words={"date": str(at)}, undated="same")
            for at, by in enumerate(day.values())]  # fmt: skip
    found = apart([row] * 3, runs, runs[1])
    assert found is not None and len(found.rows) == 2
    assert math.exp(found.high) == pytest.approx(1.05)


def test_experts_are_split_by_their_parallelism(fitted: Posterior) -> None:
    states = next(term for term in MEMORY.terms if term.name == "states")
    one = replace(fitted.settings[0], params=8e9, expert_params=7e9, tp=1.0, pp=1.0, devices=8.0)
    spread = replace(one, ep=8.0)
    assert states.of(spread) < states.of(one)
    assert states.of(replace(one, zero=0)) == pytest.approx(128)
    assert states.of(replace(spread, zero=0)) == pytest.approx(16 + 14)


@pytest.mark.parametrize(
    ("asked", "why", "hint"),
    [
        (["--pp", "64"], "PP 64 does not divide 16 devices", "--pp 16"),
        (["--model", "2B", "--hidden", "100"], "2B would have", "--hidden 2816"),
        (["--model", "2B", "--hidden", "9000", "--layers", "90"], "are 87.5B", "--hidden 2816"),
        (["--model", "2B", "--hidden", "2050", "--heads", "16"], "does not divide by 16 heads",
         "--hidden 2048"),
    ],
)  # fmt: skip
def test_a_hint_is_the_nearest_that_can_be(
    tmp_path: Path, asked: list[str], why: str, hint: str
) -> None:
    table(tmp_path / "sweep.md", [_row(20.0 + mbs, mbs) for mbs in (1, 2, 4)])
    done = quick(tmp_path, "predict", "sweep.md", *asked)
    assert done.code == 2 and why in done.err and hint in done.err, done.text


def test_a_chance_that_no_failure_tells_is_a_bound(tmp_path: Path) -> None:
    table(tmp_path / "sweep.md", [_row(20.0 + mbs, mbs) for mbs in (1, 2, 4, 8)])
    row = _told(tmp_path, "--mbs", "2")
    assert row["out_of_memory_is_bound"] is True
    said = quick(tmp_path, "predict", "sweep.md", "--format", "md", "--mbs", "2").out
    assert "a probability below" in said and "no failure is recorded" in said, said
