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
from bench.foresight.folds import (
    SIZES,
    WORDS,
    Extrapolation,
    ExtrapolationKind,
    SizeOutOfRange,
    folds,
    reach,
)
from bench.foresight.intervals import UNSCORED, IntervalWidths, apart
from bench.foresight.posterior import Posterior, fit
from bench.foresight.setting import Setting, setting
from bench.foresight.similarity import PACE_SCALES
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
    settings = [one for row in rows if (one := setting(row)) and one.s_per_token]
    return _fit(settings)


def _fit(settings: list[Setting]) -> Posterior:
    paces = [float(one.s_per_token or 0) for one in settings]
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
    assert found.kinds == (ExtrapolationKind.SIZE, ExtrapolationKind.RANGE)
    assert {size.name: size.times for size in found.outside} == {"devices": 2, "sequence length": 4}
    assert "sequence length 8,192, measured up to 2,048" in [size.words for size in found.outside]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--cp", "2"], "CP 2, measured up to 1"),
        (["--dtype", "fp8"], "number format fp8, which no run like it states"),
        (["--zero-stage", "3"], "ZeRO stage 3, which no run like it states"),
        (["--recompute", "full"], "recompute full, which no run like it states"),
        (["--dtype", "fp8", "--cp", "2"],
         "CP 2, measured up to 1; number format fp8, which no run like it states"),
    ],
)  # fmt: skip
def test_what_no_run_has_is_named_and_wider(tmp_path: Path, asked: list[str], said: str) -> None:
    rows = [_row(20.0 + 4 / mbs + tp, mbs, tp) for mbs in (1, 2, 4, 8) for tp in (1, 2)]
    path = table(tmp_path / "sweep.md", rows, "bf16")
    path.write_text(path.read_text().replace("A100", "H100"))
    inside, row = _told(tmp_path, "--mbs", "2"), _told(tmp_path, "--mbs", "2", *asked)
    assert inside["beyond"] == "configuration" and inside["outside_text"] is None
    assert row["beyond"] == "range" and row["outside_text"] == said
    spans = [one["step_time_high"] / one["step_time_low"] for one in (inside, row)]
    assert spans[1] > spans[0] * 1.05, spans
    text = quick(tmp_path, "predict", "sweep.md", "--format", "md", "--mbs", "2", *asked).out
    assert f"Extrapolated: {said}." in text and "Beyond the measured" in text, text
    assert "errors on held-out sizes and settings" in text, text
    assert ("usual times for keys and values between CP ranks" in text) is ("--cp" in asked), text


def test_a_format_that_a_device_has_not_is_refused(tmp_path: Path) -> None:
    table(tmp_path / "sweep.md", [_row(20.0 + mbs, mbs) for mbs in (1, 2, 4)], "bf16")
    done = quick(tmp_path, "predict", "sweep.md", "--dtype", "fp8")
    assert done.code == 2 and "no speed of A100 in fp8 is known" in done.err, done.text
    assert "its data sheet has bf16, fp16, fp32" in done.err, done.text


def test_shapes_beyond_the_measured_are_named(fitted: Posterior) -> None:
    runs = [replace(run, shape_is_stated=True) for run in fitted.settings]
    far = replace(runs[0], model="x", layers=400.0, hidden=65536.0, heads=512)
    found = [size.name for size in reach(runs, far).outside]
    assert {"layers", "hidden size"} <= set(found), found
    guessed = {size.name for size in reach(runs, replace(far, shape_is_stated=False)).outside}
    assert not {"layers", "hidden size"} & guessed, "of a usual model: nobody asked for them"


def test_an_answer_is_compared_with_the_run_it_starts_from(tmp_path: Path) -> None:
    table(tmp_path / "sweep.md", [_row(20.0 + 4 / mbs, mbs) for mbs in (1, 2, 4, 8)])
    words = ("predict", "sweep.md", "--format", "md")
    other = quick(tmp_path, *words, "--mbs", "2", "--tp", "2").out
    assert "the run it starts from (sweep:9:" in other and "%) a device." in other, other
    assert "the run it starts from" not in quick(tmp_path, *words, "--mbs", "2").out


