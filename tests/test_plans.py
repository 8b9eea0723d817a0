"""Ramp-up, goodput, sizes that nobody measured, and neighbours of the best."""

from __future__ import annotations

import tomllib
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bench.decide.rampup import RampUp, spent
from bench.launch.launcher import scheduler_hint
from tests.deciding import Stored, answer, table
from tests.program import quick, told

SWEEP = "002_chronicles-prequel.md"
JOB = "2 | 1.3B | {dp} | {tp} | {pp} | {mbs} | 512 | {mem} | {time} | | "


def job(dp: int, tp: int, pp: int, mbs: int, time: float, mem: str = "20GB") -> str:
    return JOB.format(dp=dp, tp=tp, pp=pp, mbs=mbs, time=time, mem=mem)


# Ramp-up.


def test_the_steps_of_a_ramp_up() -> None:
    row: dict[str, Any] = {
        "mbs": 1, "dp": 8, "pp": 1, "vpp": None, "gbs": 512, "step_time_s": 16.0,
    }  # fmt: skip
    steps, seconds = spent(row, RampUp(32, 32, 480_000))
    stages = list(range(32, 512, 32))
    assert steps == pytest.approx(sum(480_000 / len(stages) / batch for batch in stages))
    assert seconds == pytest.approx(480_000 / 512 * 16.0), (
        "without a bubble a sample costs the same"
    )
    _, waiting = spent({**row, "pp": 4, "dp": 2}, RampUp(32, 32, 480_000))
    assert waiting > seconds, "small batches fill a pipeline badly"


def test_a_ramp_up_keeps_what_its_batches_divide_by(stored: Stored, folder: Path) -> None:
    ramp = ("--ramp-up", "32,32,1000000", "--tokens", "300B")
    named = stored("004_tr3m-1B3.md")
    found = answer(folder, "days", *named, *ramp)
    kept = [row for row in found if not row["left_out"]]
    assert all(32 % (row["mbs"] * row["dp"]) == 0 for row in kept)
    [broken] = [row for row in found if "no multiple" in (row["left_out"] or "")]
    assert (broken["mbs"], broken["dp"]) == (8, 8)
    plain = answer(folder, "days", *named, "--tokens", "300B")
    assert kept[0]["days"] >= plain[0]["days"] and kept[0]["ramp_up_days"] > 0
    said = quick(folder, "days", *named, *ramp).out
    assert "32: DP 32 (32 devices, 8 nodes); 64: DP 64 (64 devices, 16 nodes); 128" in said
    told(
        quick(folder, "days", *named, "--ramp-up", "32,0,5"), 2, "invalid ramp-up", "32,32,1953125"
    )


# Goodput.


def timed_log(data: Path, path: Path, pause_s: int) -> None:
    """A log of 40 steps of 20 s, with a pause after the half of them."""
    lines = (data / "logs" / "megatron_lm_dp2.log").read_text().splitlines()
    first = next(at for at, line in enumerate(lines) if "iteration        1/" in line)
    line, made = lines[first], lines[:first]
    clock = datetime(2026, 11, 20, 9, 8, 30)
    for step in range(1, 41):
        clock += timedelta(seconds=20 + (pause_s if step == 21 else 0))
        text = line.replace("2026-11-20 09:08:24.442096", f"{clock:%Y-%m-%d %H:%M:%S.%f}")
        text = text.replace("iteration        1/       5", f"iteration {step:8}/      40")
        text = text.replace("consumed samples:            8", f"consumed samples: {step * 8:12}")
        made.append(text.replace("197.0", "20000.0"))
    path.write_text("\n".join(made) + "\n")


def test_a_clock_in_the_log_tells_the_goodput(data: Path, folder: Path) -> None:
    timed_log(data, folder / "a.log", 400)
    [row] = answer(folder, "days", "a.log", "--tokens", "1B")
    assert row["goodput"] == pytest.approx(800 / 1206, abs=0.01)
    assert row["goodput_from"].startswith("measured in 0.34 h")
    assert row["days"] == pytest.approx(1e9 / (8 * 64 / 20) / 86_400 / row["goodput"])
    [asked] = answer(folder, "days", "a.log", "--tokens", "1B", "--goodput", "0.9")
    assert (asked["goodput"], asked["goodput_from"]) == (0.9, "--goodput")


