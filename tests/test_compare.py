"""`bench compare`: matched configurations, jobs as replicates, and what can be said of few."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from matplotlib.text import Text

from bench.decide.statistics import UNKNOWN
from bench.reports.chart import paired_effects
from bench.reports.charts.data import Bar
from tests.deciding import JOB, TCMALLOC, Stored, answer, jobs, table
from tests.logs import iteration
from tests.program import quick, told

# What the documents ask.


def test_an_allocator_at_every_node_count(data: Path, folder: Path) -> None:
    for paths in (["003_check_tcmalloc.md"], [""]):
        named = [str(data / "tables" / path) for path in paths]
        found = [
            row
            for row in answer(folder, "compare", *named, "--by", "LD_PRELOAD")
            if not row["left_out"]
        ]
        assert [row["nodes"] for row in found] == [1, 2, 4, 8, 16, 32, 64]
        assert [round(row["speedup"], 2) for row in found] == TCMALLOC
        assert {row["verdict"] for row in found} == {UNKNOWN}
        assert {(row["base"], row["level"]) for row in found} == {("none", "libtcmalloc.so")}


def test_recompute_and_what_else_differs(stored: Stored, folder: Path) -> None:
    named = stored("004_tr3m-1B3.md")
    found = answer(folder, "compare", *named, "--by", "recompute", "--base", "full")
    pairs = [row for row in found if not row["left_out"]]
    assert [row["also_differs"] for row in pairs] == [None, None, None, None, "mbs 1 → 2"]
    assert pairs[0]["step_time_s_base"] / pairs[0]["step_time_s"] == pytest.approx(29 / 23)
    assert pairs[-1]["verdict"] == "more differs: no effect of it alone"


def test_days_are_not_pooled(stored: Stored, folder: Path) -> None:
    named = stored("002_chronicles-prequel.md")
    found = answer(folder, "compare", *named, "--by", "mbs", "--model", "181B")
    for row in found:
        if not row["left_out"] and not row["also_differs"]:
            assert row["date"] in ("02-21", "02-25")
            assert "repeats" in row["method"]


# Jobs.


def test_one_job_a_side_tells_nothing_and_repeats_elsewhere_do(folder: Path) -> None:
    one = table(folder / "one.md", jobs([10.0], 1) + jobs([12.0], 2))
    [row] = answer(folder, "compare", one.name, "--by", "mbs")
    assert row["verdict"] == UNKNOWN and row["p_value"] is None
    said = quick(folder, "compare", one.name, "--by", "mbs").out
    assert said.startswith(
        "MBS 2 is 1.20x slower than MBS 1 in the one configuration tried, run once: one pair proves"
    )
    repeats = [line.replace("| 512 |", "| 256 |") for line in jobs([5.0, 5.02, 4.98, 5.01], 1)]
    table(folder / "two.md", jobs([10.0], 1) + jobs([12.0], 2) + repeats)
    row = answer(folder, "compare", "two.md", "--by", "mbs")[0]
    assert row["verdict"] == "slower" and "repeats" in row["method"]
    assert "estimated from repeats" in quick(folder, "compare", "two.md", "--by", "mbs").out


def test_five_against_five_of_which_two_are_slow(folder: Path) -> None:
    fast, mixed = [10.00, 10.05, 9.97, 10.02, 10.01], [10.03, 9.99, 12.10, 10.01, 12.05]
    table(folder / "a.md", jobs(fast, 1) + jobs(mixed, 2))
    [row] = answer(folder, "compare", "a.md", "--by", "mbs")
    assert row["modes"] == "3 jobs near 10.01 s, 2 near 12.07 s" and row["modes_base"] is None
    assert (row["jobs"], row["jobs_base"]) == (5, 5)
    assert row["verdict"].startswith("not significant")
    assert row["cv_percent"] > 5 > 1 > row["cv_base_percent"]
    said = quick(folder, "compare", "a.md", "--by", "mbs").out
    what = "mbs 2, 2 nodes (16 devices), DP16 x TP1 x PP1, MBS 2, GBS 512"
    slow = "3 jobs near 10.01 s, 2 near 12.07 s. The slow ones: a:15, a:17"
    assert f"Bimodal: {what}: {slow}" in said


def test_a_change_in_five_jobs_is_seen_and_gates(folder: Path) -> None:
    rng = random.Random(5)
    before = [10 * rng.gauss(1, 0.004) for _ in range(5)]
    table(folder / "a.md", jobs(before, 1) + jobs([time * 1.06 for time in before[::-1]], 2))
    [row] = answer(folder, "compare", "a.md", "--by", "mbs")
    assert row["verdict"] == "slower" and row["method"] == "rank test, bootstrap"
    assert row["speedup_low"] < row["speedup"] < row["speedup_high"] < 1
    gate = ("compare", "a.md", "--by", "mbs", "--fail-on", "regression")
    assert quick(folder, *gate).code == 1
    assert quick(folder, *gate, "--threshold", "step_time:3%").code == 1
    assert quick(folder, *gate, "--threshold", "step_time:8%").code == 0
    assert quick(folder, *gate, "--base", "2").code == 0, "an improvement is no regression"
    [better] = answer(folder, "compare", "a.md", "--by", "mbs", "--base", "2")
    assert better["verdict"] == "faster"
    told(quick(folder, *gate, "--threshold", "speed:3%"), 2, "invalid threshold", "step_time")


# Logs.


def log(data: Path, path: Path, factor: float, **arguments: str) -> None:
    """The log of a job whose steps take so many times as long; arguments as it states them."""
    text = (data / "logs" / "megatron_lm_dp2.log").read_text()
    text = re.sub(
        r"(?<=elapsed time per iteration \(ms\): )[\d.]+",
        lambda found: f"{float(found[0]) * factor:.4f}",
        text,
    )
    for name, value in arguments.items():
        text, count = re.subn(rf"(?m)^(  {name} \.+ ).*$", rf"\g<1>{value}", text)
        assert count == 1
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def test_each_log_of_a_folder_is_a_job(data: Path, folder: Path) -> None:
    for at, noise in enumerate([1.0, 1.004, 0.997, 1.002, 1.001]):
        log(data, folder / "a" / f"{at}.log", noise, seed=str(at))
        log(data, folder / "b" / f"{at}.log", noise * 1.05, seed=str(at))
    [row] = answer(folder, "compare", "a", "b")
    assert (row["jobs"], row["jobs_base"]) == (5, 5) and row["verdict"] == "slower"
    assert row["speedup"] == pytest.approx(1 / 1.05, rel=1e-3)
    [best] = answer(folder, "best", "a")
    assert best["jobs"] == 5


def test_logs_with_other_arguments_are_not_pooled_and_named(data: Path, folder: Path) -> None:
    log(data, folder / "a" / "1.log", 1.0)
    log(data, folder / "a" / "2.log", 1.01, overlap_grad_reduce="True")
    assert [row["jobs"] for row in answer(folder, "best", "a")] == [1, 1]
    assert "bench compare A B shows the differences" in quick(folder, "best", "a").out
    said = quick(folder, "compare", "a/1.log", "a/2.log").out
    assert "The logs also differ in overlap_grad_reduce False → True" in said


PROFILE = """-------------------------- DeepSpeed Flops Profiler --------------------------
samples/second:                                                         {}
------------------------------------------------------------------------------
"""


def test_what_a_profiler_measures_is_no_argument(data: Path, folder: Path) -> None:
    for name, rate in (("a", 141.64), ("b", 42.47)):
        path = folder / name / "1.log"
        log(data, path, 1.0)
        path.write_text(path.read_text() + PROFILE.format(rate))
    assert quick(folder, "ingest", "a").code == 0
    counted = "SELECT count(*) AS n FROM facts WHERE field = 'samples/second'"
    assert quick(folder, "sql", counted, "--format", "csv").out == "n\n1\n"
    assert "also differ" not in quick(folder, "compare", "a/1.log", "b/1.log").out


def test_nothing_alike_is_refused_by_name(folder: Path) -> None:
    table(folder / "a.md", jobs([10.0], 1) + jobs([10.0], 4))
    other = [line.replace("| 16 | 1 | 1 |", "| 4 | 2 | 2 |") for line in jobs([9.0], 2)]
    table(folder / "b.md", other + [line.replace("| 512 |", "| 256 |") for line in other])
    told(quick(folder, "compare", "a.md", "b.md"), 5, "nothing to compare", "tp 1 → 2")
    told(quick(folder, "compare", "a.md", "--by", "tp"), 2, "all runs have one tp: 1")
    told(quick(folder, "compare", "a.md", "--by", "colour"), 2, "colour", "these differ here:")


def test_a_value_that_only_doubted_runs_have_is_refused(stored: Stored, folder: Path) -> None:
    named = stored("002_chronicles-prequel.md")
    done = quick(folder, "compare", *named, "--by", "zero_stage")
    told(done, 5, "left out: 2 runs with another zero_stage", "doubted (R6c)")


# Statistics.


# What would lead to a wrong decision.


def test_conditions_pool_no_devices(stored: Stored, folder: Path) -> None:
    """Rows of two devices are no jobs of one, whatever two conditions name."""
    named = stored("004_tr3m-1B3.md")
    found = answer(folder, "compare", "mbs = 1", "mbs = 2", *named)
    pairs = [row for row in found if not row["left_out"]]
    assert pairs and all((row["jobs_base"], row["jobs"]) == (1, 1) for row in pairs)
    done = quick(folder, "compare", "recompute = 'full'", "recompute = 'none'", *named)
    assert "V100-16GB" not in done.out or "V100-32GB" not in done.out or done.code == 5


def test_a_gate_asks_of_each_pair_alone(folder: Path) -> None:
    """Among many pairs no rank test of 4 against 4 reaches 5%: a regression of 2x fails all the
    same, and it is not said that less could have been seen."""
    rows = []
    for nodes in (1, 2, 4, 8, 16, 32):
        slow = 2.0 if nodes == 8 else 1.0
        for mbs, factor in ((1, 1.0), (2, slow)):
            times = [factor * 16 / nodes * noise for noise in (1.0, 1.003, 0.998, 1.001)]
            job = JOB.replace("2 | 1.3B | 16", f"{nodes} | 1.3B | {nodes * 8}")
            rows += [job.format(mbs=mbs, time=f"{time:.4f}", date="") for time in times]
    named = table(folder / "x.md", rows)
    gate = ("--fail-on", "regression", "--threshold", "step_time:3%")
    assert quick(folder, "compare", named.name, "--by", "mbs", *gate).code == 1
    found = answer(folder, "compare", named.name, "--by", "mbs")
    assert {row["could_see_percent"] for row in found} == {None}
    done = quick(folder, "compare", named.name, "--by", "mbs", "--where", "nodes <> 8", *gate)
    assert done.code == 0, done.text


def test_records_are_the_jobs_that_their_logs_were(data: Path, folder: Path) -> None:
    for at, noise in enumerate([1.0, 1.004, 0.997, 1.002, 1.001]):
        log(data, folder / "a" / f"{at}.log", noise, seed=str(at))
        log(data, folder / "b" / f"{at}.log", noise * 1.05, seed=str(at))
    for name in ("a", "b"):
        assert quick(folder, "export", "--records", f"r{name}", name).code == 0
    [row] = answer(folder, "compare", "ra", "rb")
    assert (row["jobs"], row["jobs_base"]) == (5, 5) and row["verdict"] == "slower"


def test_an_effect_below_a_percent_has_the_digit_that_tells_it(folder: Path) -> None:
    table(folder / "a.md", jobs([10.000], 1) + jobs([9.960], 2))
    said = quick(folder, "compare", "a.md", "--by", "mbs").out
    assert "MBS 2 is 1.004x faster than MBS 1 in the one" in said and " 1.004x |" in said
    drawn = paired_effects([Bar("MBS 2", 1.004), Bar("MBS 4", 1.3)], [True, True])
    values = [text.get_text() for text in drawn.findobj(Text)]
    assert "1.004x" in values and "1.30x" in values


def test_a_table_without_rows_leaves_nothing_to_decide(folder: Path) -> None:
    table(folder / "a.md", [])
    for command in (["best"], ["days"], ["report", "scaling"], ["compare", "--by", "mbs"]):
        told(quick(folder, *command, "a.md"), 3, "no runs found")


def launched(
    folder: Path, dp: int, times: Sequence[float], *unstated: str, threads: int = 0
) -> None:
    """Logs as `bench launch` leaves them, one for each time: what it measured differs in each."""
    for repeat, time in enumerate(times, 1):
        begins = {
            "plan": "p", "case": f"c{dp}", "label": f"dp={dp}", "repeat": repeat, "attempt": 1,
            "command": f"train --dp {dp}", "device": "AMD EPYC", "nodes": 1, "ranks": dp,
            "dp": dp, "tp": 1, "pp": 1, "mbs": 1, "gbs": 8, "layers": 2, "hidden": 64,
            "heads": 4, "seq_len": 32,
        }  # fmt: skip
        for name in unstated:
            del begins[name]
        measured = {"wall_s": 10 + repeat, "exit_code": 0, "peak_memory_mb": 300 + repeat}
        text = [
            f"bench launch begins {json.dumps(begins)}",
            f"bench launch command OMP_NUM_THREADS={threads or 2 // dp} train --dp {dp}",
            *(iteration(at, 1000 * time) for at in range(1, 5)),
            f"bench launch measured {json.dumps(measured)}",
            "bench launch ends ok",
        ]
        (folder / f"dp{dp}-r{repeat}.log").write_text("\n".join(text) + "\n")


def test_repeats_of_a_launched_sweep_are_jobs_of_one_configuration(folder: Path) -> None:
    launched(folder, 1, [2.0, 2.1, 2.2])
    launched(folder, 2, [1.0, 1.05, 1.1])
    ranked = answer(folder, "best", ".")
    assert [(row["dp"], row["jobs"]) for row in ranked] == [(2, 3), (1, 3)]
    (pair,) = answer(folder, "compare", "--by", "dp", ".")
    assert (pair["jobs_base"], pair["jobs"], pair["verdict"]) == (3, 3, "faster")
    assert pair["speedup"] == pytest.approx(2.0)
    said = quick(folder, "compare", "--by", "dp", ".").out
    assert "OMP_NUM_THREADS follows dp" in said and "also differ" not in said
    assert said.count("OMP_NUM_THREADS") == 1, "not among what else the logs differ in"


def test_the_page_of_a_sweep_says_what_repeats_do_not_tell(folder: Path) -> None:
    """A lead within the spread between jobs is no news; what the logs have in common is one row."""
    launched(folder, 1, [2.0, 2.6, 2.3], threads=1)
    launched(folder, 2, [2.1, 1.7, 2.5], threads=1)
    page = quick(folder, "report", ".").out
    assert "Its lead over DP1 x TP1 x PP1, MBS 1 (dp1-r1:1) is within the spread" in page
    shapes = page.partition("## Model and budget")[2].partition("\n## ")[0]
    assert "dp2-r1 and 2 more" in shapes and shapes.count("2 / 64 / 4") == 1
    assert "Device = one process: no source here states devices." in page
    assert "OMP_NUM_THREADS" not in quick(folder, "compare", "--by", "dp", ".").out.split("|")[0]
    launched(folder, 2, [1.0, 1.05, 1.1], threads=1)
    assert "Its lead over" not in quick(folder, "report", ".").out


def test_repeats_of_a_case_need_no_stated_model(folder: Path) -> None:
    """The command and the values of a case say what ran; of other logs nobody knows."""
    for dp, times in ((1, [2.0, 2.1, 2.2]), (2, [1.0, 1.05, 1.1])):
        launched(folder, dp, times, "layers", "hidden", "heads")
    ranked = answer(folder, "best", ".")
    assert [(row["dp"], row["jobs"]) for row in ranked] == [(2, 3), (1, 3)]
    [pair] = answer(folder, "compare", "--by", "dp", ".")
    assert (pair["jobs_base"], pair["jobs"], pair["verdict"]) == (3, 3, "faster")
    assert "no model or no batch size" not in quick(folder, "compare", "--by", "dp", ".").out


def test_jobs_of_an_unstated_model_are_not_called_run_once(folder: Path) -> None:
    for dp, times in ((1, [2.0, 2.1, 2.2]), (2, [1.0, 1.05, 1.1])):
        launched(folder, dp, times, "layers", "hidden", "heads", "repeat")
    said = quick(folder, "compare", "--by", "dp", ".").out
    assert "3 / 3" in said and "run once" not in said and "Three runs a side" not in said
    assert "tried: not tested, as the spread between its jobs is not known." in said
    assert "6 logs state no model or no batch size and do not count as repeats" in said


def test_logs_of_neither_model_nor_batch_are_not_alike(folder: Path) -> None:
    """Both are silent about what they trained, which does not make it the same."""
    for name, took in (("Ring", 10.0), ("Tree", 20.0)):
        steps = "".join(f"iter {at}: loss 4.0, time {took + at % 3:.2f}ms\n" for at in range(1, 30))
        (folder / f"{name}.log").write_text(f"NCCL_ALGO={name}\n{steps}")
    asked = ("compare", "--by", "NCCL_ALGO", ".")
    told(quick(folder, *asked), 5, "2 logs state neither model nor batch size (--set model=")
    [pair] = answer(folder, *asked, "--set", "gbs=8")
    assert (pair["base"], pair["level"]) == ("Ring", "Tree")
