"""What can be told apart: one test wherever rows are ranked or compared, by jobs a side."""

from __future__ import annotations

import math
import random
import re
from pathlib import Path

import pytest

from bench.decide.spreads import Spread
from bench.decide.statistics import (
    LEVEL,
    Effect,
    corrected,
    effect,
    exact_rank_p,
    separates,
)
from tests.deciding import answer, table
from tests.program import quick

SWEEP = "002_chronicles-prequel.md"
ROW = "2 | 1.3B | 16 | 1 | 1 | {mbs} | 512 | {memory} | {time} | {tflops} | "


def sweep(folder: Path, jobs: dict[int, list[str]], tflops: str = "") -> None:
    """A document with the times of each micro batch's jobs."""
    rows = [
        ROW.format(mbs=mbs, time=time, memory=f"{20 + mbs}GB", tflops=tflops)
        for mbs, times in jobs.items()
        for time in times
    ]
    table(folder / "a.md", rows)


WIDE = """# 7B on 8 x A100-80GB, sequence length 2048, global batch size 512

| Framework | MBS 1 (s/it) | MBS 2 (s/it) | MBS 4 (s/it) |
| :-- | --: | --: | --: |
| Megatron | 40.0 | 40.0 | 41.0 |
"""
FIVE = ["10.004", "10.050", "9.963", "10.040", "9.990"]
FASTER = ["9.690", "9.774", "9.706", "9.698", "9.728"]


def test_ranks_tie_where_the_comparison_detects_nothing(data: Path, folder: Path) -> None:
    document = str(data / "tables" / SWEEP)
    quick(folder, "ingest", document)
    first, second = answer(folder, "best", "--where", "nodes = 48 and size = '181B'")[:2]
    assert (first["step_time_s"], second["step_time_s"]) == (110.48, 111.71)
    sides = [f"line = {row['where'].rsplit(':', 1)[1]}" for row in (second, first)]
    [pair] = answer(folder, "compare", *sides)
    assert second["ties_with"] == 1 and pair["verdict"] != "faster", pair


def test_settled_groups_of_jobs_do_not_tie(folder: Path) -> None:
    sweep(folder, {1: FIVE, 2: FASTER})
    for command in ("best", "days"):
        first, second = answer(folder, command, "a.md")
        assert (first["mbs"], first["jobs"], second["ties_with"]) == (2, 5, None)
    [pair] = answer(folder, "compare", "a.md", "--by", "mbs")
    assert pair["verdict"] == "faster"


@pytest.mark.parametrize("by", ["tokens_per_s", "device_hours", "tflops"])
def test_ties_are_told_by_whatever_is_ranked(folder: Path, by: str) -> None:
    sweep(folder, {1: [*FIVE, *FASTER[:2]], 2: ["9.95"], 4: ["11.9"]}, tflops="30.0")
    found = answer(folder, "best", "a.md", "--by", by)
    ties = {row["mbs"]: row["ties_with"] for row in found}
    if by == "tflops":
        assert list(ties.values()) == [None, 1, 1]  # the same digits
    else:
        assert ties == {2: None, 1: 1, 4: None}


def test_memory_ties_by_its_digits(folder: Path) -> None:
    sweep(folder, {1: FIVE, 2: ["9.5"]})
    found = answer(folder, "best", "a.md", "--by", "mem")
    assert [(row["mbs"], row["ties_with"]) for row in found] == [(1, None), (2, None)]
    assert "by printed digits" in quick(folder, "best", "a.md", "--by", "mem").out


def test_repeats_that_print_alike_are_jobs(folder: Path) -> None:
    sweep(folder, {1: ["20.0", "20.0", "20.1", "20.0", "20.1"], 2: ["19.0"] * 4 + ["19.1"]})
    first, second = answer(folder, "best", "a.md")
    assert (first["jobs"], second["jobs"]) == (5, 5)
    [pair] = answer(folder, "compare", "a.md", "--by", "mbs")
    assert (pair["jobs"], pair["jobs_base"], pair["verdict"]) == (5, 5, "faster")
    assert pair["modes"] is None and pair["modes_base"] is None  # digits make no clusters