def ramping_log(data: Path, path: Path, small: int, steps: int = 60) -> None:
    """A log of so many steps at batch 4 of 26 s, the others at batch 8 of 50 s; saves after 40."""
    lines = (data / "logs" / "megatron_lm_dp2.log").read_text().splitlines()
    first = next(at for at, line in enumerate(lines) if "iteration        1/" in line)
    line, made = lines[first], lines[:first]
    clock = datetime(2026, 11, 20, 9, 8, 30)
    for step in range(1, steps + 1):
        batch, seconds = (4, 26) if step <= small else (8, 50)
        clock += timedelta(seconds=seconds)
        text = line.replace("2026-11-20 09:08:24.442096", f"{clock:%Y-%m-%d %H:%M:%S.%f}")
        text = text.replace("iteration        1/       5", f"iteration {step:8}/      {steps}")
        text = text.replace("global batch size:     8", f"global batch size: {batch:5}")
        made.append(text.replace("197.0", f"{seconds * 1000 + step % 3}.0"))
        if step == 40:
            made.append("saving checkpoint at iteration       40 to /ckpt in torch format")
            made.append("  successfully saved checkpoint from iteration       40 to /ckpt")
    path.write_text("\n".join(made) + "\n")


@pytest.mark.parametrize(("small", "batch", "seconds"), [(45, 4, 26.0), (15, 8, 50.0)])
def test_a_ramp_up_is_measured_at_one_batch(
    data: Path, folder: Path, small: int, batch: int, seconds: float
) -> None:
    """The time, the batch, the rate and their ranges are of the same intervals."""
    ramping_log(data, folder / "a.log", small)
    [row] = answer(folder, "days", "a.log", "--tokens", "1B")
    assert (row["gbs"], row["tokens_per_step"]) == (batch, batch * 64)
    assert row["step_time_s"] == pytest.approx(seconds, abs=0.01)
    assert row["tokens_per_s"] == pytest.approx(batch * 64 / seconds, rel=1e-3)
    assert row["tokens_per_s_low"] == pytest.approx(row["tokens_per_s"], rel=1e-3)
    assert row["tokens_per_s_high"] == pytest.approx(row["tokens_per_s"], rel=1e-3)
    assert row["goodput"] == pytest.approx(1, abs=0.01), "each step at the time of its batch"
    assert "(1 save)" in row["goodput_from"]
    said = quick(folder, "explain", f"{row['where']}.tokens_per_s", "a.log").out
    assert f"gbs = {batch} sequences" in said and "of several batch sizes" in said
    ramping_log(data, folder / "b.log", 0)
    [pair] = answer(folder, "compare", "a.log", "b.log")
    assert pair["speedup"] == pytest.approx(8 / 50 / (batch / seconds), rel=1e-3)


def test_a_short_log_tells_none(data: Path, folder: Path) -> None:
    [row] = answer(folder, "days", str(data / "logs" / "megatron_lm_dp2.log"))
    assert (row["goodput"], row["goodput_from"]) == (1, "assumed")


# Sizes that nobody measured.


def test_only_fits_tell_of_sizes_that_nobody_measured(stored: Stored, folder: Path) -> None:
    named = stored("003_check_tcmalloc.md")
    told(quick(folder, "days", *named, "--nodes", "128"), 2, "measured: 1, 2, 4", "--extrapolate")
    told(quick(folder, "days", *named, "--extrapolate"), 2, "--nodes 128")
    fast, slow = answer(folder, "days", *named, "--nodes", "128", "--extrapolate")
    assert fast["range_from"] == "Amdahl fit of strong scaling, 7 sizes, 1 to 64 nodes"
    assert slow["range_from"] == "Amdahl fit of strong scaling, 6 sizes, 2 to 64 nodes"
    for row in (fast, slow):
        assert (row["nodes"], row["dp"], row["world_size"]) == (128, 128, 128)
        assert row["days_low"] < row["days"] < row["days_high"]
    said = quick(folder, "days", *named, "--nodes", "128", "--extrapolate").out
    assert "the 95% intervals of fits do not overlap" in said and "jobs vary" not in said
    [measured, _] = answer(folder, "days", *named, "--nodes", "64", "--extrapolate")
    assert measured["step_time_s"] == 17.6, "what was measured is not fitted"
    why = "GBS 1024 is no multiple"
    told(quick(folder, "days", *named, "--nodes", "100", "--extrapolate"), 2, why)


