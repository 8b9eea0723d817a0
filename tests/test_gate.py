"""`bench compare --fail-on regression`: what newly fails, which metrics decide, in words."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.deciding import Stored, answer, table
from tests.program import quick, told

JOB = "2 | 1.3B | 16 | 1 | 1 | {mbs} | 512 | {mem} | {time} | {tflops} | "


def job(mbs: int = 1, time: float | str = 10.0, mem: str = "20GB") -> str:
    return JOB.format(mbs=mbs, time=time, mem=mem, tflops="")


def oom(mbs: int = 1) -> str:
    return JOB.format(mbs=mbs, time="", mem="OOM", tflops="")


def two(folder: Path, old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    table(folder / "old.md", old)
    table(folder / "new.md", new)
    return ("compare", "old.md", "new.md")


def test_a_configuration_that_newly_runs_out_of_memory_fails_the_gate(folder: Path) -> None:
    asked = two(folder, [job(), job(2)], [job(), oom(2)])
    same, gone = answer(folder, *asked)
    assert same["newly_fails"] is False and same["failed"] == 0
    assert gone["verdict"] == "fails: oom" and gone["newly_fails"] is True
    assert (gone["jobs_base"], gone["jobs"], gone["failed_base"], gone["failed"]) == (1, 0, 0, 1)
    assert gone["speedup"] is None and gone["mbs"] == 2 and gone["step_time_s_base"] == 10.0
    done = quick(folder, *asked, "--fail-on", "regression", "--threshold", "step_time:50%")
    assert done.code == 1 and "1 worse" in done.err
    assert "New failures: new.md: 1 job fails (oom) where old.md runs: new:9." in done.out
    assert "1 of 2 pairs is worse: new:9" in done.out
    assert quick(folder, *asked).code == 0, "nothing fails that is not asked to"


def test_what_failed_before_is_no_regression_and_what_runs_now_is_said(folder: Path) -> None:
    gate = ("--fail-on", "regression")
    both = two(folder, [job(), oom(2)], [job(), oom(2)])
    assert quick(folder, *both, *gate).code == 0
    mended = two(folder, [job(), oom(2)], [job(), job(2)])
    done = quick(folder, *mended, *gate)
    assert done.code == 0 and "No more failures: old.md: 1 job fails (oom)" in done.out
    assert answer(folder, *mended)[1]["verdict"] == "runs now: oom before"


def test_one_job_of_several_that_newly_fails(folder: Path) -> None:
    asked = two(folder, [job(), job(time=10.1)], [job(), job(time=10.1), oom()])
    [row, left] = answer(folder, *asked)
    assert (row["jobs_base"], row["jobs"], row["failed"]) == (2, 2, 1)
    assert row["newly_fails"] and left["left_out"]
    assert quick(folder, *asked, "--fail-on", "regression").code == 1


def test_nothing_but_failures_is_still_told(folder: Path) -> None:
    asked = two(folder, [job()], [oom()])
    done = quick(folder, *asked, "--fail-on", "regression")
    assert done.code == 1 and "New failures" in done.out


def test_by_a_column_the_base_runs_and_another_value_fails(stored: Stored, folder: Path) -> None:
    named = stored("004_tr3m-1B3.md")
    found = answer(folder, "compare", *named, "--by", "mbs")
    failing = [row for row in found if row["newly_fails"]]
    assert [(row["level"], row["verdict"]) for row in failing] == [
        *[("8", "fails: oom")] * 3,
        ("16", "fails: oom"),
    ]
    assert quick(folder, "compare", *named, "--by", "mbs", "--fail-on", "regression").code == 1


def test_the_metrics_of_a_gate_are_shown(folder: Path) -> None:
    asked = two(folder, [job()], [job(mem="24GB")])
    gate = ("--fail-on", "regression", "--threshold", "memory:10%")
    done = quick(folder, *asked, *gate, "--format", "md")
    assert done.code == 1
    head, _, cells = (re.split(r"\s*\|\s*", one) for one in done.out.splitlines() if "|" in one)
    shown = dict(zip(head, cells, strict=True))
    assert [shown[name] for name in ("GB, base", "GB", "GB +", "Gate")] == [
        "20", "24", "+20.0%", "worse",
    ]  # fmt: skip
    assert "Gate (memory by more than 10.0%, or newly failing): 1 of 1 pairs is worse" in done.out
    [row] = json.loads(quick(folder, *asked, *gate, "--format", "json").out)
    assert row["worse"] is True and row["memory_gb_base"] == 20
    both = (*gate, "--threshold", "tokens_per_s:5%")
    assert "Tokens/s, base" in quick(folder, *asked, *both).out


def test_a_metric_that_no_pair_tells_is_no_pass(folder: Path) -> None:
    asked = two(folder, [job(mem="")], [job(mem="")])
    told(
        quick(folder, *asked, "--fail-on", "regression", "--threshold", "memory:10%"), 5,
        "nothing to compare", "no pair states memory on both sides",
    )  # fmt: skip


@pytest.mark.parametrize("group", ["nodes", "level,mbs"])
def test_pairs_in_groups(stored: Stored, folder: Path, group: str) -> None:
    named = stored("003_check_tcmalloc.md")
    asked = ("compare", *named, "--by", "LD_PRELOAD", "--group", group)
    found = [row for row in answer(folder, *asked) if not row["left_out"]]
    assert len(found) == (7 if group == "nodes" else 1)
    assert max(row["speedup_most"] for row in found) == pytest.approx(31.2 / 17.6)
    assert "One row for each" in quick(folder, *asked).out


def test_a_gate_says_which_pairs_are_inconclusive(folder: Path) -> None:
    once = [job(mbs, t) for mbs, t in ((1, 10), (2, 10.5))]
    twice = [job(1, time).replace("| 16 | 1 |", "| 8 | 2 |") for time in (9.0, 9.6)]
    table(folder / "a.md", [*once, *twice])
    asked = ("compare", "a.md", "--by", "mbs", "--threshold", "step_time:3%")
    [row] = [one for one in answer(folder, *asked) if not one["left_out"]]
    assert (row["worse"], row["inconclusive"]) == (False, True)
