"""What a sceptic asks of predictions and plans from few runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.foresight.memory import most_room, usual_room
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


def test_one_run_of_an_unknown_device_tells_little_of_another_split(tmp_path: Path) -> None:
    path = table(tmp_path / "sweep.md", [_row(tp=2, mbs=1, time=20.1)])
    path.write_text(path.read_text().replace("A100 80GB", "Zorblax"))
    done = quick(tmp_path, "predict", "sweep.md", "--tp", "4", "--format", "json")
    [row] = json.loads(done.out)
    assert row["step_time_high"] / row["step_time_low"] > 1.7


def test_a_sceptic_is_told_what_no_run_tells(tmp_path: Path) -> None:
    table(tmp_path / "sweep.md", [_row(mbs=2, time=20.0), _row(mbs=2, time=21.0)])
    asked = ("predict", "sweep.md", "--format", "md")
    done = quick(tmp_path, *asked, "--mbs", "2")
    assert (
        "Measured: 20.00 s/it (sweep:8), 21.00 s/it (sweep:9). No other run is left" in done.out
    ), done.out
    assert "No run could be held out" in done.out
    far = quick(tmp_path, *asked, "--nodes", "10")
    assert "This is 5.0 times beyond" in far.out, far.out


def test_an_interval_holds_the_jobs_that_were_measured(tmp_path: Path) -> None:
    rows = [_row(mbs=2, time=time) for time in (20.0, 21.0, 27.0)]
    table(tmp_path / "sweep.md", [*rows, *(_row(mbs, 20.0) for mbs in (1, 4, 8))])
    done = quick(tmp_path, "predict", "sweep.md", "--mbs", "2", "--format", "json")
    [row] = json.loads(done.out)
    assert row["step_time_low"] <= 20.0 and row["step_time_high"] >= 27.0, row


def test_settings_that_were_not_asked_for_are_another_configuration(tmp_path: Path) -> None:
    head = "SEQ_LEN=2048, ZeRO stage 1"
    table(tmp_path / "sweep.md", [_row(mbs, 20.0 + mbs) for mbs in (1, 2, 4)], head)
    asked = ("predict", "sweep.md", "--mbs", "2", "--format", "md")
    done = quick(tmp_path, *asked)
    assert "ZeRO 1" in done.out and "Measured: 22.00 s/it" in done.out, done.text
    other = quick(tmp_path, *asked, "--zero-stage", "3")
    assert "ZeRO 3" in other.out and "Measured: " not in other.out, other.text
    told(quick(tmp_path, *asked, "--dtype", "int3"), 2, "--dtype 'int3' is unknown")


def test_days_are_not_pooled(tmp_path: Path) -> None:
    """After a repair all is faster: a prediction starts from the day of its run."""
    times = {"02-20": {1: 24.0, 2: 20.0, 4: 19.0}, "02-25": {1: 18.0, 2: 15.0, 4: 14.5}}
    rows = [f"{_row(mbs, time)}{day}" for day, of in times.items() for mbs, time in of.items()]
    table(tmp_path / "sweep.md", rows)
    done = quick(tmp_path, "predict", "sweep.md", "--mbs", "2", "--format", "json")
    [row] = json.loads(done.out)
    # From the other runs of its day, without its own measurement.
    assert row["step_time_s"] == pytest.approx(15.0, rel=0.05) and row["step_time_high"] < 20.0
    said = quick(tmp_path, "predict", "sweep.md", "--mbs", "2", "--format", "md").out
    assert "Measured: 15.00 s/it (sweep:12). The prediction does not use it." in said, said


def test_zero_that_no_source_states_is_said(tmp_path: Path) -> None:
    rows = [_row(mbs, 20.0 + mbs).replace("20GB", "30GB") for mbs in (1, 2, 4)]
    table(tmp_path / "sweep.md", rows)  # room for all 16 bytes of each parameter
    asked = ("predict", "sweep.md", "--mbs", "2", "--format")
    [one] = json.loads(quick(tmp_path, *asked, "json").out)
    [same] = json.loads(quick(tmp_path, *asked, "json", "--zero-stage", "0").out)
    assert one["step_time_s"] == same["step_time_s"]
    assert "ZeRO 0, as sweep" in quick(tmp_path, *asked, "md").out


def test_zero_that_memory_proves_is_inferred(tmp_path: Path) -> None:
    """16 bytes of 2.6B parameters are 42 GB: a run in 20 GB shares them between replicas."""
    rows = [_row(mbs, 40.0 + mbs).replace("1.3B", "2.6B") for mbs in (1, 2, 4)]
    table(tmp_path / "sweep.md", rows)
    said = quick(tmp_path, "predict", "sweep.md", "--mbs", "8", "--format", "md").out
    assert "ZeRO 1, which sweep" in said and "exceed their memory with a lower stage" in said, said
    other = quick(tmp_path, "predict", "sweep.md", "--mbs", "2", "--zero-stage", "0").out
    assert "ZeRO stage 0, which no run like it states" in other, other


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


_RATES = "# Llama on H100\n\nLlama 7B, bf16, sequence length 4096, 32 layers, hidden size 4096.\n\n"
_HEAD = "| GPUs | Device | Nodes | TP | PP | MBS | GBS | tokens/s/GPU |"


def _rates(path: Path, *sizes: int, mfu: bool = False) -> None:
    rows = [f"| {n} | H100 | {n // 8} | 1 | 1 | 1 | {max(n, 128)} | {9000 - n} |" for n in sizes]
    more = [" MFU |", "---|", *[" 40% |"] * len(rows)] if mfu else [""] * (len(rows) + 2)
    lines = [_HEAD, "|" + "---|" * 8, *rows]
    path.write_text(_RATES + "".join(f"{a}{b}\n" for a, b in zip(lines, more, strict=True)))


def test_a_printed_mfu_hides_no_peak(tmp_path: Path) -> None:
    """The page shows no peak beside it, as its program chose one: the device has it."""
    _rates(tmp_path / "a.md", 8, 16, 32, mfu=True)
    done = quick(tmp_path, "predict", "a.md", "--nodes", "8", "--format", "md")
    assert "model TFLOP/s a device, MFU " in done.out, done.text
    assert "Terms of a token's time" in done.out and "no peak of the device" not in done.out


def test_a_measurement_far_from_all_others_is_predicted(tmp_path: Path) -> None:
    """Without it no run is near enough: then the prediction is fitted to it, and says so."""
    _rates(tmp_path / "a.md", 8, 16, 512)
    done = quick(tmp_path, "predict", "a.md", "--nodes", "64", "--gbs", "512", "--format", "md")
    assert done.code == 0 and "the prediction is fitted to it" in done.out, done.text


def test_a_bare_name_of_a_device_bounds_its_memory(tmp_path: Path) -> None:
    for name, gib in (("A100 80G", 80), ("A100 SXM4 40G", 40), ("H100", 80), ("H100 400G IB", 80)):
        assert usual_room(name) == pytest.approx(gib * 1.073741824), name
    assert usual_room("V100") is None and most_room("V100") == pytest.approx(32 * 1.073741824)
    path = table(tmp_path / "sweep.md", [_row(mbs, 20.0) for mbs in (1, 2, 4, 8)])
    path.write_text(path.read_text().replace("A100 80GB", "H100"))
    done = quick(tmp_path, "predict", "sweep.md", "--mbs", "16", "--format", "md")
    first, hours, *_ = (line for line in done.out.splitlines() if " per 100B tokens" in line)
    assert first.startswith("Predicted: ") and " days per 100B tokens, " in first
    assert " to " in hours.split(" device-hours per 100B tokens.")[0][-12:]
    assert "Assumed: " in done.out and "85.9 GB a device, the usual memory of H100" in done.out


def test_a_run_outside_of_the_query_is_not_handed_back(tmp_path: Path) -> None:
    rows = [_row(mbs, time) for mbs, time in ((1, 24.0), (2, 20.0), (4, 18.0), (8, 33.0))]
    table(tmp_path / "sweep.md", rows)
    chosen = ("--where", "mbs < 8", "--mbs", "8", "--format", "md")
    done = quick(tmp_path, "predict", "sweep.md", *chosen)
    assert "Measured: 33.00 s/it (sweep:11). The prediction does not use it." in done.out, done.out


def test_the_first_of_all_splits_says_that_it_may_run_out_of_memory(tmp_path: Path) -> None:
    sizes = ((1, 22, 60.0), (2, 32, 36.0), (4, 46, 24.0))
    cells = "2 | 1.3B | 16 | 1 | 1 | {} | 512 | {}GB | {:.2f} | | "
    table(tmp_path / "sweep.md", [cells.format(*each) for each in sizes])
    chosen = ("--tp", "1", "--pp", "1", "--all", "--format")
    done = quick(tmp_path, "predict", "sweep.md", *chosen, "md")
    [first, *_] = json.loads(quick(tmp_path, "predict", "sweep.md", *chosen, "json").out)
    assert first["basis"] == "predicted" and 0.05 < first["out_of_memory"] <= 0.5
    assert f"out of memory with {first['out_of_memory']:.0%} probability." in done.out, done.out


def test_a_size_that_was_never_measured_is_not_said_to_be(tmp_path: Path) -> None:
    for device in ("A100 80GB", "H100 80GB"):
        path = table(tmp_path / f"{device[:4]}.md", [_row(mbs, 20.0) for mbs in (1, 2, 4)])
        path.write_text(path.read_text().replace("A100 80GB", device))
    known = quick(tmp_path, "predict", ".", "--model", "1.3B", "--mbs", "8", "--format", "md")
    assert "This model was also measured on" in known.out, known.out
    new = quick(tmp_path, "predict", ".", "--model", "2B", "--format", "md")
    assert "Predicted: 2B" in new.out and "also measured on" not in new.out, new.out


PRINTED = "| Size | GPUs | TP | PP | GBS | TFLOP/s per GPU |\n| -- | -: | -: | -: | -: | -: |\n"


def test_printed_flops_stand_for_a_speed(tmp_path: Path) -> None:
    """Many papers print nothing else."""
    splits = ((32, 1, 1, 137), (64, 2, 1, 138), (128, 4, 1, 142), (64, 4, 1, 135))
    rows = "".join(f"| 7.5B | {n} | {tp} | {pp} | 512 | {of} |\n" for n, tp, pp, of in splits)
    shape = "--num-layers 36 --hidden-size 4096 --num-attention-heads 32"
    head = f"# Sweep\n\nA100 80GB, bf16, SEQ_LEN=2048, {shape}\n\n{PRINTED}"
    (tmp_path / "sweep.md").write_text(head + rows)
    asked = ("predict", "sweep.md", "--nodes", "8", "--tp", "2")
    [row] = json.loads(quick(tmp_path, *asked, "--format", "json").out)
    counted = 6 * 7.5e9 + 12 * 36 * 4096 * 2048
    assert row["tokens_per_s_per_device"] == pytest.approx(138e12 / counted, rel=0.1)
    told_so = quick(tmp_path, *asked, "--format", "md").out
    assert "from the TFLOP/s that it prints" in told_so, told_so


def test_a_model_of_another_document_starts_from_the_nearest_size(tmp_path: Path) -> None:
    table(tmp_path / "sweep.md", [_row(mbs=2, time=20.0), _row(mbs=4, time=21.0)])
    other = table(tmp_path / "other.md", ["2 | 2.7B | 16 | 1 | 1 | 2 | 512 | 20GB | 41.00 | | "])
    asked = ("predict", "sweep.md", str(other), "--model", "2.7B", "--document", "sweep.md")
    done = quick(tmp_path, *asked, "--format", "md")
    assert done.code == 0 and "started from sweep:" in done.out, done.text


def test_flops_that_contradict_the_time_of_a_run_train_nothing(tmp_path: Path) -> None:
    """A batch of a device that reads as that of the job makes its time four times too slow."""
    rows = [_row(mbs=2, time=20.0), _row(mbs=4, time=21.0), _row(mbs=8, time=80.0)]
    wrong = rows[2].replace("80.00 | |", "80.00 | 160 |")
    table(tmp_path / "sweep.md", [*rows[:2], wrong])
    done = quick(tmp_path, "predict", "sweep.md", "--mbs", "1", "--format", "md")
    assert "and 2 in all" in done.out, done.text


def test_what_has_no_room_comes_with_a_split_that_has(tmp_path: Path) -> None:
    table(tmp_path / "sweep.md", [_row(mbs=mbs, time=20.0 + mbs) for mbs in (1, 2, 4)])
    asked = ("predict", "sweep.md", "--model", "7B", "--zero-stage", "0")
    done = quick(tmp_path, *asked, "--format", "md")
    assert "runs out of memory with" in done.out and "With room on these devices:" in done.out