# Neighbours.


def test_neighbours_fulfil_all_arithmetic_and_were_never_run(stored: Stored, folder: Path) -> None:
    asked = ("best", *stored(SWEEP), "--model", "181B", "--neighbours")
    found = answer(folder, *asked)
    ran = {
        (row["dp"], row["tp"], row["pp"], row["mbs"])
        for row in answer(folder, *asked[:-1])
        if row["gbs"] == 2048
    }
    assert found
    for row in found:
        sizes = row["dp"], row["tp"], row["pp"], row["mbs"]
        assert row["dp"] * row["tp"] * row["pp"] == row["world_size"] == 384
        assert sizes not in ran
        if not row["left_out"]:
            assert row["gbs"] % (row["mbs"] * row["dp"]) == 0 and row["heads"] % row["tp"] == 0
            assert (row["heads"] // row["tp"] * row["mbs"]) % 4 == 0 and row["tp"] <= 8
            assert not row["layers"] % row["pp"] or not (row["layers"] + 2) % row["pp"]
            assert row["memory_gb_predicted"] < 80
    assert any("GB predicted, 80 GB there" in (row["left_out"] or "") for row in found)


def test_neighbours_keep_the_constraint_and_are_a_plan(stored: Stored, folder: Path) -> None:
    where = ("--where", "mbs < 4 and size = '181B' and pp < 24")
    asked = ("best", *stored(SWEEP), "--neighbours", *where)
    kept = [row for row in answer(folder, *asked) if not row["left_out"]]
    assert kept and all(row["mbs"] < 4 and row["pp"] < 24 for row in kept)
    assert quick(folder, *asked, "-o", "plan.toml").code == 0
    plan = tomllib.loads((folder / "plan.toml").read_text())
    assert [one["dp"] for one in plan["matrix"]] == [row["dp"] for row in kept]
    assert plan["matrix"][0]["hidden"] == 14336 and plan["matrix"][0]["gbs"] == 2048


def test_a_neighbour_that_failed_is_not_planned_again(folder: Path) -> None:
    rows = [job(16, 1, 1, 2, 10.0), job(16, 1, 1, 4, 0, "OOM").replace("| 0 |", "|  |")]
    table(folder / "a.md", rows)
    found = answer(folder, "best", "a.md", "--neighbours")
    assert (16, 1, 1, 4) not in {(r["dp"], r["tp"], r["pp"], r["mbs"]) for r in found}
    assert (16, 1, 1, 1) in {(r["dp"], r["tp"], r["pp"], r["mbs"]) for r in found}


SHAPE = "24 layers, hidden size 2048, 16 heads, vocab size 50304"


def test_memory_that_is_not_calibrated_says_so(folder: Path) -> None:
    table(folder / "a.md", [job(8, 2, 1, 2, 10.0), job(16, 1, 1, 2, 12.0)], SHAPE)
    said = quick(folder, "best", "a.md", "--neighbours").out
    assert "not calibrated: 2 rows print memory here, and 5 are needed" in said
    assert "The limit is 80 GB of the device" in said and "no source states it" not in said
    table(folder / "b.md", [job(8, 2, 1, 2, 10.0)])
    said = quick(folder, "best", "b.md", "--neighbours").out
    assert "no source states it: heads, layers, hidden." in said
    assert "Memory is not predicted: without layers, hidden." in said


def test_a_plan_of_neighbours_keeps_the_vocabulary_and_asks_for_a_scheduler(folder: Path) -> None:
    table(folder / "a.md", [job(8, 2, 1, 2, 10.0), job(16, 1, 1, 2, 12.0)], SHAPE)
    assert quick(folder, "best", "a.md", "--neighbours", "-o", "plan.toml").code == 0
    text = (folder / "plan.toml").read_text()
    one = tomllib.loads(text)["matrix"][0]
    assert (one["vocab"], one["nodes"]) == (50304, 2) and 'launcher = "slurm"' in text
    said = quick(folder, "launch", "plan.toml", "--dry-run").err
    assert f"2 nodes; the local launcher has 1. Set {scheduler_hint()}" in said
    (folder / "plan.toml").write_text(f'launcher = "slurm"\n{text}')
    assert "#SBATCH --nodes=2" in quick(folder, "launch", "plan.toml", "--dry-run").out


def test_neighbours_keep_the_rules_of_interleaved_stages_and_of_experts(folder: Path) -> None:
    head = "| Nodes | DP | TP | PP | EP | VPP | MBS | GBS | Sec/it |"
    rule = "| --: | --: | --: | --: | --: | --: | --: | --: | --: |"
    row = "| 16 | 32 | 1 | 4 | 8 | 4 | 1 | 128 | 4.1 |"
    above = "# 7B on 16 nodes of A100-80GB (8 GPUs each), seq len 4096"
    shape = "32 layers, hidden 4096, 32 heads"
    (folder / "a.md").write_text(f"{above}\n\n{shape}\n\n{head}\n{rule}\n{row}\n")
    found = answer(folder, "best", "a.md", "--neighbours")
    kept = [one for one in found if not one["left_out"]]
    assert kept
    for one in kept:
        assert one["pp"] > 1 and one["dp"] % 8 == 0 and 32 % (one["pp"] * 4) == 0
        assert one["gbs"] // (one["mbs"] * one["dp"]) % one["pp"] == 0
    why = {one["left_out"] for one in found}
    assert "2 micro-batches do not divide by PP 4, as interleaved stages need" in why
    quick(folder, "best", "a.md", "--neighbours", "-o", "plan.toml")
    assert (
        "# A plan cannot express ep=8, vpp=4: its runs omit" in (folder / "plan.toml").read_text()
    )


def test_a_plan_keeps_the_number_format_and_names_what_it_cannot_say(folder: Path) -> None:
    text = table(folder / "a.md", [job(8, 2, 1, 2, 10.0)], f"{SHAPE}, bf16").read_text()
    text = text.replace("| Notes |", "| Bucket MB |").replace(" 10.0 | | ", " 10.0 | | 25")
    (folder / "a.md").write_text(text)
    assert quick(folder, "best", "a.md", "--neighbours", "-o", "plan.toml").code == 0
    text = (folder / "plan.toml").read_text()
    assert tomllib.loads(text)["matrix"][0]["dtype"] == "bf16"
    assert "# A plan cannot express Bucket MB=25: its runs omit it." in text


def test_neighbours_without_a_data_parallel_size(folder: Path) -> None:
    """What TP and PP leave of the devices it is; without devices nothing is told."""
    head = "| {} | TP | PP | MBS | GBS | Sec/it |\n| --: | --: | --: | --: | --: | --: |\n"
    above = f"# Sweep\n\nA100 80GB, SEQ_LEN=2048, {SHAPE}\n\n"
    (folder / "a.md").write_text(f"{above}{head.format('GPUs')}| 16 | 2 | 1 | 2 | 512 | 10.0 |\n")
    found = answer(folder, "best", "a.md", "--neighbours")
    assert (16, 1, 1, 2) in {(r["dp"], r["tp"], r["pp"], r["mbs"]) for r in found}
    (folder / "b.md").write_text(f"{above}{head.format('Nodes')}| 2 | 4 | 1 | 2 | 512 | 10.0 |\n")
    said = quick(folder, "best", "b.md", "--neighbours").out
    assert "unknown: no source states DP." in said and "never run" not in said


def test_neighbours_divide_a_batch_that_is_multiplied_out(folder: Path) -> None:
    head = "| GPUs | TP | PP | DP | MBS | GA | samples/s |\n|---|---|---|---|---|---|---|\n"
    above = f"# Sweep\n\nA100 80GB, SEQ_LEN=2048, {SHAPE}\n\n{head}"
    (folder / "a.md").write_text(f"{above}| 384 | 2 | 4 | 48 | 4 | 3 | 270.1 |\n")
    found = answer(folder, "best", "a.md", "--neighbours")
    kept = [one for one in found if not one["left_out"]]
    assert kept and all(one["gbs"] == 576 for one in kept)
    assert all(576 % (one["mbs"] * one["dp"]) == 0 for one in kept)
    assert "GBS 576 % (MBS 8 x DP 96) > 0" in {one["left_out"] for one in found}
    (folder / "b.md").write_text(f"{above}| 384 | 2 | 4 | 48 | 4 | - | 270.1 |\n")
    said = quick(folder, "best", "b.md", "--neighbours").out
    assert "Not checked, as no source states it: global batch size." in said
