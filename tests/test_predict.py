"""Predictions of configurations that nobody ran, from the published sweeps."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.decide.eligible import candidates
from bench.decide.query import Query
from bench.explain.prediction import explain_prediction
from bench.foresight.answers import predicted
from bench.foresight.folds import Extrapolation, ExtrapolationKind, folds, reach
from bench.foresight.posterior import fit
from bench.foresight.predictor import Predictor, trained
from bench.foresight.setting import setting, system_of
from bench.foresight.similarity import PACE_SCALES
from bench.foresight.sizes import all_splits, base_of, impossible, with_sizes
from bench.foresight.terms import PACE, bubble, tile_waste, uneven_heads
from bench.ingest.files.pipeline import ingest_into
from bench.reports.chart import write as write_chart
from bench.reports.computed import names_of
from bench.reports.predict_chart import predict_picture
from bench.schema.errors import BenchError
from bench.schema.opening import in_memory
from bench.schema.warehouse import Warehouse
from bench.vocabulary.prices import Price, Prices
from tests.deciding import published, table
from tests.program import quick

ROOT = Path(__file__).resolve().parent.parent
SWEEP = "2 | 1.3B | {dp} | {tp} | {pp} | {mbs} | 512 | {mem}GB | {time} | | "


@pytest.fixture(scope="module")
def warehouse() -> Warehouse:
    return published("00[24]*.md")


@pytest.fixture(scope="module")
def predictor(warehouse: Warehouse) -> Predictor:
    """What these sweeps tell."""
    known = candidates(warehouse, Query()).eligible("pace")
    return trained(known.kept, known.left_out)


def _small(folder: Path, rows: list[str], above: str = "") -> Path:
    return table(folder / "sweep.md", rows, above)


def _row(mbs: int = 1, time: float = 20.0, tp: int = 1, pp: int = 1, mem: int = 20) -> str:
    return SWEEP.format(dp=16 // tp // pp, tp=tp, pp=pp, mbs=mbs, time=f"{time:.2f}", mem=mem)


def test_doubted_rows_and_failures_do_not_train(predictor: Predictor) -> None:
    assert not [row for row in predictor.rows if row["left_out"] or row["status"] == "oom"]
    reasons = [str(row["left_out"]) for row in predictor.left_out]
    assert any(reason.startswith("doubted") for reason in reasons)
    assert any("oom" in reason for reason in reasons)


def test_a_run_left_out_in_closed_form_is_as_one_that_was_never_there(
    predictor: Predictor,
) -> None:
    settings = [one for one in predictor.pace.settings if one.source[0].endswith("1B3.md")]
    costs, noise = (
        [float(one.s_per_token or 0) for one in settings],
        [one.noise for one in settings],
    )
    whole = fit(PACE, settings, costs, noise, PACE_SCALES)
    at = 3
    error, deviation = whole.left_out([at], [at])
    kept = [one for one in range(len(settings)) if one != at]
    again = fit(
        PACE, [settings[one] for one in kept], [costs[one] for one in kept],
        [noise[one] for one in kept], PACE_SCALES,
    )  # fmt: skip
    mean, covariance = again.predicted([settings[at]])
    # Only the point of linearisation and the tails differ.
    assert np.log(costs[at]) - mean[0] == pytest.approx(error[0], abs=0.02)
    assert np.sqrt(covariance[0, 0]) == pytest.approx(deviation[0], rel=0.5)


def _rated(predictor: Predictor, size: str, **asked: int) -> dict[str, Any]:
    rows = [row for row in predictor.rows if row["size"] == size]
    [made] = predictor.rated([with_sizes(base_of(rows, asked), asked)])
    return made


def test_terms_add_up_to_what_is_predicted(predictor: Predictor) -> None:
    row = _rated(predictor, "181B", nodes=48, tp=4, pp=12, mbs=4)
    assert sum(part.cost for part in row["terms"]) == pytest.approx(
        1 / row["tokens_per_s_per_device"]
    )
    assert row["step_time_low"] < row["step_time_s"] < row["step_time_high"]
    assert row["tokens_per_s"] == pytest.approx(row["tokens_per_step"] / row["step_time_s"])


def test_more_nodes_are_faster_and_said_to_be_extrapolated(predictor: Predictor) -> None:
    rates = []
    for nodes in (48, 72, 96):
        row = _rated(predictor, "181B", nodes=nodes, tp=8, pp=6)
        rates.append(row["tokens_per_s"])
        assert row["beyond"] == ("configuration" if nodes == 48 else "size")
    assert rates[0] < rates[1] < rates[2] < rates[0] * 2


def test_far_more_devices_than_any_run_of_the_system_have_no_basis(predictor: Predictor) -> None:
    assert _rated(predictor, "181B", nodes=48, tp=8, pp=6)["times_beyond"] == 1
    most = max(row["device_count"] for row in predictor.rows if row["size"] == "181B")
    twice = _rated(predictor, "181B", nodes=most // 8 * 2, tp=8, pp=6)
    assert twice["times_beyond"] == pytest.approx(2)
    with pytest.raises(BenchError, match="no run of about 38,400 devices"):
        _rated(predictor, "181B", nodes=4800, tp=8, pp=6)


def test_an_impossible_configuration_names_its_rule_and_the_nearest_possible(
    predictor: Predictor,
) -> None:
    with pytest.raises(BenchError) as refused:
        _rated(predictor, "181B", nodes=48, tp=7, pp=12)
    assert refused.value.why == "TP 7 x PP 12 = 84 does not divide 384 devices"
    with pytest.raises(BenchError) as alone:
        _rated(predictor, "181B", nodes=48, tp=7, pp=1)
    assert alone.value.why == "TP 7 does not divide 384 devices"
    assert "--tp 8" in str(refused.value.hint) and "--pp 12" in str(refused.value.hint)


def test_sizes_that_nobody_asked_for_move_to_what_is_possible(predictor: Predictor) -> None:
    row = _rated(predictor, "181B", nodes=44)
    assert row["device_count"] == 352 and impossible(row, {}) is None
    assert row["moved"]


def test_all_splits_satisfy_the_arithmetic_and_rank_beside_the_measured(
    warehouse: Warehouse,
) -> None:
    made = predicted(warehouse, Query(model="181B"), {"nodes": 48}, every=True)
    guessed = [row for row in made.rows if row["basis"] == "predicted"]
    assert guessed and len(guessed) < len(made.rows)
    for row in guessed:
        assert row["dp"] * row["tp"] * row["pp"] == 384
        assert row["heads"] % row["tp"] == 0 and row["gbs"] % (row["mbs"] * row["dp"]) == 0
        assert row["out_of_memory"] <= 0.5
    rates = [row["tokens_per_s"] for row in made.rows]
    assert rates == sorted(rates, reverse=True)


def test_larger_micro_batches_need_more_memory(predictor: Predictor) -> None:
    needs = [
        _rated(predictor, "181B", nodes=48, tp=8, pp=12, mbs=mbs)["memory_gb_predicted"]
        for mbs in (1, 4, 8)
    ]
    assert needs == sorted(needs) and needs[0] < needs[2]


def test_a_size_that_nobody_measured_has_a_wider_interval(
    predictor: Predictor, warehouse: Warehouse
) -> None:
    [new] = predicted(warehouse, Query(model="500B"), {"tp": 8, "pp": 12, "nodes": 48}).rows
    known = _rated(predictor, "181B", tp=8, pp=12, nodes=48)
    width, usual = (row["step_time_high"] / row["step_time_low"] for row in (new, known))
    assert width > usual > 1
    assert new["beyond"] == "source" and new["size"] == "500B"


def test_no_interval_is_faster_than_the_peak(tmp_path: Path) -> None:
    """The interval of few runs is wide, and physics bounds it."""
    _small(tmp_path, [_row(1, 2.2)], "SEQ_LEN=2048, no activation recomputation")
    for recompute, most in (("none", 1.0), ("full", 0.75)):
        words = ("--tp", "2", "--recompute", recompute)
        [row] = json.loads(quick(tmp_path, "predict", "sweep.md", "--format", "json", *words).out)
        assert row["mfu_low"] < row["mfu_high"] == pytest.approx(most), row
        assert row["tokens_per_s_high"] / row["tokens_per_s"] == pytest.approx(most / row["mfu"])
        assert row["step_time_s"] / row["step_time_low"] == pytest.approx(most / row["mfu"])
        assert row["days_low"] == pytest.approx(row["days"] * row["mfu"] / most)


def test_a_model_that_was_not_measured_has_its_own_flops(warehouse: Warehouse) -> None:
    for size in (40, 100):
        [row] = predicted(warehouse, Query(model=f"{size}B"), {"nodes": 48}).rows
        assert row["model_tflops"] == pytest.approx(6e-3 * size * row["tokens_per_s_per_device"])
        assert 0.1 < row["mfu"] < 0.6, "and not that of the 181B it starts from"


def test_the_start_is_of_the_nearest_model_and_one_too_far_is_refused(
    warehouse: Warehouse,
) -> None:
    found = predicted(warehouse, Query(model="999B"), {"nodes": 4})
    assert found.rows[0]["base"]["params_b"] > 170, "and not whatever ran on 4 nodes"
    with pytest.raises(BenchError, match="no run of a model near 9999B"):
        predicted(warehouse, Query(model="9999B"), {"nodes": 4})


def test_one_run_gives_an_answer_with_a_wide_interval(tmp_path: Path) -> None:
    _small(tmp_path, [_row()])
    done = quick(tmp_path, "predict", "sweep.md", "--mbs", "2", "--format", "json")
    assert done.code == 0, done.text
    [row] = json.loads(done.out)
    assert row["step_time_high"] / row["step_time_low"] > 1.2


def test_equal_runs_give_their_own_time(tmp_path: Path) -> None:
    _small(tmp_path, [_row(mbs, 20.0) for mbs in (1, 2, 4, 8)])
    done = quick(tmp_path, "predict", "sweep.md", "--mbs", "16", "--format", "json")
    [row] = json.loads(done.out)
    assert row["step_time_s"] == pytest.approx(20.0, rel=0.1)


def test_a_table_without_a_known_size_says_what_is_missing(tmp_path: Path) -> None:
    text = "# Sweep\n\n| Nodes | TP | PP | MBS | Sec/it |\n| --: | --: | --: | --: | --: |\n"
    (tmp_path / "sweep.md").write_text(
        text + "| 4 | 1 | 1 | 1 | 20.0 |\n| 8 | 1 | 1 | 1 | 11.0 |\n"
    )
    done = quick(tmp_path, "predict", "sweep.md", "--nodes", "16")
    assert done.code == 2
    assert "no size of the model" in done.err or "tokens/s" in done.err


def test_sizes_left_out_take_all_above_them_along(predictor: Predictor) -> None:
    settings = predictor.pace.settings
    for fold in folds(settings, ExtrapolationKind.SIZE):
        least = min(settings[at].devices for at in fold.removed)
        assert all(settings[at].devices == least for at in fold.tested)


def test_shapes_that_do_not_fill_tiles_are_told(predictor: Predictor) -> None:
    rows = {
        row["line"]: one for row, one in zip(predictor.rows, predictor.pace.settings, strict=True)
    }
    assert uneven_heads(rows[366]) and not uneven_heads(rows[328])  # 13824 / 128 = 108
    assert tile_waste(rows[402]) == 0  # 14336 / 8 = 14 x 128
    assert bubble(rows[427]) == pytest.approx(11 / 64)


def test_the_nearest_run_is_where_a_prediction_starts(predictor: Predictor) -> None:
    rows = [row for row in predictor.rows if row["size"] == "181B"]
    base = base_of(rows, {"tp": 4, "pp": 12, "mbs": 2})
    assert base["where"].endswith(":428")
    again = with_sizes(base, {"mbs": 4})
    one = setting(again)
    assert one is not None and one.s_per_token is None and one.mbs == 4
    asked = predictor.unstated.settled(one)
    assert reach(predictor.pace.settings, asked) == Extrapolation((ExtrapolationKind.SETTING,))
    splits = all_splits(base, {})
    assert len({(row["tp"], row["pp"], row["mbs"]) for row in splits}) > 20
    busy = [row for row in splits if row["gbs"] // (row["mbs"] * row["dp"]) >= row["pp"]]
    # The 1F1B of the reference trainer refuses a pipeline with fewer micro-batches than stages.
    kept = all_splits({**base, "framework": "bench.trainer"}, {})
    assert len(kept) == len(busy) < len(splits)


def test_a_batch_of_a_whole_pipeline_is_no_micro_batch(predictor: Predictor) -> None:
    [row] = [row for row in predictor.rows if row["size"] == "181B" and row["pp"] > 1][:1]
    whole = row["gbs"] // row["dp"]
    found = []
    for framework, mbs in ((None, whole), (None, 2), ("torchtitan", 2), ("Megatron-LM", whole)):
        one = setting({**row, "framework": framework, "mbs": mbs})
        assert one is not None
        found.append(one.mbs)
    assert found == [None, 2, None, whole]
    titan = {**row, "framework": "torchtitan", "mbs": 32}
    assert with_sizes(titan, {"nodes": row["nodes"]})["mbs"] is None, "no other split inherits it"
    assert with_sizes(titan, {"mbs": 2})["mbs"] == 2
    assert {one["mbs"] for one in all_splits(titan, {})} >= {1, 2, 4}


def test_a_device_that_sources_spell_in_many_ways_is_one_system(predictor: Predictor) -> None:
    [row] = [row for row in predictor.rows if row["size"] == "181B"][:1]
    for name in ("A100-80GB", "nvidia_a100-sxm4-80gb", "A100 80G"):
        assert system_of({**row, "device": name, "system": name}) == "A100"
    assert system_of({**row, "device": "SX-9", "system": "SX-9"}) == "SX-9"


PRICED = Query(model="181B", prices=Prices(Price(2.0, "USD")))


def test_by_cost_all_measured_node_counts_are_ranked_with_their_front(tmp_path: Path) -> None:
    wider = SWEEP.format(dp=32, tp=1, pp=1, mbs=1, mem=20, time="11.00").replace("2 |", "4 |", 1)
    rows = [_row(1, 20.0), _row(2, 19.0), wider]
    found = in_memory()
    ingest_into(found, [_small(tmp_path, rows)], tmp_path)
    made = predicted(found, Query(prices=PRICED.prices, by="cost"), {}, every=True)
    costs = [row["cost"] for row in made.rows]
    assert costs == sorted(costs)
    assert {row["nodes"] for row in made.rows if row["basis"] == "predicted"} == {2, 4}
    [front] = made.facts["cost_fronts"]
    days = [row["days"] for row in front]
    assert len(days) > 1 and days == sorted(days, reverse=True)


def test_costs_have_the_interval_of_days(warehouse: Warehouse) -> None:
    [row] = predicted(warehouse, PRICED, {"nodes": 48}).rows
    assert row["cost"] == pytest.approx(row["device_hours"] * 2)
    assert row["cost_high"] / row["cost"] == pytest.approx(row["days_high"] / row["days"])
    assert row["cost_per_100b_tokens"] == pytest.approx(row["cost"])  # 100B tokens are the unit
    assert (row["power_w"], row["power_from"]) == (400, "rated")
    with pytest.raises(BenchError, match="no cost is known"):
        predicted(warehouse, Query(model="181B", by="cost"), {}, every=True)


def test_an_explanation_has_the_terms_and_the_lines_it_rests_on(warehouse: Warehouse) -> None:
    assert explain_prediction(warehouse, ROOT, Query(model="176B"), {"nodes": 64}).versions
    found = explain_prediction(warehouse, ROOT, Query(model="181B"), {"nodes": 48, "tp": 4})
    time, memory = (match.tree for match in found.matches)
    for tree, unit in ((time, "s"), (memory, "GB")):
        parts = [
            one for one in tree.inputs if (one.unit == unit and one.how) or "addition" in one.note
        ]
        assert sum(float(one.value or 0) for one in parts) == pytest.approx(tree.value)
    assert all(uri.endswith("prequel.md") for uri, _ in time.places()) and time.places()
    middle, low, high = (float(one or 0) for one in (time.value, time.low, time.high))
    assert 0 < low < middle < high


@pytest.mark.parametrize(("every", "words"), [(False, "matrix products"), (True, "within their")])
def test_charts_of_a_prediction_and_of_all(
    warehouse: Warehouse, tmp_path: Path, every: bool, words: str
) -> None:
    made = predicted(warehouse, Query(model="181B"), {"nodes": 48}, every)
    write_chart(predict_picture(names_of(warehouse), made), tmp_path / "a.svg")
    text = " ".join(re.findall(r"<!-- (.*?) -->", (tmp_path / "a.svg").read_text()))
    assert words in text
