"""Conditions of runs where authors put them: quoted lines, captions below, general sections."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.ingest.documents.tables import read_markdown
from bench.vocabulary.headings import column_of
from tests.documents import Run, check, read

TABLE = "| Method | MBS | Step time (s) | Memory (GB) |\n|--|--|--|--|\n| LoRA | 1 | 2.0 | 22 |\n"
NO_SCOPE = "> We quote the paper: seq_len=4096, precision=bf16, TP=8.\n\nOur own runs.\n\n"


def run_of(text: str, folder: Path) -> Run:
    ((run,), _) = read(text, folder)
    return run


def test_settings_in_the_form_of_a_quotation(tmp_path: Path) -> None:
    above = "> Sequence length=**4096**, Precision=**bf16**, TP=**8**\n\n"
    check(run_of(f"# 7B training\n\n{above}{TABLE}", tmp_path), seq_len=4096, dtype="bf16", tp=8)
    # not right above the table: of others
    check(run_of(f"# 7B training\n\n{NO_SCOPE}{TABLE}", tmp_path), seq_len=None, tp=None)


def test_a_caption_below_names_its_model(tmp_path: Path) -> None:
    text = f"# Fine-tuning\n\n## 7B\n\n{TABLE}\n*Llama-2 7B with context length of 2048*\n"
    check(run_of(text, tmp_path), seq_len=2048)


def test_a_reference_to_a_plan_is_no_plan(tmp_path: Path) -> None:
    model = "```\nnum_layers=24, hidden_size=2048\nseq_length=2048, global_batch_size=64\n```\n"
    text = f"# Lab\n\n## Frozen model{{}}\n\n{model}\n## Results\n\n{TABLE}"
    check(run_of(text.format(" (plan §5)"), tmp_path), layers=24, hidden=2048, seq_len=2048, gbs=64)
    check(run_of(text.format(" (plan)"), tmp_path), layers=None, hidden=None, gbs=None)


def test_a_table_of_settings_names_device_and_framework(tmp_path: Path) -> None:
    rows = "| 硬件 | TPU v7 (Ironwood) |\n| 框架 | MaxText (v1.5) |\n"
    above = f"## 模型概况\n\n| 项目 | 值 |\n|--|--|\n{rows}\n"
    run = run_of(f"# Training 7B\n\n{above}## 测试结果\n\n{TABLE}", tmp_path)
    check(run, device="TPU v7", framework="MaxText")


@pytest.mark.parametrize(
    ("words", "device", "devices"),
    [
        ("a dual 4090 workstation", "RTX 4090", 2),
        ("two 3090s", "RTX 3090", 2),
        ("step 4090", None, None),
        ("1에서 8 GPU", None, None),  # from 1 to 8
        ("a dual A100 node", "A100", None),
    ],
)
def test_cards_by_their_number_alone(
    words: str, device: str | None, devices: int | None, tmp_path: Path
) -> None:
    run = run_of(f"# 7B\n\nAll runs were made on {words}.\n\n{TABLE}", tmp_path)
    check(run, device=device, devices=devices, nodes=None)


def test_nodes_times_devices_among_settings_of_a_model(tmp_path: Path) -> None:
    above = "All rows below: llama-7B, bf16, seq_len 1024, micro-batch 1, 2 nodes × 4 GPU.\n\n"
    run = run_of(f"# Training\n\n{above}{TABLE}", tmp_path)
    check(run, nodes=2, devices=8, seq_len=1024, mbs=1, dtype="bf16")


def test_one_printed_row_below_a_rule(tmp_path: Path) -> None:
    head = "| Model_Size (Billion Param) | Nodes | Tensor_Parallel | Tokens/sec |"
    rule = "|----------------------------|-------|-----------------|------------|"
    row = "|                         13 |     8 |               2 |   60777.68 |"
    run = run_of(f"# Training\n\n```\n{head}\n{rule}\n{row}\n```\n", tmp_path)
    check(run, params_b=13.0, nodes=8, tp=2, tokens_per_s=60777.68)


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("Iter 3-9 Avg (TFLOPS/GPU)", "tflops"),
        ("tok/s (steps 10-50)", "tokens_per_s"),
        ("Mean step time (steps 3-20)", "step_time"),
        ("Iter 1-5 avg (TFLOPS)", None),  # with compilation
        ("Iter 3-9 Avg (s)", None),
    ],
)
def test_means_of_a_window_of_steps(heading: str, name: str | None) -> None:
    column = column_of(heading)
    assert (column and column.name) == name


@pytest.mark.parametrize(("cell", "memory"), [("66.27 * 8 GB", 66.27), ("33 * 16 GB", None)])
def test_memory_times_devices(cell: str, memory: float | None, tmp_path: Path) -> None:
    text = f"# 7B\n\n| GPUs | TP | Sec/it | Memory |\n|--|--|--|--|\n| 8 | 2 | 3.5 | {cell} |\n"
    check(run_of(text, tmp_path), memory=memory)


def test_switches_of_number_formats(tmp_path: Path) -> None:
    rows = (
        "| 8 | 2 | 3.5 | false | true |",
        "| 8 | 4 | 3.5 | ✓ | - |",
        "| 8 | 8 | 3.5 | no | no |",
    )
    head = "| GPUs | TP | Sec/it | fp16 | bf16 |\n|--|--|--|--|--|\n"
    runs, _ = read(f"# Training 7B\n\n{head}" + "\n".join((*rows, "| 8 | 1 | 3.5 |")), tmp_path)
    assert [(run["dtype"], run["step_time_s"]) for run in runs] == [
        ("bf16", 3.5), ("fp16", 3.5), (None, 3.5), (None, 3.5)
    ]  # fmt: skip


def test_a_cell_that_lacks_beside_switches_of_formats_is_told() -> None:
    head = "# Training 7B\n\n| GPUs | fp16 | Sec/it | TP |\n|--|--|--|--|\n"
    rows, _ = read_markdown(f"{head}| 8 | false | 3.5 | 2 |\n| 8 | true | 3.5 |\n", "page")
    told = [(one["code"], one["message"], one["line"]) for one in rows.by_table["warnings"]]
    assert ("ragged_row", "3 cells under 4 headings", 6) in told


@pytest.mark.parametrize(("second", "batches"), [(72770, [None, None]), (9099, [64, 16])])
def test_a_batch_that_its_rates_deny(
    second: int, batches: list[int | None], tmp_path: Path
) -> None:
    """Of 262,144 tokens in each step neither 64 nor 16 sequences are the batch."""
    head = "| Configuration | ms/step | tok/s | Batch |\n|--|--|--|--|\n"
    first = 43917 if None in batches else 21968
    rows = f"| FP32 | 5966 | {first} | 64 |\n| FA2 | 3601 | {second} | 16 |\n"
    runs, _ = read(f"# Training 130M\n\nOn H200, seq_len=2048:\n\n{head}{rows}", tmp_path)
    assert [run["gbs"] for run in runs] == batches
