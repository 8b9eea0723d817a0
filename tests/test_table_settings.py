"""Columns that set the rows of a table apart: environment variables, and settings unknown to us."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.ingest.documents.environment_columns import variable_of
from bench.ingest.documents.setting_columns import is_setting
from bench.vocabulary.headings import column_of
from tests.deciding import answer
from tests.program import quick

SWEEP = "# Sweep on H100 80GB, 8 GPUs per node\n\nSequence length 4096, model 7B.\n\n"


def sweep(folder: Path, heading: str, rows: str) -> Path:
    head = f"| Nodes | DP | TP | PP | MBS | GBS | {heading} | Sec/it |\n|--|--|--|--|--|--|--|--|\n"
    path = folder / "sweep.md"
    path.write_text(SWEEP + head + "".join(f"| {line} |\n" for line in rows.splitlines()))
    return path


TWO = "2 | 16 | 1 | 1 | 1 | 256 | {} | 10.0\n2 | 16 | 1 | 1 | 1 | 256 | {} | 8.0"


@pytest.mark.parametrize(
    ("heading", "cells"),
    [
        ("Recipe", ["[Link](https://example.org/a)", "[Link](https://example.org/b)"]),
        ("Error", ["+7.20%", "-3.10%"]),
        ("Allocated vs `[]`", ["control", "-1.96%", "+0.01%"]),
        ("1B Training Time(minutes)", ["8.4(300B 1.75days)", "3.2(1211105280, 3.9minutes)"]),
    ],
)
def test_links_differences_and_results_set_nothing(heading: str, cells: list[str]) -> None:
    assert not is_setting(heading, cells)


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("NCCL_ALGO", "NCCL_ALGO"), ("`OMP_NUM_THREADS`", "OMP_NUM_THREADS"),
        ("LD_PRELOAD=", "LD_PRELOAD"), ("`FI_PROVIDER=`", "FI_PROVIDER"),
        ("$UCX_TLS", "UCX_TLS"), ("env NCCL_ALGO", "NCCL_ALGO"),
        ("**MY_OWN_SWITCH**", "MY_OWN_SWITCH"),
        ("NCCL_ALGO (env)", "NCCL_ALGO"), ("GRAD\\_BUCKET\\_MB", "GRAD_BUCKET_MB"),
        ("JOB_ID", None), ("TRAIN_LOSS", None), ("STEP_TIME_MS", None), ("ZERO_STAGE", None),
        ("TFLOPS_FP8", None), ("FP8", None), ("Notes", None), ("nccl_algo", None), ("", None),
    ],
)  # fmt: skip
def test_a_heading_that_names_a_variable(heading: str, name: str | None) -> None:
    assert (None if column_of(heading) else variable_of(heading)) == name


@pytest.mark.parametrize("heading", ["NCCL_ALGO", "`NCCL_ALGO`", "NCCL_ALGO="])
def test_a_column_of_a_variable_is_a_flag(folder: Path, heading: str) -> None:
    path = str(sweep(folder, heading, TWO.format("-", "`NCCL_ALGO=Tree`")))
    ranked = answer(folder, "best", path)
    assert [(row["jobs"], row["settings"]) for row in ranked] == [
        (1, "NCCL_ALGO=Tree"), (1, "no NCCL_ALGO"),
    ]  # fmt: skip
    [pair] = answer(folder, "compare", path, "--by", "NCCL_ALGO")
    assert (pair["base"], pair["level"], round(pair["speedup"], 9)) == ("none", "Tree", 1.25)


def test_a_secret_in_a_column_is_not_kept(folder: Path) -> None:
    path = str(sweep(folder, "WANDB_API_KEY", TWO.format("0123456789abcdef", "hunter2hunter2")))
    done = quick(folder, "best", path, "--format", "json")
    assert done.code == 0 and "hunter2" not in done.text and "0123456789" not in done.text


@pytest.mark.parametrize(
    ("heading", "cells"),
    [("Interconnect", ("IB NDR", "RoCE")), ("NCCL", ("2.18.3", "2.20.5")),
     ("Bucket MB", ("25", "100")), ("Attention", ("eager", "flash")), ("Config", ("a", "b")),
     ("CUDA", ("12.1", "12.4"))],
)  # fmt: skip
def test_a_setting_that_nobody_knows_keeps_rows_apart(
    folder: Path, heading: str, cells: tuple[str, str]
) -> None:
    path = str(sweep(folder, heading, TWO.format(*cells)))
    for command in ("best", "days"):
        found = answer(folder, command, path)
        assert [row["jobs"] for row in found] == [1, 1], command
        assert {row["settings"] for row in found} == {f"{heading}={cell}" for cell in cells}
    [pair] = answer(folder, "compare", path, "--by", heading)
    assert (pair["base"], pair["level"], round(pair["speedup"], 9)) == (*cells, 1.25)


def test_such_a_setting_is_shown_on_pages(folder: Path) -> None:
    path = str(sweep(folder, "Attention", TWO.format("eager", "flash")))
    for command in ("best", "days"):
        assert "flash" in quick(folder, command, path).out, command


def test_such_a_setting_is_named_beside_another_factor(folder: Path) -> None:
    rows = "2 | 16 | 1 | 1 | 1 | 256 | ring | 10.0\n2 | 16 | 1 | 1 | 2 | 256 | tree | 8.0"
    path = str(sweep(folder, "Algorithm", rows))
    [pair] = answer(folder, "compare", path, "--by", "mbs")
    assert pair["also_differs"] == "Algorithm ring → tree"
    sizes = "1 | 8 | 1 | 1 | 1 | 256 | ring | 20.0\n2 | 16 | 1 | 1 | 1 | 256 | tree | 8.0"
    path = str(sweep(folder, "Algorithm", sizes))
    assert "No two runs differ" in quick(folder, "report", "scaling", path).out


def test_names_of_jobs_and_results_set_nothing_apart(folder: Path) -> None:
    for heading, cells in (
        ("Job", ("a1", "b2")), ("Loss", ("2.31", "2.35")), ("Power (W)", ("610", "633")),
        ("Run #", ("1", "2")), ("Node list", ("n[01-02]", "n[03-04]")),
        ("fits?", ("✅", "✅ **FITS**")), ("Canaries", ("all passed", "1 late")),
    ):  # fmt: skip
        assert not is_setting(heading, cells), heading
        path = str(sweep(folder, heading, TWO.format(*cells)))
        assert [row["jobs"] for row in answer(folder, "best", path)] == [2], heading


def test_what_rows_share_hides_nothing_that_differs(folder: Path) -> None:
    heads = (
        "NCCL_ALGO | NCCL_BUFFSIZE | OMP_NUM_THREADS | HF_TOKEN | TORCH_NCCL_AVOID_RECORD_STREAMS"
    )
    flags = "{} | 8388608 | 16 | hf_abcdefghijkl | 1"
    rows = TWO.format(flags.format("Ring"), flags.format("Tree"))
    done = quick(folder, "best", str(sweep(folder, heads, rows)))
    table = [line for line in done.out.splitlines() if line.startswith("|")]
    assert "NCCL_ALGO=Tree" in table[2] and "NCCL_ALGO=Ring" in table[3], done.out
    assert "BUFFSIZE" not in "".join(table) and "NCCL_BUFFSIZE=8388608" in done.out
    assert "hf_abc" not in done.text


def test_conditions_name_headings_of_tables(folder: Path) -> None:
    rows = TWO.format("IB's | 25", "RoCE | 1,000")
    path = str(sweep(folder, "Inter connect | Bucket MB", rows))
    for where, times in (
        ("\"Inter connect\" = 'IB''s'", [10.0]),
        ("\"inter connect\" in ('RoCE', 'none')", [8.0]),
        ('"Bucket MB" > 25', [8.0]),
        ('"Bucket MB" <= 1000 and dp = 16', [8.0, 10.0]),
    ):
        found = answer(folder, "best", path, "--where", where)
        assert [row["step_time_s"] for row in found if not row["left_out"]] == times, where
    done = quick(folder, "best", path, "--where", "Bucket = 1")
    assert done.code == 2 and "Bucket MB" in done.text


def test_listings_and_pages_keep_other_settings_apart(folder: Path) -> None:
    path = str(sweep(folder, "Algorithm", TWO.format("ring", "tree")))
    listed = answer(folder, "runs", path)
    assert {(row["settings"], row["runs"]) for row in listed} == {
        ("Algorithm=ring", 1),
        ("Algorithm=tree", 1),
    }
    page = quick(folder, "report", path).out
    assert "Algorithm=ring" in page and "Algorithm=tree" in page


@pytest.mark.parametrize(
    ("heading", "cells", "column"),
    [
        ("Precision", ("amp_bf16", "amp_fp8"), "dtype"),
        ("Activation Checkpointing", ("True", "False"), "recompute"),
        ("`Accelerator type`", ("A100-40GB", "A100-80GB"), "device"),
    ],
)
def test_a_heading_that_was_read_is_its_column(
    folder: Path, heading: str, cells: tuple[str, str], column: str
) -> None:
    path = str(sweep(folder, heading, TWO.format(*cells)))
    [pair] = answer(folder, "compare", path, "--by", heading)
    assert pair["factor"] == column and pair["speedup"] in (
        pytest.approx(1.25), pytest.approx(0.8)
    )  # fmt: skip
    assert "nothing to compare by 'Sec/it'" in quick(folder, "compare", path, "--by", "Sec/it").err


@pytest.mark.parametrize(
    ("heading", "cells"), [("Accum", ("fp32", "bf16")), ("Context", ("long", "short"))]
)
def test_words_under_a_heading_of_numbers_exclude_no_row(
    folder: Path, heading: str, cells: tuple[str, str]
) -> None:
    path = str(sweep(folder, heading, TWO.format(*cells)))
    found = answer(folder, "best", path)
    assert {row["settings"] for row in found} == {f"{heading}={cell}" for cell in cells}


@pytest.mark.parametrize(
    ("heading", "cells", "settings"),
    [
        ("Context", ("8192", "long"), {"Context=long", None}),
        ("EP", ("auto", "manual"), {"EP=auto", "EP=manual"}),
        ("VPP", ("2", "not used"), {"VPP=not used", "vpp=2"}),
    ],
)
def test_a_word_among_numbers_is_a_remark_of_its_row(
    folder: Path, heading: str, cells: tuple[str, str], settings: set[str]
) -> None:
    path = str(sweep(folder, heading, TWO.format(*cells)))
    found = answer(folder, "best", path)
    assert {row["settings"] for row in found} == settings
    assert not any("no number" in (row["left_out"] or "") for row in found)


def test_a_word_in_place_of_a_result_is_why_there_is_none(folder: Path) -> None:
    rows = "2 | 16 | 1 | 1 | 1 | 256 | {} | 10.0\n2 | 16 | 1 | 1 | 2 | 256 | {} | see below"
    path = str(sweep(folder, "Algorithm", rows.format("ring", "ring")))
    listed = answer(folder, "runs", path)
    assert {row["settings"] for row in listed} == {"Algorithm=ring"}
    [row] = [one for one in answer(folder, "best", path) if not one["left_out"]]
    assert row["step_time_s"] == pytest.approx(10.0)


def test_pairs_of_settings_in_one_cell_are_settings_of_their_own(folder: Path) -> None:
    """What was read as a column is no setting once more, so the effect of TP can be seen."""
    rows = "2 | {3} | {0} | 1 | 2 | 256 | (tp={0}, zero1={1}) | {2}"
    every = [rows.format(1, 8, 10, 16), rows.format(2, 8, 8, 8), rows.format(1, -1, 12, 16)]
    path = sweep(folder, "Parallel Configuration", "\n".join(every))
    done = quick(folder, "compare", "--by", "tp", str(path))
    assert "TP2 is 1.25x faster than TP1 in the one configuration tried" in done.out
    assert "no partner that differs in tp (sweep:9)" in done.out, "it has another zero1"


def test_batches_of_replicas_set_rows_without_a_batch_apart(folder: Path) -> None:
    head = (
        "| GPUs | TP | Micro batch | Gradient accumulation | Tokens/s/GPU |\n" + "|--" * 5 + "|\n"
    )
    rows = ("64 | 1 | 2 | 4 | 3900", "64 | 1 | 2 | 2 | 3084", "64 | 1 | 4 | 2 | 3800")
    (folder / "few.md").write_text(SWEEP + head + "".join(f"| {row} |\n" for row in rows))
    found = json.loads(quick(folder, "best", "few.md", "--format", "json").out)
    assert [row["jobs"] for row in found if row["left_out"] is None] == [1, 1, 1]
    compared = quick(folder, "compare", "--by", "mbs", "few.md").out
    assert "in the one configuration tried" in compared, "MBS 2 x GA 4 and MBS 4 x GA 2"


def test_a_pair_of_batches_sets_its_row_apart(folder: Path) -> None:
    rows = "2 | 16 | 1 | 1 | 4 / 16 | 256 | a | 10.0\n2 | 16 | 1 | 1 | 10 / 20 | 256 | a | 8.0"
    shown = quick(folder, "runs", str(sweep(folder, "Host", rows)), "--format", "json")
    runs = json.loads(shown.out)
    assert sorted(run["settings"] for run in runs) == ["MBS=10 / 20", "MBS=4 / 16"]


def test_names_in_words_set_rows_apart() -> None:
    assert is_setting("Name", ["Baseline (DP only)", "+Shuffler", "+ selective recompute"])
    assert is_setting("Run", ["v3", "v27", "v28 orig", "v28 fresh"])
    assert is_setting("Learning Rate", ["`0.0020`", "`0.0010`"])
    assert is_setting("Max Source Length", ["4096", "1024"])
    assert is_setting("Loss", ["cross entropy", "fused linear"])
    assert not is_setting("GPU Usage %", ["97.3 +/- 0.9", "83.5 +/- 17.2"])
    assert not is_setting("Loss", ["finite, well-behaved", "**nan@2**", "2.31"])
    assert is_setting("Run", ["v3", "v4"])
    for names in (
        ["job_17", "job_18"],
        ["run 1", "run 2"],
        ["2024-05-01 12:00", "2024-05-02 9:00"],
    ):
        assert not is_setting("Name", names) and not is_setting("Run", names)