def test_more_columns_make_no_copies_of_repeats(folder: Path) -> None:
    """Memory and TFLOPs follow from the set-up and the time: they agree where that does."""
    rows = [
        f"2 | 1.3B | 16 | 1 | 1 | 1 | 512 | 20.12GB | {time} | {flops} | "
        for time, flops in (("10.0", "40.12"), ("10.0", "40.12"), ("10.4", "38.58"))
    ]
    table(folder / "a.md", rows)
    [row] = answer(folder, "best", "a.md")
    assert (row["jobs"], row["step_time_s"]) == (3, 10.0)


def test_a_row_printed_twice_is_one_job(folder: Path) -> None:
    sweep(folder, {1: ["20.0", "20.0"], 2: ["19.0"]})
    found = answer(folder, "best", "a.md")
    assert [row["jobs"] for row in found if not row["left_out"]] == [1, 1]
    assert "copy of" in found[-1]["left_out"]


def test_rounding_is_the_least_spread(folder: Path) -> None:
    """Two jobs of 20 s in whole seconds do not show that jobs vary by nothing."""
    sweep(folder, {1: ["20", "20", "20"], 2: ["21"], 4: ["30"]})
    found = answer(folder, "best", "a.md")
    assert [row["ties_with"] for row in found] == [None, 1, None]


def test_clusters_are_named_and_make_the_spread_wide(folder: Path) -> None:
    """A single job may be of either cluster: one of the slow is no slower configuration."""
    slow = ["4.991", "5.570", "4.970", "5.564", "4.995"]
    sweep(folder, {1: slow, 2: ["5.10"], 4: ["5.30"]})
    found = {row["mbs"]: row["ties_with"] for row in answer(folder, "best", "a.md")}
    assert found == {1: None, 2: 1, 4: 1}
    said = quick(folder, "best", "a.md").out
    assert "jobs of 1 of these configurations fall into two clusters" in said
    assert re.search(r"Bimodal: 2 nodes .*, MBS 1, .* \(a:8\): 3 jobs near 4.991 s, 2 near", said)


def test_one_pair_among_many_is_said_to_be_slower_alone() -> None:
    same = [effect([10.0, 10.1, 10.2, 10.3, 10.4], [10.0, 10.1, 10.2, 10.3, 10.41], None)] * 19
    slower = effect([10.0, 10.1, 10.2, 10.3, 10.4], [11.0, 11.1, 11.2, 11.3, 11.4], None)
    first, *others = corrected([slower, *same])
    assert first.verdict == "slower, not significant among 20 pairs (p = 0.0079 alone)"
    assert {one.verdict for one in others} == {
        "not significant: one of 20 pairs needs 6 jobs a side"
    }
    assert isinstance(first, Effect) and first.q is not None and first.q > 0.05


def test_what_could_be_seen_is_seen_among_all_pairs() -> None:
    """A pair that changed by what could be seen, as its neighbours print, is not overlooked."""
    known = Spread(0.0039, 1, ("a:8", "a:9"), "a")
    many = corrected([effect([100.0], [100.0 + step], known) for step in (0, 9, 10, 11, 15, 16)])
    unseen = [one for one in many if one.verdict.startswith("not significant:")]
    for one in unseen:
        assert one.detectable is not None and abs(1 / one.speedup - 1) < one.detectable
    alone = effect([100.0], [100.0], known)
    assert alone.detectable is not None and unseen[0].detectable is not None
    assert unseen[0].detectable > 5 * alone.detectable


