"""Counts, batches and methods in documents that nobody had read before."""

from pathlib import Path

import pytest

from bench.ingest.documents.context import phrases_in
from bench.ingest.documents.device_counts import counted, devices_of_heading
from bench.ingest.documents.frameworks import frameworks_heading
from bench.vocabulary.headings import columns_of
from tests.documents import check, read


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Measured on two NVIDIA GeForce RTX 2080 GPUs", {"2"}),
        ("Trained on Ascend 910 NPUs", set()),
        ("We ran on 8 Intel Max 1550 GPUs", {"8"}),
        ("64 DGX H100 GPUs", {"64"}),
    ],
)
def test_the_number_of_a_device_s_name_is_no_count(text: str, count: set[str]) -> None:
    assert {fact.value for fact in counted(text, 1) if fact.field == "devices"} == count


def test_a_library_among_versions_of_software_is_no_trainer() -> None:
    stack = phrases_in("Performance (Ascend 910, bf16, CANN 8.3 + PyTorch 2.5)", 1, "heading")
    alone = phrases_in("124M model, Sequence Length=1024, PyTorch 1.10", 1, "heading")
    assert "framework" not in {fact.field for fact in stack}
    assert "PyTorch 1.10" in {fact.value for fact in alone if fact.field == "framework"}


@pytest.mark.parametrize(
    ("heading", "count"),
    [
        ("8-NPU Multi-Card Benchmarks", ["8"]),
        ("Single-NPU Benchmarks", ["1"]),
        ("2026-10-09 single-card batch-size test", ["1"]),
        ("Single-GPU vs 8-GPU throughput", []),
        ("Per-GPU throughput", []),
        ("From 8-GPU to 64-GPU", []),
    ],
)
def test_devices_in_a_compound_word_of_a_heading(heading: str, count: list[str]) -> None:
    assert [fact.value for fact in devices_of_heading(heading, 1)] == count


def test_one_node_of_several_devices() -> None:
    facts = {fact.field: fact.value for fact in counted("One 8xH100 node, bf16", 1)}
    assert facts == {"nodes": "1", "devices": "8", "devices_per_node": "8"}
    assert not list(counted("Each 8xH100 node has 2 TB", 1))


def test_gc_over_yes_and_dashes_is_recomputation(tmp_path: Path) -> None:
    text = """\
# Training throughput (bf16)

| Model | SEQ | GC | Tokens/s/GPU | MFU |
|--|--|--|--|--|
| Qwen3-0.6B | 2048 | - | 9,731 | 22.5% |
| Qwen3-0.6B | 8192 | Yes | 9,834 | 39.0% |
"""
    (without, second), _ = read(text, tmp_path)
    check(without, recompute=None)
    check(second, recompute="full")


def test_a_bare_batch_next_to_accumulation_smaller_than_a_step(tmp_path: Path) -> None:
    text = """\
# Training throughput on 8 H100

| Model | Parallelism | BS | GA | Tok/s/GPU |
|--|--|--|--|--|
| Qwen3-0.6B | DP8 | 2 | 2 | 9,877 |
| Qwen3-0.6B | TP2-DP4 | 4 | 1 | 4,597 |
"""
    runs, _ = read(text, tmp_path)
    assert [(run.get("mbs"), run.get("gbs_stated")) for run in runs] == [(2, None), (4, None)]
    runs, _ = read(
        text.replace("| 2 | 2 |", "| 32 | 2 |").replace("| 4 | 1 |", "| 32 | 1 |"), tmp_path
    )
    assert [run.get("gbs_stated") for run in runs] == [32, 32]


def test_a_numbered_heading_with_settings_names_the_framework() -> None:
    (fact,) = frameworks_heading("8.4 Megatron-LM training (5 configs, seq=4096, bf16)", 1)
    assert fact.value == "Megatron-LM"
    assert not frameworks_heading("26.02 NeMo Container", 1)
    assert not frameworks_heading("Docker (NeMo, Megatron-LM, 26.04)", 1)


def test_columns_of_useful_tokens_per_device_and_of_named_models(tmp_path: Path) -> None:
    text = """\
# Training benchmark on 4 H200

| Model | Params | Batch / GPU | Useful tokens/s | Per GPU | Peak allocated |
|--|--|--|--|--|--|
| pilot | 11.5M | 2 | 19,234 | 4,808 | 50.9 GiB |
"""
    ((run,), _) = read(text, tmp_path)
    check(run, tokens_per_s=19234.0, tokens_per_s_per_device=4808.0, params_b=0.0115, model="pilot")
    assert [column and column.name for column in columns_of(["GPU", "Per GPU"])] == ["device", None]


def test_methods_behind_the_quantity_of_a_heading(tmp_path: Path) -> None:
    text = """\
# Training on one RTX 4090

| BS | Peak VRAM | tok/s (eager) | tok/s (compiled) | Headroom |
|--|--|--|--|--|
| 16 | 6.3GB | ~1,800 | ~5,000 | 18GB |
"""
    (eager, compiled), _ = read(text, tmp_path)
    check(eager, tokens_per_s=1800.0, memory=None)
    check(compiled, tokens_per_s=5000.0)


@pytest.mark.parametrize("cell", ["300B", "~0.92B", "`300B`", "2x 300B"])
def test_a_number_by_itself_is_no_size(cell: str, tmp_path: Path) -> None:
    table = (
        f"| System | Tokens trained | GPUs | TFLOPs |\n|-|-|-|-|\n| Eos | {cell} | 1024 | 700 |\n"
    )
    [run], _ = read(f"# GPT-3 175B training\n\n{table}", tmp_path)
    check(run, size="175B")
