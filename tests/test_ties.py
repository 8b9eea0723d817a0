"""What can be told apart: one test wherever rows are ranked or compared, by jobs a side."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.decide.statistics import Effect, corrected, effect
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


def test_clusters_are_named_and_do_not_count_as_spread(folder: Path) -> None:
    slow = ["4.991", "5.570", "4.970", "5.564", "4.995"]
    sweep(folder, {1: slow, 2: ["5.10"], 4: ["5.30"]})
    found = {row["mbs"]: row["ties_with"] for row in answer(folder, "best", "a.md")}
    assert found == {1: None, 2: None, 4: None}
    said = quick(folder, "best", "a.md").out
    assert "Bimodal: a l.8: 3 jobs near 4.991 s, 2 near 5.567 s" in said


def test_one_pair_among_many_is_said_to_be_slower_alone() -> None:
    same = [effect([10.0, 10.1, 10.2, 10.3, 10.4], [10.0, 10.1, 10.2, 10.3, 10.41], None)] * 19
    slower = effect([10.0, 10.1, 10.2, 10.3, 10.4], [11.0, 11.1, 11.2, 11.3, 11.4], None)
    first, *others = corrected([slower, *same])
    assert first.verdict == "slower alone (p = 0.0079), not sure among 20 pairs"
    assert {one.verdict for one in others} == {
        "no detectable change (one of 20 pairs needs 6 jobs a side)"
    }
    assert isinstance(first, Effect) and first.q is not None and first.q > 0.05
