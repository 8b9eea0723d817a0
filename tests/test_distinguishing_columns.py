"""Rows that would look alike tell what they differ in, in listings and on pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.deciding import answer
from tests.making import log
from tests.program import quick

HEAD = "| Nodes | Size | DP | TP | PP | MBS | GBS | Seq len | ZeRO | Sec/it |\n"
RULE = "|--:" * 10 + "|\n"
ROW = "| 1 | 1.3B | 8 | 1 | 1 | 1 | 64 | 2048 | {zero} | {time} |\n"


def table(folder: Path, *stages: int) -> str:
    """A table of runs that differ in their ZeRO stage alone."""
    rows = [ROW.format(zero=zero, time=5 + place) for place, zero in enumerate(stages)]
    (folder / "t.md").write_text(f"# A sweep on A100\n\n{HEAD}{RULE}{''.join(rows)}")
    return "t.md"


def ranked(folder: Path, file: str) -> str:
    """The headings of the ranked table of a page."""
    page = quick(folder, "report", file).out
    return page[page.index("## Days") :].splitlines()[2]


def test_a_stage_that_differs_is_shown(folder: Path) -> None:
    file = table(folder, 1, 2)
    for words in (("runs", file), ("runs", "--all", file)):
        assert "| zero_stage |" in quick(folder, *words).out
    assert "| ZeRO |" in ranked(folder, file)


def test_a_stage_that_all_have_is_not(folder: Path) -> None:
    file = table(folder, 2, 2)
    assert "zero_stage" not in quick(folder, "runs", file).out
    assert "ZeRO" not in ranked(folder, file)


def test_heads_are_shown_where_one_model_has_several(folder: Path) -> None:
    head = HEAD.replace("ZeRO", "Heads") + RULE
    rows = [ROW.format(zero=heads, time=5 + heads / 8) for heads in (16, 32)]
    tables = {"one": rows, "two": [rows[0], rows[1].replace("1.3B", "13B")]}
    for name, lines in tables.items():
        (folder / f"{name}.md").write_text(f"# A sweep on A100\n\n{head}{''.join(lines)}")
    assert "| Heads |" in quick(folder, "best", "one.md").out
    assert "Heads" not in quick(folder, "best", "two.md").out, "each model has its own"


def test_logs_of_which_nobody_knows_the_model_are_no_repeats(folder: Path) -> None:
    for name, step_ms in (("small.log", 100.0), ("large.log", 120.0)):
        (folder / name).write_text(log(30, step_ms))
    asked = ("best", "small.log", "large.log", "--set", "seq_len=2048")
    found = answer(folder, *asked)
    assert [row["jobs"] for row in found] == [1, 1]
    said = quick(folder, *asked).out
    assert "2 logs state no model or no batch size: each counts as its own configuration" in said
    [known] = answer(folder, *asked, "--set", "model=1.3B")
    assert known["jobs"] == 2


def test_a_reason_names_what_is_missing(folder: Path) -> None:
    bare = " iteration {at:8d}/      50 | elapsed time per iteration (ms): 1000.0 |{more}\n"
    reasons = {
        " global batch size:     8 |": "no sequence length is stated (--set seq_len=...)",
        " samples per second: 8.0 |": "no sequence length is stated (--set seq_len=...)",
        " lm loss: 5.0E+00 |": "no global batch size and no sequence length is stated"
        " (--set gbs=...,seq_len=...)",
    }
    for more, reason in reasons.items():
        lines = (bare.format(at=at, more=more) for at in range(1, 31))
        (folder / "bare.log").write_text("".join(lines))
        assert f"no tokens/s: {reason}" in quick(folder, "best", "bare.log").out


def test_each_kind_of_recompute_is_a_level_of_its_own(folder: Path) -> None:
    """`Offload` is no recompute that is not stated, and `No AC` is none."""
    rows = "".join(
        f"| 8 | 8 | {kind} | {time} |\n"
        for kind, time in (("No AC", 4.0), ("Recompute", 5.0), ("Offload", 5.2))
    )
    (folder / "t.md").write_text(
        f"# 7B on H100\n\nGBS 64, sequence length 2048.\n\n| GPUs | DP | AC | Sec/it |\n"
        f"|---|---|---|---|\n{rows}"
    )
    found = answer(folder, "best", "t.md")
    assert [row["recompute"] for row in found] == ["none", "full", "Offload"]
    said = quick(folder, "compare", "--by", "recompute", "t.md").out
    assert "Full recompute is 1.04x faster than Offload recompute" in said
    assert "not stated" not in said


def test_a_rate_of_unknown_scope_is_not_called_missing(folder: Path) -> None:
    text = "# 7B training on 8 H100\n\n| Run | Tokens/s | Sec/it |\n|--|--:|--:|\n"
    (folder / "t.md").write_text(f"{text}| a | 9000 | 5.1 |\n| b | 8000 | 5.9 |\n")
    assert (
        "tokens/s of the job or of a device, not stated which" in quick(folder, "best", "t.md").out
    )


def test_one_run_s_table_of_values_has_no_setting_of_that_name(folder: Path) -> None:
    text = "# 7B training on 8 H100\n\n| Metric | Value |\n|--|--:|\n"
    (folder / "t.md").write_text(f"{text}| Step time | 0.4 s |\n| Tokens/s/GPU | 1200 |\n")
    assert "Metric=Value" not in quick(folder, "best", "t.md").out


@pytest.mark.parametrize("name", ["SLURM_JOB_NODELIST", "PBS_NODEFILE", "PJM_O_NODEINF"])
def test_names_of_nodes_and_jobs_are_no_settings(folder: Path, name: str) -> None:
    for node in ("node01", "node02"):
        text = f"NCCL_ALGO=Ring\n{name}={node}\n" + log(30, 100.0)
        (folder / f"{node}.log").write_text(text)
    asked = ("best", ".", "--set", "seq_len=2048", "--set", "model=1.3B")
    [found] = answer(folder, *asked)
    assert found["jobs"] == 2 and found["settings"] == "NCCL_ALGO=Ring"


def test_a_linked_setting_is_told_by_its_text(folder: Path) -> None:
    head = HEAD.replace("ZeRO", "Technique")
    rows = (ROW.format(zero=zero, time=5) for zero in ("[+ Compile](https://a.b/c)", "Baseline"))
    (folder / "t.md").write_text(f"# A sweep on A100\n\n{head}{RULE}{''.join(rows)}")
    page = quick(folder, "report", "t.md").out
    assert "+ Compile" in page[page.index("## Days") :] and "a.b/c" not in page
