"""Configurations that ran out of memory as measured, or surely would."""

from __future__ import annotations

import json
from pathlib import Path

from tests.deciding import ask, table
from tests.program import quick

SWEEP = "2 | {size} | {dp} | {tp} | 1 | {mbs} | 512 | {mem} | {time} | | {note}"


def _row(
    mbs: int, mem: str = "20GB", tp: int = 1, size: str = "1.3B", note: str = "", time: float = 20.0
) -> str:
    time_text = "x" if mem == "OOM" else f"{time:.2f}"
    return SWEEP.format(size=size, dp=16 // tp, tp=tp, mbs=mbs, mem=mem, time=time_text, note=note)


def test_a_measured_failure_is_said_first_and_never_proposed(tmp_path: Path) -> None:
    """It was measured like any other run; the day of it does not matter."""
    rows = [*(_row(mbs, f"{18 + mbs}GB", time=24 - mbs, note="02-20") for mbs in (1, 2, 4)),
            _row(8, "OOM", note="02-25")]  # fmt: skip
    table(tmp_path / "sweep.md", rows)
    one = ask(tmp_path, "predict", "sweep.md", "--mbs", "8", "--tp", "1", "--format", "md")
    assert one.out.startswith("This configuration ran out of memory as measured (sweep:11)."), (
        one.out
    )
    assert "but it ran out of memory" in one.out and "99%" not in one.out.split("| ---")[0]
    other = ask(tmp_path, "predict", "sweep.md", "--mbs", "8", "--tp", "2", "--format", "md")
    assert "as measured" not in other.out, other.out
    every = ask(tmp_path, "predict", "sweep.md", "--all", "--format", "json")
    [failed] = [row for row in json.loads(every.out)
                if (row["tp"], row["pp"], row["mbs"]) == (1, 1, 8)]  # fmt: skip
    assert failed["left_out"] == "ran out of memory as measured" and failed["rank"] is None
    plan = ask(tmp_path, "plan", "sweep.md", "--next", "40", "--format", "json")
    found = {(row["tp"], row["pp"], row["mbs"]) for row in json.loads(plan.out)
             if not row["left_out"]}  # fmt: skip
    assert found and (1, 1, 8) not in found


def test_a_model_that_only_failed_is_answered_from_others(tmp_path: Path) -> None:
    rows = [_row(mbs, f"{18 + mbs}GB") for mbs in (1, 2, 4)]
    table(tmp_path / "sweep.md", [*rows, _row(4, "OOM", size="2.6B")])
    asked = ("predict", "sweep.md", "--model", "2.6B", "--format", "md")
    done = quick(tmp_path, *asked, "--tp", "1", "--mbs", "2")
    assert done.out.startswith("Every run of 2.6B ran out of memory as measured (sweep:11)."), (
        done.text
    )
    assert "Predicted: 2.6B" in done.out
    same = quick(tmp_path, *asked, "--tp", "1", "--mbs", "4")
    assert same.out.startswith("This configuration ran out of memory as measured (sweep:11)."), (
        same.text
    )
    plan = quick(tmp_path, "plan", "sweep.md", "--model", "2.6B", "--format", "json")
    assert plan.code == 0 and (1, 1, 4) not in {
        (row["tp"], row["pp"], row["mbs"]) for row in json.loads(plan.out) if not row["left_out"]
    }


def test_states_larger_than_the_device_need_no_printed_memory(tmp_path: Path) -> None:
    """16 bytes of 6.7B parameters are 107 GB: without ZeRO no A100 holds them."""
    rows = [_row(mbs, "", tp=8, size="6.7B", time=60.0 - mbs) for mbs in (1, 2)]
    table(tmp_path / "sweep.md", rows, "ZeRO stage 0")
    asked = ("predict", "sweep.md", "--zero-stage", "0")
    one = quick(tmp_path, *asked, "--tp", "1", "--mbs", "1", "--format", "md")
    assert one.out.startswith("This configuration runs out of memory with > 99% probability."), (
        one.text
    )
    assert "alone take 107 GB; by arithmetic with usual overheads, as fewer than three" in one.out
    every = json.loads(quick(tmp_path, *asked, "--all", "--format", "json").out)
    left = {(row["tp"], row["pp"]) for row in every if row["left_out"]}
    kept = {(row["tp"], row["pp"]) for row in every if not row["left_out"]}
    assert (1, 1) in left - kept and (8, 1) in kept
    for row in every:
        if row["basis"] == "predicted" and not row["left_out"]:
            assert row["memory_gb_low"] < row["memory_gb_predicted"] <= row["memory_gb_device"]


def test_activations_count_as_recompute_is_assumed(tmp_path: Path) -> None:
    rows = [_row(mbs, "", tp=8, size="6.7B", time=60.0 - mbs) for mbs in (1, 2)]
    table(tmp_path / "sweep.md", rows)
    asked = ("predict", "sweep.md", "--mbs", "4", "--format", "json", "--recompute")
    needs = {word: json.loads(quick(tmp_path, *asked, word).out)[0]["memory_gb_predicted"]
             for word in ("none", "full")}  # fmt: skip
    [silent] = json.loads(quick(tmp_path, *asked[:-1]).out)
    assert silent["memory_gb_predicted"] == needs["none"] > needs["full"]


def test_a_source_that_keeps_states_elsewhere_is_believed(tmp_path: Path) -> None:
    """It ran, so that something holds the states: no arithmetic forbids it."""
    rows = [_row(mbs, "", size="6.7B", time=60.0 - mbs) for mbs in (1, 2)]
    table(tmp_path / "sweep.md", rows, "ZeRO stage 0")
    done = quick(tmp_path, "predict", "sweep.md", "--mbs", "4", "--format", "json")
    [row] = json.loads(done.out)
    assert row["out_of_memory"] < 1.0, row
