"""`bench best` and `bench days`: the documents' own questions, and where they mislead."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from statistics import median

import pytest

from bench.decide.rate_ranges import rates
from bench.decide.spreads import Spread
from tests.deciding import Stored, answer, jobs, lines, table
from tests.program import quick, told

CONSTRAINTS = "dp % 4 = 0 and gbs % 32 = 0"
SWEEP = "002_chronicles-prequel.md"


@pytest.mark.parametrize("number", [4, 127, 131])
def test_the_authors_choice_of_a_topology(stored: Stored, folder: Path, number: int) -> None:
    asked = ("best", *stored(), "--table", f"{SWEEP}:{number}", "--where", CONSTRAINTS)
    found = answer(folder, *asked)
    assert [row["step_time_s"] for row in found] == [172.40, 183.64, 197.15, 221.21]
    assert [row["rank_normalised"] for row in found] == [2, 1, 3, 4]
    said = quick(folder, *asked).out
    assert "183.64 s/it (002:131) leads when normalised" in said
    assert "By the size labels alone 172.40 s/it would" in said


def test_batch_sizes_compare_by_tokens(stored: Stored, folder: Path) -> None:
    for command in ("best", "days"):
        found = answer(folder, command, *stored(SWEEP), "--model", "181B")
        times = [(row["step_time_s"], row["gbs"]) for row in found]
        assert times[0] == (110.48, 2048) and times.index((92.75, 1568)) > 5


def test_left_out_rows_come_last_with_their_reason(stored: Stored, folder: Path) -> None:
    found = answer(folder, "best", *stored(SWEEP), "--model", "181B")
    left = [row for row in found if row["left_out"]]
    assert found[-len(left) :] == left and all(row["rank"] is None for row in left)
    reasons = {row["step_time_s"]: row["left_out"] for row in left}
    assert reasons[None] in ("oom", "fail") and "R6c" in reasons[120.29]
    assert "R6b" in reasons[113.54]
    assert all(row["rank"] == place for place, row in enumerate(found[: -len(left)], 1))


def test_a_table_of_copies_is_ranked_by_itself(stored: Stored, folder: Path) -> None:
    found = answer(folder, "best", *stored(), "--table", f"{SWEEP}:5")
    assert lines(found) == [149, 146, 148, 147]


REPEATED = (
    "2 | 1.3B | 16 | 1 | 1 | 1 | 512 | 20GB | 10.00 | | ",
    "2 | 1.3B | 16 | 1 | 1 | 1 | 512 | 20GB | 10.20 | | ",
    "2 | 1.3B | 8 | 2 | 1 | 1 | 512 | 20GB | 10.25 | | ",
    "2 | 1.3B | 8 | 1 | 2 | 1 | 512 | 20GB | 12.00 | | ",
)


def test_jobs_of_one_configuration_are_one_row_and_their_spread_ties(folder: Path) -> None:
    table(folder / "a.md", REPEATED)
    first, second, third = answer(folder, "best", "a.md")
    assert first["jobs"] == 2 and first["step_time_s"] == pytest.approx(10.10)
    assert second["ties_with"] == 1
    # One pair of repeats says little of the spread: Student's t of one degree of freedom.
    limit = math.expm1(12.706 * math.log(10.2 / 10.0) / math.sqrt(2) * math.sqrt(1 / 2 + 1))
    assert third["step_time_s"] / 10.10 - 1 < limit and third["ties_with"] == 1
    said = quick(folder, "best", "a.md").out
    assert "a:8 ties with a:10" in said and "add repeats to resolve smaller ones" in said
    assert f"differences under {100 * limit:.1f}%" in said


def test_the_front_of_devices_against_days(folder: Path) -> None:
    rows = (
        "1 | 1.3B | 8 | 1 | 1 | 1 | 512 | 20GB | 20.0 | | ",
        "2 | 1.3B | 16 | 1 | 1 | 1 | 512 | 20GB | 11.0 | | ",
        "4 | 1.3B | 32 | 1 | 1 | 1 | 512 | 20GB | 12.0 | | ",
    )
    table(folder / "a.md", rows)
    found = answer(folder, "best", "a.md")
    assert [(row["nodes"], row["pareto"]) for row in found] == [(2, True), (4, False), (1, True)]
    cheap = answer(folder, "best", "a.md", "--by", "device_hours")
    assert [row["nodes"] for row in cheap] == [1, 2, 4]


def test_days_name_their_range_and_their_goodput(folder: Path) -> None:
    table(folder / "a.md", REPEATED)
    sure = answer(folder, "days", "a.md", "--tokens", "300B")
    less = answer(folder, "days", "a.md", "--tokens", "300B", "--goodput", "0.9")
    assert sure[0]["days"] == pytest.approx(3e11 / (512 * 2048 / 10.10) / 86_400, rel=1e-3)
    assert [row["range_from"] for row in sure[:2]] == [
        "2 jobs, repeats (±24.3%)", "repeats (±28.6%)",
    ]  # fmt: skip
    assert sure[0]["days_low"] < sure[0]["days"] < sure[0]["days_high"]
    assert less[0]["days"] == pytest.approx(sure[0]["days"] / 0.9)
    assert (sure[0]["goodput_from"], less[0]["goodput_from"]) == ("assumed", "--goodput")
    assert sure[0]["device_hours"] == pytest.approx(sure[0]["days"] * 24 * 16)


def test_so_many_steps_are_those_of_each_row(stored: Stored, folder: Path) -> None:
    named = stored("002_chronicles-prequel.md")
    asked = ("days", *named, "--model", "181B", "--steps", "100000")
    found = [row for row in answer(folder, *asked) if not row["left_out"]]
    for row in found:
        assert row["days"] == pytest.approx(100_000 * row["step_time_s"] / 86_400)
        assert row["budget_tokens"] == 100_000 * row["tokens_per_step"]
        assert row["days_low"] <= row["days"] <= row["days_high"]
        if row["ties_with"]:
            assert row["gbs"] == found[row["ties_with"] - 1]["gbs"], "no equal work"
    assert [row["days"] for row in found] == sorted(row["days"] for row in found)
    [best] = [row for row in found if row["step_time_s"] == 110.48 and row["gbs"] == 2048]
    assert best["days"] == pytest.approx(127.87, abs=0.01)
    said = quick(folder, *asked).out
    assert "Days for 100,000 steps of each row (--steps)" in said
    assert "do different work per step" in said
    told = quick(folder, *asked, "--where", "gbs = 2048").out
    assert "(--steps): 419.4B tokens, 4,194,304 a step." in told
    for row in answer(folder, "best", *asked[1:]):
        assert row["left_out"] or row["days"] == pytest.approx(
            100_000 * row["step_time_s"] / 86_400
        )


def test_steps_and_their_time_need_no_sequence_length(folder: Path) -> None:
    path = table(folder / "a.md", jobs([40.0], 1))
    path.write_text(path.read_text().replace(", SEQ_LEN=2048", ""))
    [row] = answer(folder, "days", "a.md", "--steps", "100_000", "--goodput", "0.5")
    assert row["days"] == pytest.approx(100_000 * 40 / 86_400 / 0.5)
    assert (row["tokens_per_s"], row["budget_tokens"], row["left_out"]) == (None, None, None)
    assert row["days_low"] < row["days"] < row["days_high"]
    [row] = answer(folder, "days", "a.md", "--tokens", "1B")
    assert "no sequence length is stated" in row["left_out"]


def test_steps_of_a_ramp_up_are_of_the_steps(stored: Stored, folder: Path) -> None:
    named = stored("004_tr3m-1B3.md")
    asked = ("days", *named, "--ramp-up", "32,32,1000000", "--steps")
    found = [row for row in answer(folder, *asked, "100_000") if not row["left_out"]]
    for row in found:
        rest = (100_000 - row["ramp_up_steps"]) * row["step_time_s"] / 86_400
        assert row["days"] == pytest.approx(rest + row["ramp_up_days"], rel=1e-4)
    told(quick(folder, *asked, "10"), 2, "the ramp-up is longer than the training", "of 10")


def test_the_range_of_days_holds_a_new_job_as_often_as_it_says() -> None:
    """95% of 20,000 draws of three jobs, their median and a fourth, with a standard error of 0.15%;
    the median of three varies more than their mean."""
    rng, hits = random.Random(1), 0
    for _ in range(20_000):
        rate = math.exp(median(rng.gauss(0, 0.02) for _ in range(3)))
        known = Spread(0.02 * math.sqrt(rng.gammavariate(15, 2) / 30), 30, (), "here")
        row = {
            "tokens_per_s": rate, "tokens_per_s_low": None, "tokens_per_s_high": None,
            "basis": "cell", "jobs": 3, "origin": "row",
        }  # fmt: skip
        low, high, _ = rates(row, known)
        hits += bool(low and high and low <= math.exp(rng.gauss(0, 0.02)) <= high)
    assert 0.947 < hits / 20_000 < 0.954, hits


def test_nothing_is_told_of_nodes_that_were_not_measured(folder: Path) -> None:
    table(folder / "a.md", REPEATED)
    told(quick(folder, "days", "a.md", "--nodes", "64"), 2, "64 nodes", "measured: 2")


@pytest.mark.parametrize("form", ["table", "md", "csv", "tsv", "json", "html"])
@pytest.mark.parametrize("command", ["best", "days"])
def test_every_format(swept: Path, command: str, form: str) -> None:
    done = quick(swept, command, "--model", "124M", "--format", form)
    assert done.code == 0 and "003" in done.out, done.text
    if form == "json":
        assert json.loads(done.out)[0]["rank"] == 1


def test_columns_and_the_best_of_each_group(stored: Stored, folder: Path) -> None:
    named = stored("003_check_tcmalloc.md")
    asked = ("best", *named, "--group", "nodes", "--columns", "nodes,step_time_s,left_out")
    found = answer(folder, *asked)
    assert [row["nodes"] for row in found] == [64, 32, 16, 8, 4, 2, 1]
    assert set(found[0]) == {"nodes", "step_time_s", "left_out"} and found[0]["step_time_s"] == 17.6
    said = quick(folder, *asked).out
    assert "| nodes " in said and "Shown: the first row for each value of nodes." in said
    told(quick(folder, "days", *named, "--columns", "colour"), 2, "unknown column 'colour'")


def test_a_table_is_named_through_a_link(data: Path, folder: Path) -> None:
    (folder / "linked").symlink_to(data / "tables", target_is_directory=True)
    named = str(data / "tables" / "002_chronicles-prequel.md")
    for paths in (["linked"], []):
        found = answer(folder, "best", *paths, "--table", f"{named}:4")
        assert len(lines(found)) == 9


def test_a_front_of_rows_that_state_memory_says_so(stored: Stored, folder: Path) -> None:
    tables = stored()
    asked = ("best", *tables, "--document", "000")
    fastest = quick(folder, *asked).out
    assert fastest.index("| Rank") < fastest.index("against speed for 124M (Pareto front)")
    said = quick(folder, *asked, "--by", "mem").out
    assert "Devices against speed for 124M, of rows that state memory_gb (Pareto front)" in said
    of_repeats = quick(folder, "best", *tables, "--model", "1.3B").out
    assert "4 devices 389 tokens/s (median of 001:27, 001:51)" in " ".join(of_repeats.split())


def test_rows_that_differ_in_format_or_length_show_it(folder: Path) -> None:
    head = "Model | SeqLen (T) | # GPUs | Precision | MicroBatchSize | GlobalBatchSize | T/s"
    head = head.replace("T/s", "Total tokens/s")
    rows = [
        "1b | 2048 | 8 | amp_bf16 | 4 | 64 | 50000", "1b | 2048 | 8 | amp_fp8 | 4 | 64 | 70000",
        "1b | 8192 | 8 | amp_fp8 | 1 | 16 | 40000",
    ]  # fmt: skip
    lines = [f"| {row} |" for row in rows]
    text = ["# H100 80GB", "", f"| {head} |", "|---" * 7 + "|", *lines, ""]
    (folder / "a.md").write_text("\n".join(text))
    for command in ("best", "days"):
        said = quick(folder, command, "a.md").out
        assert "| Seq len | Dtype |" in said, said
    assert (
        "The rows differ in sequence length (2048, 8192) and number format (bf16, fp8)"
        in quick(folder, "best", "a.md").out
    )
    same = quick(folder, "best", "a.md", "--where", "seq_len = 2048 and dtype = 'fp8'").out
    assert "Seq len" not in same and "Dtype" not in same and "rows differ in" not in same


def test_models_of_one_size_show_their_labels(folder: Path) -> None:
    head = "| Model | GPUs | MBS | GBS | Sequence Length | Tokens/s |"
    rows = [
        f"| {name}-70B | 64 | 1 | 128 | {seq} | {rate} |"
        for name, seq, rate in (("LLAMA2", 4096, 109248), ("LLAMA3", 4096, 98112))
    ]
    (folder / "a.md").write_text("\n".join(["# H100 80GB", "", head, "|---" * 6 + "|", *rows, ""]))
    said = quick(folder, "best", "a.md").out
    assert "LLAMA2-70B" in said and "LLAMA3-70B" in said and said.startswith("Fastest: ")


def test_the_first_names_what_its_configuration_took_on_other_days(folder: Path) -> None:
    table(folder / "a.md", [
        *jobs([125.0], 1, "05-27"), *jobs([217.0], 1, "05-26"), *jobs([225.0], 1, "05-28"),
        *jobs([150.0], 2, "05-28"),
    ])  # fmt: skip
    said = quick(folder, "best", "a.md").out
    line = "The same configuration on other days: 217.000 s/it (a:9), 225.000 s/it (a:10)."
    assert line in said, said
    assert "on other days" not in quick(folder, "best", "a.md", "--where", "mbs = 2").out


def test_the_first_of_models_that_do_not_compare_is_called_so(folder: Path) -> None:
    head = "| Model | GPUs | MBS | GBS | Sequence Length | Tokens/s |"
    rows = [
        f"| {size} | 64 | 1 | 128 | 4096 | {rate} |" for size, rate in (("7B", 9e5), ("70B", 9e4))
    ]
    (folder / "a.md").write_text("\n".join(["# H100 80GB", "", head, "|---" * 6 + "|", *rows, ""]))
    said = quick(folder, "best", "a.md").out
    assert said.startswith("Fastest of models that are not comparable: 7B, 64 devices"), said
    assert quick(folder, "best", "a.md", "--model", "70B").out.startswith("Fastest: ")


def test_the_data_parallel_size_is_what_the_split_leaves(folder: Path) -> None:
    head = "| Model | #-GPUs | GBS | MBS | Sequence Length | TP | PP | CP | Tokens / sec / GPU |"
    rows = ["| 70B | 64 | 128 | 1 | 8192 | 4 | 4 | 2 | 1533 |",
            "| 70B | 60 | 120 | 1 | 8192 | 4 | 4 | 2 | 1500 |"]  # fmt: skip
    (folder / "a.md").write_text("\n".join(["# H100 80GB", "", head, "|---" * 9 + "|", *rows, ""]))
    assert [row["dp"] for row in answer(folder, "best", "a.md")] == [2, None]
    assert "| 2/4/4/CP2 |" in quick(folder, "best", "a.md").out


def test_what_no_device_can_do_is_not_ranked(folder: Path) -> None:
    head = "| GPUs | Model | GBS | Sec/it |\n| --: | :-- | --: | --: |\n"
    rows = "| 8 | 7B | 512 | 20.1 |\n| 8 | 7B | 512 | 2.01 |\n| 8 | 7B-MoE | 512 | 2.01 |\n"
    (folder / "a.md").write_text(f"# A100 80GB, seq len 2048\n\n{head}{rows}")
    found = answer(folder, "best", "a.md", "--by", "mfu")
    assert found[0]["mfu"] == pytest.approx(0.8779, abs=1e-4)
    assert found[0]["peak_name"] == "A100 fp16/bf16"
    left = {row["where"]: row["left_out"] for row in found if row["left_out"]}
    assert left["a.md:6"] == "peak: needs 2732 TFLOP/s of each device, and A100 does at most 624"
    assert left["a.md:7"].startswith("no MFU"), "experts: how many a token takes is not known"
    said = quick(folder, "best", "a.md", "--by", "mfu").out
    assert "87.8% assuming 16 bits, of 312 TFLOP/s" in said


def test_recipes_of_one_number_format_are_no_repeats(folder: Path) -> None:
    head = "| GPUs | Model | Precision | Total tokens/s |\n| --: | :-- | :-- | --: |\n"
    kinds = {"bf16": 8300, "mxfp8_cublas": 9969, "mxfp8_cublas_rceil": 9642, "float8 rowwise": 9900}
    rows = "".join(f"| 8 | 8B | {kind} | {rate} |\n" for kind, rate in kinds.items())
    (folder / "OWNER__REPO__docs__mxfp8.md").write_text(f"# B200, seq len 8192\n\n{head}{rows}")
    found = answer(folder, "best", "OWNER__REPO__docs__mxfp8.md")
    assert [row["tokens_per_s"] for row in found] == sorted(kinds.values(), reverse=True)
    assert all(row["jobs"] == 1 for row in found)
    assert "(mxfp8:6)" in quick(folder, "best", "OWNER__REPO__docs__mxfp8.md").out


def test_rows_that_would_look_alike_show_their_accumulation(folder: Path) -> None:
    head = "| Model | GPUs | Micro Bsz | Micro Num | Seq Len | Tokens / sec / GPU |"
    rows = [f"| 7B | 64 | 2 | {many} | 2048 | {rate} |" for many, rate in ((4, 3625), (1, 2346))]
    text = ["# A100 80GB", "", head, "|---" * 6 + "|", *rows, ""]
    (folder / "a.md").write_text("\n".join(text))
    assert "| Accumulation |" in quick(folder, "best", "a.md").out
    (folder / "a.md").write_text("\n".join([*text[:-2], rows[1].replace("| 2 |", "| 4 |"), ""]))
    assert "Accumulation" not in quick(folder, "best", "a.md").out


def test_a_row_of_nothing_but_a_recipe_is_called_by_it(folder: Path) -> None:
    head = "| Scaling Method | Peak Memory (GB) | Median tokens/s |\n| :-- | --: | --: |\n"
    rows = "| None (bfloat16) | 33.71 | 8307.5 |\n| float8 tensorwise | 33.38 | 10417.0 |\n"
    above = "Training on B200 GPUs, sequence length 8192:"
    (folder / "a.md").write_text(f"# Training\n\n{above}\n\n{head}{rows}")
    assert quick(folder, "best", "a.md").out.startswith("Fastest: float8 tensorwise on B200: ")


def test_days_of_one_size_under_two_labels_compare(folder: Path) -> None:
    row = "2 | {} | 16 | 1 | 1 | 1 | 512 | | {} | | "
    table(folder / "a.md", [row.format("1.3B", 40.0), row.format("1.31B", 41.0)])
    table(folder / "b.md", [row.format("1.3B", 40.0), row.format("7B", 90.0)])
    alike, apart = (quick(folder, "days", name) for name in ("a.md", "b.md"))
    assert "Days of different models" not in alike.out and "different models" in apart.out
    assert "Goodput is assumed" not in alike.out.replace("Goodput 1.00 is assumed", "")
    assert "next: bench show a:8 a.md" in alike.err, "which answers here"


def test_runs_of_no_model_in_several_sources_are_no_ranking(folder: Path) -> None:
    head = "| GPUs | MBS | GBS | tokens/s/GPU |\n|---|---|---|---|\n"
    for name, rate in (("a", 1000), ("b", 2000)):
        (folder / f"{name}.md").write_text(f"{head}| 8 | 1 | 64 | {rate} |\n")
    for command in ("best", "days"):
        both, one = (quick(folder, command, of).out.splitlines()[0] for of in (".", "a.md"))
        assert " of runs that state no model, " in both and "no model" not in one, command
