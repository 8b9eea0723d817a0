"""What a sceptic asks of predictions and plans from few runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bench.foresight.memory import most_room
from bench.foresight.proposals import worth_repeating
from tests.deciding import table
from tests.program import quick, told

SWEEP = "2 | 1.3B | {dp} | {tp} | {pp} | {mbs} | 512 | 20GB | {time:.2f} | | "


def _row(mbs: int, time: float, tp: int = 1, pp: int = 1) -> str:
    return SWEEP.format(dp=16 // tp // pp, tp=tp, pp=pp, mbs=mbs, time=time)


def test_two_runs_are_not_surer_than_one(tmp_path: Path) -> None:
    """Each left out is hit by the other, by chance: that tells nothing of a third."""
    table(
        tmp_path / "sweep.md",
        [_row(tp=4, pp=2, mbs=2, time=20.1), _row(tp=2, pp=2, mbs=2, time=18.1)],
    )
    done = quick(tmp_path, "predict", "sweep.md", "--tp", "8", "--format", "json")
    [row] = json.loads(done.out)
    assert row["step_time_high"] / row["step_time_low"] > 1.2


def test_a_sceptic_is_told_what_no_run_tells(tmp_path: Path) -> None:
    table(tmp_path / "sweep.md", [_row(mbs=2, time=20.0), _row(mbs=2, time=21.0)])
    asked = ("predict", "sweep.md", "--format", "md")
    done = quick(tmp_path, *asked, "--mbs", "2")
    assert "Measured already: 20.00 s/it (sweep:8), 21.00 s/it (sweep:9)." in done.out, done.out
    assert "No run could be left out" in done.out
    far = quick(tmp_path, *asked, "--nodes", "10")
    assert "This is 5.0 times beyond" in far.out, far.out


def test_where_noise_is_the_question_a_measured_run_is_proposed_again(tmp_path: Path) -> None:
    """The two best are too near to tell, and the sizes that were not run are far slower."""
    worth = worth_repeating(np.array([0.0, 0.001, 0.4]), np.array([1e-5] * 3), 0.006)
    assert worth[0] == pytest.approx(worth[1]) and worth[1] > 1e-4 > 1e-9 > worth[2]
    assert worth_repeating(np.array([0.0]), np.array([1e-5]), 0.006) == [0.0]
    rows = [_row(mbs, time, tp, pp) for tp, pp, slow in
            ((1, 1, 1.0), (2, 1, 1.6), (4, 1, 2.6), (8, 1, 4.5), (1, 2, 1.3), (1, 4, 1.9))
            for mbs, time in ((1, 30 * slow), (2, 24 * slow), (4, 20 * slow), (8, 20.02 * slow),
                              (16, 27 * slow))]  # fmt: skip
    table(tmp_path / "sweep.md", rows)
    done = quick(tmp_path, "plan", "sweep.md", "--next", "40", "--format", "json")
    found = json.loads(done.out)
    again = {(row["tp"], row["mbs"]): row for row in found
             if row["changes"].endswith("again")}  # fmt: skip
    assert {mbs for _, mbs in again} == {4, 8}, again.keys()
    assert len({(row["heads"], row["hidden"]) for row in found}) == 1
    assert len(again) < len(found)


def test_on_fewer_nodes_the_best_to_beat_is_of_as_many(tmp_path: Path) -> None:
    """The fastest of all has more devices: against it nothing on one node gains anything."""
    table(tmp_path / "sweep.md", [_row(mbs, 20 + mbs) for mbs in (1, 2, 4)])
    asked = ("plan", "sweep.md", "--nodes", "1", "--next", "3", "--format", "json")
    done = quick(tmp_path, *asked)
    assert max(row["expected_gain"] for row in json.loads(done.out)) > 1e-3, done.out


def test_a_plan_that_gains_nothing_says_stop(tmp_path: Path) -> None:
    """A sweep whose best is far ahead of all around it; of three runs much is left to gain."""
    rows = [_row(mbs, time * slow, tp, pp) for tp, pp, slow in
            ((1, 1, 1.0), (2, 1, 1.6), (4, 1, 2.6), (8, 1, 4.5), (1, 2, 1.3), (1, 4, 1.9))
            for mbs, time in ((1, 30), (2, 24), (4, 20), (8, 18), (16, 27), (32, 40))]  # fmt: skip
    table(tmp_path / "all.md", rows)
    table(tmp_path / "few.md", rows[:3])
    of_all, of_few = (
        quick(tmp_path, "plan", name, "--format", "md") for name in ("all.md", "few.md")
    )
    assert "**Stop here: no run is expected to gain more than" in of_all.out, of_all.text
    assert "Stop here" not in of_few.out, of_few.text


def test_a_limit_of_devices_proposes_as_many_nodes_as_fit(tmp_path: Path) -> None:
    table(tmp_path / "sweep.md", [_row(mbs, 20 + mbs) for mbs in (1, 2, 4)])
    asked = ("plan", "sweep.md", "--format", "json")
    done = quick(tmp_path, *asked, "--devices", "9")
    assert {row["device_count"] for row in json.loads(done.out)} == {8}, done.text
    told(quick(tmp_path, *asked, "--devices", "9", "--nodes", "2"), 2, "16 devices, 9 allowed")
    told(quick(tmp_path, *asked, "--devices", "7"), 2, "16 devices, 7 allowed")


def test_memory_that_no_device_has_is_not_proposed(tmp_path: Path) -> None:
    rows = [_row(mbs, 20 + mbs).replace("20GB", f"{20 * mbs}GB") for mbs in (1, 2, 4, 8)]
    path = table(tmp_path / "sweep.md", rows)
    path.write_text(path.read_text().replace("A100", "unknown"))
    done = quick(tmp_path, "predict", "sweep.md", "--all", "--format", "json")
    found = json.loads(done.out)
    needs = {bool(row["left_out"]): row["memory_gb_predicted"] for row in found}
    assert needs[True] > most_room() > needs[False]
    assert all(row["memory_gb_predicted"] <= most_room() for row in found
               if row["basis"] == "predicted" and not row["left_out"])  # fmt: skip


def test_a_step_time_without_a_sequence_length_says_so(tmp_path: Path) -> None:
    path = table(tmp_path / "sweep.md", [_row(2, 20.0)])
    path.write_text(path.read_text().replace(", SEQ_LEN=2048", ""))
    done = quick(tmp_path, "predict", "sweep.md")
    assert done.code == 2 and "sequence length" in done.err, done.err