def test_a_setting_that_was_measured_is_not_beyond(tmp_path: Path) -> None:
    rows = [_row(20.0 + 4 / mbs, mbs) for mbs in (1, 2, 4, 8)]
    table(tmp_path / "sweep.md", rows, "bf16, ZeRO stage 1, full activation recomputation")
    # A prediction does not know the measurement of its own configuration.
    words = ("--dtype", "bf16", "--zero-stage", "1", "--cp", "1", "--mbs")
    row = _told(tmp_path, *words, "2")
    assert row["beyond"] == "configuration" and row["outside_text"] is None, row
    said = quick(tmp_path, "predict", "sweep.md", "--format", "md", *words, "8").out
    assert "Extrapolated without the measurement: MBS 8, measured up to 4" in said, said


def test_all_that_can_be_asked_for_without_a_size_can_be_beyond(fitted: Posterior) -> None:
    assert {"recompute", "dtype", "zero_stage"} == WORDS.keys() and {
        "CP",
        "VPP",
        "EP",
    } <= SIZES.keys()
    one = fitted.settings[0]
    for change in (
        {"cp": 2.0},
        {"vpp": 2.0},
        {"ep": 2.0},
        {"other_settings": {**one.other_settings, "dtype": "x"}},
    ):
        assert reach(fitted.settings, replace(one, **change)).kinds == (ExtrapolationKind.RANGE,)


def test_each_value_of_a_setting_is_left_out_whole(fitted: Posterior) -> None:
    one = replace(fitted.settings[0], other_settings={})
    runs = [replace(one, other_settings={"dtype": of}) for of in ("bf16", "fp8", "fp8")]
    assert [fold.removed for fold in folds(runs, ExtrapolationKind.RANGE)] == [(0,), (1, 2)]
    assert not folds(runs[1:], ExtrapolationKind.RANGE), "one value: nothing would be left"


def test_a_kind_that_nothing_is_left_out_for_has_three_deviations(fitted: Posterior) -> None:
    one = fitted.settings[0]
    alone = _fit([replace(one, group=at, s_per_token=float(one.s_per_token or 0) * (1 + at / 1000))
                  for at in range(30)])  # fmt: skip
    widths = IntervalWidths(alone)
    assert widths.scored_by(ExtrapolationKind.RANGE) is ExtrapolationKind.SETTING
    assert widths.of(ExtrapolationKind.SETTING).factor(one.source[0]) < UNSCORED
    assert widths.width(Extrapolation((ExtrapolationKind.RANGE,)), one.source[0], 1.0) >= UNSCORED


def test_an_interval_grows_with_the_distance() -> None:
    for name, kind in (("devices", ExtrapolationKind.SIZE), ("TP", ExtrapolationKind.RANGE)):
        grown = [
            Extrapolation((kind,), (SizeOutOfRange(name, 8.0 * times, 4.0, 8.0),)).grown(kind)
            for times in (1.5, 2, 4, 8)
        ]
        assert grown == pytest.approx([1, 1, math.sqrt(2), math.sqrt(3)])


def test_what_lies_beyond_is_never_surer(fitted: Posterior) -> None:
    widths, source = IntervalWidths(fitted), fitted.settings[0].source[0]
    inside = widths.width(Extrapolation((ExtrapolationKind.SETTING,)), source, 0.0001)
    far = Extrapolation((ExtrapolationKind.RANGE,), (SizeOutOfRange("TP", 32.0, 1.0, 4.0),))
    assert widths.width(far, source, 0.0001) > inside
    assert widths.width(Extrapolation((ExtrapolationKind.SOURCE,)), source, 0.0) > inside