@pytest.mark.slow
@pytest.mark.parametrize(("jobs", "least"), [(4, 0.90), (5, 0.92)])
def test_a_bootstrap_holds_the_truth_as_often_as_the_docs_say(jobs: int, least: float) -> None:
    """93 and 95 of 100, less two standard errors of 250 draws."""
    rng, hits = random.Random(7), 0
    for _ in range(250):
        a, b = ([math.exp(rng.gauss(0, 0.02)) for _ in range(jobs)] for _ in "ab")
        found = effect(a, b, None)
        hits += bool(found.low and found.high and found.low <= 1 <= found.high)
    assert hits / 250 >= least, hits


def two_sides(rng: random.Random, digits: int) -> tuple[list[float], list[float]]:
    """The times of a few jobs a side; with few digits some are equal."""
    slower = rng.choice((0.0, 0.5, 1.5))
    sides = [[round(rng.gauss(10 + more, 1), digits) for _ in range(rng.randint(2, 7))]
             for more in (0.0, slower)]  # fmt: skip
    return sides[0], sides[1]


@pytest.mark.parametrize("digits", [0, 1, 9])
def test_exact_ranks_are_those_of_scipy(digits: int) -> None:
    from scipy.stats import PermutationMethod, mannwhitneyu

    rng = random.Random(digits)
    for _ in range(12):
        a, b = two_sides(rng, digits)
        theirs = mannwhitneyu(a, b, method=PermutationMethod(n_resamples=20_000)).pvalue
        assert exact_rank_p(a, b) == pytest.approx(min(float(theirs), 1.0), rel=1e-12)


@pytest.mark.parametrize("known", [None, Spread(0.03, 9, (), "a"), Spread(0.0, 2, (), "a")])
def test_what_is_told_apart_is_what_effects_find(known: Spread | None) -> None:
    rng = random.Random(7)
    found = set()
    for _ in range(40):
        before, after = two_sides(rng, 1)
        rounding = rng.choice((0.0, 0.02))
        p = effect(before, after, known, rounding).p
        apart = separates(before, after, known, rounding)
        assert apart == (None if p is None else p < LEVEL), (before, after)
        found.add(apart)
    assert found >= {True, False}


def test_a_spread_of_few_runs_says_so_and_exceeds_no_peak(folder: Path) -> None:
    """One configuration took once twice as long: still no job is faster than its device."""
    head = "| Devices | Size | DP | TP | PP | MBS | GBS | Seq len | Sec/it |"
    rows = [(64, 4.0), (64, 8.0), (32, 9.0)]
    lines = [f"| {n} | 1.3B | {n} | 1 | 1 | 4 | 512 | 2048 | {time} |" for n, time in rows]
    text = "\n".join(["# Sweep on A100-80GB in bf16", "", head, "|" + "---|" * 9, *lines, ""])
    (folder / "a.md").write_text(text)
    said = quick(folder, "days", "a.md", "--tokens", "100B").out
    assert "rests on only 2 runs (a:5, a:6)" in said and "prove nothing" in said
    assert "at most the device's peak" in said
    for row in answer(folder, "days", "a.md", "--tokens", "100B"):
        assert row["days_low"] >= row["days"] * row["mfu"] * 0.999


def test_runs_of_one_line_that_tie_are_told_apart(folder: Path) -> None:
    (folder / "wide.md").write_text(WIDE)
    said = quick(folder, "best", "wide.md").out
    assert "wide:5 (MBS 1) ties with wide:5 (MBS 2)." in said, said


def test_equal_rates_tie_where_no_time_is_printed(folder: Path) -> None:
    head = "# 7B on A100-80GB\n\n| GPUs | TP | MBS | Tokens/s/GPU |\n|--|--|--|--|\n"
    rates = {1: 3625, 2: 3625, 4: 3624, 8: 3100}
    rows = "".join(f"| 64 | 1 | {mbs} | {rate} |\n" for mbs, rate in rates.items())
    (folder / "a.md").write_text(head + rows)
    for command in ("best", "days"):
        found = answer(folder, command, "a.md")
        assert [row["ties_with"] for row in found] == [None, 1, 1, None], command
    assert "To the printed digits a:5 ties with a:6, a:7." in quick(folder, "best", "a.md").out
