"""What two sides of `bench compare` may be: files, conditions, runs, revisions, flags."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bench.decide.statistics import UNKNOWN
from tests.deciding import TCMALLOC, answer, jobs, table
from tests.program import quick, told


def test_files_conditions_and_runs_are_sides(folder: Path) -> None:
    table(folder / "old.md", jobs([10.0, 10.1], 1))
    table(folder / "new.md", jobs([9.0, 9.1], 1))
    [row] = answer(folder, "compare", "old.md", "new.md")
    assert row["speedup"] == pytest.approx(10.05 / 9.05, rel=1e-3) and row["jobs"] == 2
    table(folder / "both.md", jobs([10.0], 1, "02-21") + jobs([9.0], 1, "02-25"))
    [row] = answer(folder, "compare", "date = '02-21'", "date = '02-25'", "both.md")
    assert row["speedup"] == pytest.approx(10 / 9) and row["also_differs"] is None
    assert (
        "different days"
        in quick(folder, "compare", "date = '02-21'", "date = '02-25'", "both.md").out
    )
    [row] = answer(folder, "compare", "both:8", "both:9", "both.md")
    assert row["speedup"] == pytest.approx(10 / 9)


def test_what_two_conditions_name_is_compared(data: Path, folder: Path) -> None:
    named = str(data / "tables" / "003_check_tcmalloc.md")
    asked = ("settings like 'no LD%'", "settings like '%tcmalloc%'", named)
    found = answer(folder, "compare", *asked)
    assert [round(row["speedup"], 2) for row in found] == TCMALLOC
    assert not any(row["also_differs"] for row in found)
    [row] = answer(folder, "compare", "003:31", "003:20", named)
    assert row["also_differs"] is None and row["verdict"] == UNKNOWN
    assert (
        "The sides differ by LD_PRELOAD." in quick(folder, "compare", "003:31", "003:20", named).out
    )
    twice = answer(folder, "compare", "nodes = 32", "nodes = 64", named)
    assert [round(row["speedup"], 1) for row in twice] == [2.0, 1.9]


def test_revisions_are_sides(folder: Path) -> None:
    (folder / ".git").rmdir()
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder))
    subprocess.run([*git, "init", "-q"], check=True)
    for time in (10.0, 11.0):
        table(folder / "a.md", jobs([time], 1))
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-qm", "x"], check=True)
    [row] = answer(folder, "compare", "HEAD~1", "HEAD", "a.md")
    assert row["speedup"] == pytest.approx(10 / 11)
    told(quick(folder, "compare", "HEAD", "nowhere", "a.md"), 2, "nowhere")


def test_flags_are_conditions(data: Path, folder: Path) -> None:
    """What --by takes of the environment, --where and the sides of a comparison take too."""
    named = str(data / "tables" / "003_check_tcmalloc.md")
    with_it, without = "LD_PRELOAD = 'libtcmalloc.so'", "ld_preload = 'none'"
    found = answer(folder, "best", named, "--where", f"{with_it} and nodes > 8")
    assert [row["nodes"] for row in found] == [64, 32, 16]
    pairs = answer(folder, "compare", without, with_it, named)
    assert sorted(round(row["speedup"], 2) for row in pairs) == sorted(TCMALLOC)
    done = quick(folder, "best", named, "--where", "LD_PRELOADED = 'x'")
    told(done, 2, "unknown column 'LD_PRELOADED'", "LD_PRELOAD")


def test_a_measurement_on_both_sides_is_one(folder: Path) -> None:
    """What nobody measured anew between two revisions is no job of the second."""
    (folder / ".git").rmdir()
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder))
    subprocess.run([*git, "init", "-q"], check=True)
    for time in (10.0, 11.0):
        table(folder / "a.md", [*jobs([time], 1), *jobs([8.0], 2), *jobs([9.0, 9.1], 4)])
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-qm", "x"], check=True)
    found = answer(folder, "compare", "HEAD~1", "HEAD", "a.md")
    pair, *others = found
    assert (pair["step_time_s_base"], pair["step_time_s"], pair["jobs"]) == (10.0, 11.0, 1)
    assert [row["left_out"] for row in others] == ["the same on both sides"] * 3
    same = quick(folder, "compare", "HEAD", "HEAD", "a.md", "--fail-on", "regression")
    assert same.code == 0 and "No new measurements" in same.out


def test_conditions_behind_paths_are_told_where_they_belong(data: Path, folder: Path) -> None:
    named = str(data / "tables" / "003_check_tcmalloc.md")
    done = quick(folder, "compare", named, "nodes = 1", "nodes = 2")
    told(
        done,
        2,
        "condition 'nodes = 2' given among the paths",
        "bench compare 'mbs = 1' 'mbs = 2' PATH",
    )


def test_a_count_s_heading_over_words_alone_is_a_setting(folder: Path) -> None:
    """`FSDP` heads degrees in one table, and kinds of sharding in another."""
    head = "| Nodes | FSDP | TP | PP | MBS | GBS | Sec/it |\n" + "| --- " * 7 + "|\n"
    kinds = "".join(
        f"| {nodes} | {kind} | 1 | 1 | 2 | 512 | {time} |\n"
        for nodes, kind, time in ((1, "full_shard", 48.5), (2, "full_shard", 25.5),
                                  (1, "hybrid", 45.5), (2, "hybrid", 22.5))
    )  # fmt: skip
    above = "# 7B on A100-80GB, 8 GPUs per node, seq len 4096\n\n"
    (folder / "a.md").write_text(above + head + kinds)
    found = answer(folder, "compare", "--by", "FSDP", "a.md")
    assert [row["speedup"] for row in found] == [
        pytest.approx(48.5 / 45.5), pytest.approx(25.5 / 22.5)
    ]  # fmt: skip
    # Beside a degree they are a remark, and their rows stay.
    (folder / "b.md").write_text(above + head + kinds.replace("full_shard", "8", 1))
    mixed = answer(folder, "best", "b.md")
    assert [row["left_out"] for row in mixed] == [None] * 4


def test_what_differs_beside_two_conditions_is_named_and_fails_no_gate(folder: Path) -> None:
    """From DP8 x TP4 x PP2 to DP8 x TP8 x PP1: PP differs, too."""
    row = "8 | 1.3B | 8 | {tp} | {pp} | 1 | 64 | 20GB | {time} | | "
    slower = [row.format(tp=8, pp=1, time=f"{6 + n / 100:.2f}") for n in range(4)]
    table(
        folder / "a.md",
        [row.format(tp=4, pp=2, time=f"{5 + n / 100:.2f}") for n in range(4)] + slower,
    )
    for asked in (("tp = 4", "tp = 8", "a.md"), ("--by", "tp", "a.md")):
        [pair] = answer(folder, "compare", *asked)
        assert pair["also_differs"] == "pp 2 → 1" and pair["speedup"] == pytest.approx(
            5.015 / 6.015
        )
        assert quick(folder, "compare", *asked, "--fail-on", "regression").code == 0