def test_a_model_between_measured_ones_is_left_out_whole(fitted: Posterior) -> None:
    middle = fitted.settings[0]
    sizes = [replace(middle, params=middle.params * by, model=str(by), group=(by, at))
             for by in (0.5, 1, 2) for at in range(2)]  # fmt: skip
    assert [fold.removed for fold in folds(sizes, ExtrapolationKind.MODEL)] == [(2, 3)]
    new = replace(middle, params=middle.params * 1.5, model="new")
    assert reach(sizes, new).kinds == (ExtrapolationKind.MODEL,)
    assert reach(sizes, replace(new, params=middle.params * 3)).kinds == (ExtrapolationKind.SOURCE,)


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
    # From two runs of its fast day: its own measurements are not used.
    assert row["step_time_s"] == pytest.approx(125, rel=0.1) and row["step_time_high"] >= 225
    assert row["step_time_low"] > 100, "nothing was ever twice as fast"
    beside = _told(tmp_path, "--mbs", "4")
    assert beside["step_time_high"] > 1.7 * beside["step_time_s"]
    said = quick(tmp_path, "predict", "sweep.md", "--format", "md", "--mbs", "2").out
    assert "The machine was not steady" in said and "217.00 s/it on 05-26" in said, said


def test_what_was_before_a_repair_does_not_count() -> None:
    rows = candidates(published("004*.md"), Query()).eligible("pace").kept
    row, one = next((row, one) for row in rows if (one := setting(row)) and one.s_per_token)
    pace = float(one.s_per_token or 0)
    day = {"before": 2.0, "since": 1.0, "then": 1.05}
    runs = [replace(one, s_per_token=pace * by, other_settings={"date": str(at)},
                    group_any_day="same")
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
        (["--cp", "3"], "CP 3 does not divide 16 devices", "that can: --cp 4"),
        (["--where", "mbs = 64"], "selects the measured runs", "--mbs 64 asks for sizes"),
        (["--layers", "24", "--hidden", "2048", "--pp", "4", "--vpp", "7"],
         "PP 4 x VPP 7", "--vpp 6"),
        (["--gbs", "500", "--dp", "16", "--mbs", "1", "--all"], "500", "--gbs 496"),
        (["--nodes", "3", "--all"], "GBS 512", "--gbs 504"),
    ],
)  # fmt: skip
def test_a_hint_is_the_nearest_that_can_be(
    tmp_path: Path, asked: list[str], why: str, hint: str
) -> None:
    table(tmp_path / "sweep.md", [_row(20.0 + mbs, mbs) for mbs in (1, 2, 4)])
    done = quick(tmp_path, "predict", "sweep.md", *asked)
    assert done.code == 2 and why in done.err and hint in done.err, done.text


def test_heads_are_the_nearest_that_divide_the_hidden_size(tmp_path: Path) -> None:
    """They change no parameter: the model keeps its name, and its measured run to compare with."""
    shape = "HIDDEN=2048; NLAYERS=24"
    table(tmp_path / "sweep.md", [_row(20.0 + mbs, mbs) for mbs in (1, 2, 4)], shape)
    done = quick(tmp_path, "predict", "sweep.md", "--heads", "15")
    assert "hidden size 2,048 does not divide by 15 heads" in done.err, done.text
    assert "that can: --heads 16" in done.err, done.text
    said = quick(tmp_path, "predict", "sweep.md", "--heads", "16", "--format", "md").out
    assert "Predicted: 1.3B, " in said and "Against " in said, said


def test_the_chance_of_no_room_is_that_of_the_interval(tmp_path: Path) -> None:
    """An interval of 90% that ends above the room has more than 5% above it."""
    table(tmp_path / "sweep.md", [_row(20.0 + mbs, mbs) for mbs in (1, 2, 4, 8)])
    for size in ("2B", "4B", "8B"):
        row = _told(tmp_path, "--mbs", "2", "--model", size, "--zero-stage", "1")
        over = row["memory_gb_high"] > row["memory_gb_device"]
        assert (row["out_of_memory"] > 0.05) == over, row
    said = quick(tmp_path, "predict", "sweep.md", "--format", "md", "--mbs", "2").out
    assert "out of memory with < 1% probability; no failure is recorded" in said, said
    assert said.count("< 1%") == 2 and "below" not in said
