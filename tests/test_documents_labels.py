"""Labels, checks, counts and dates as tables of other projects write them, a few rows each."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.vocabulary.sizes import parse_size
from tests.documents import check, read

# modelscope/ms-swift docs/source/LLM/Benchmark.md
SWIFT = """\
# Training of 14b models
<table>
<tr><td>Model Type [LoRA]</td><td>Gradient Checkpointing</td><td>Training Speed</td>
<td>GPU Memory</td></tr>
<tr><td rowspan="2">qwen-7b-chat</td><td>&#x2714;</td><td>7.01min</td><td>19362MiB</td></tr>
<tr><td>&#x2718;</td><td>5.19min</td><td>30316MiB</td></tr>
<tr><td>qwen-1_8b-chat</td><td>&#x2714;</td><td>2.48min</td><td>7624MiB</td></tr>
</table>
"""


def test_a_model_of_its_own_cell_is_not_that_of_the_section(tmp_path: Path) -> None:
    (checkpointed, kept, small), _ = read(SWIFT, tmp_path)
    check(checkpointed, model="qwen-7b-chat", params_b=7.0, recompute="full", memory=19362.0)
    check(kept, model="qwen-7b-chat", params_b=7.0, recompute="none", memory=30316.0)
    check(small, model="qwen-1_8b-chat", params_b=1.8)


@pytest.mark.parametrize(
    ("label", "size"),
    [("qwen-1_8b-chat", 1.8), ("1_5B", 1.5), ("llama_2_7b", 7.0), ("llama-2_13b", 13.0)],
)
def test_an_underscore_is_a_point_only_within_a_small_size(label: str, size: float) -> None:
    assert parse_size(label) == size


# Lightning-AI/litgpt tutorials/resource-tables.md
LITGPT = """\
# Resource Tables

All experiments were run using 16-bit brain floating point precision (`--precision bf16-true`). \
If your GPU does not support it, use `fp16`.

## Finetuning with LoRA on Multiple GPUs

| Size | Model | Microbatch size | GPU | Max GPU RAM | Time 1k iterations |
|---|---|---|---|---|---|
| 3 B | StableLM Alpha | 1 | 2 x A100 | 12.75 GB | 2.92 min |
|     |                |   |          |          | -        |
| 13 B | Llama 2 | 1 | 2 x A100 | OOM | - |
"""


def test_memory_what_parts_rows_and_what_holds_for_all(tmp_path: Path) -> None:
    (alpha, llama), _ = read(LITGPT, tmp_path)
    check(alpha, memory=12.75, status="ok", dtype="bf16", devices=2, device="A100")
    check(llama, memory=None, status="oom", dtype="bf16")


# Ascend/MindSpeed-LLM README.md
MINDSPEED = """\
## 预训练
| 模型系列 | 实验模型 | 硬件信息 | 集群规模 | MFU |
|---|---|---|---|---|
| LLAMA2 | LLAMA2-70B | Atlas 900 A2 PODc | 4x8 | 55.8% |
"""


def test_a_cluster_of_nodes_times_devices(tmp_path: Path) -> None:
    (run,), _ = read(MINDSPEED, tmp_path)
    check(run, model="LLAMA2-70B", devices=32, device="Atlas 900 A2 PODc", mfu=0.558)


# caikit/caikit-nlp benchmarks/README.md and meta-pytorch/torchtune README.md
DATED = """\
# Tuning
| Date Executed | Runnable On | Precision | Batch Size | Samples Per Second |
|---|---|---|---|---|
| [2023-09-05](./logs/20230905_183655.output) | 1x 4090 | bfloat16 | 6 | 21.325 |
"""


def test_dates_and_devices_named_by_a_number(tmp_path: Path) -> None:
    (run,), _ = read(DATED, tmp_path)
    check(run, date="2023-09-05", devices=1, device="4090", dtype="bf16", job_ids=[])


# NVIDIA-NeMo/Automodel docs/performance-summary.md and docs/deepep_vs_hybridep_benchmark.md
AUTOMODEL = """\
# NeMo AutoModel Performance Summary

## Training on a single node, EP8 (GBS 128)

| #GPUs | MBS | TP | PP | FSDP | Tokens/sec/GPU |
|---|---|---|---|---|---|
| 8 | 1 | 2 | 4 | 1 | 608.42 |
| 8 | 1 | 1 | 4 | 1 | 608.42 |
"""


def test_what_titles_and_headings_name(tmp_path: Path) -> None:
    (whole, unclear), _ = read(AUTOMODEL, tmp_path)
    check(whole, framework="NeMo AutoModel", ep=8, gbs=128, dp_shard=1)
    check(unclear, dp_shard=None)


# NVIDIA-NeMo/Automodel docs/deepep_vs_hybridep_benchmark.md
DISPATCHERS = """\
## Real training results, EP8 (GBS 128)

| dispatcher | step time | tokens/s (total / per GPU) | est. MFU |
|---|---:|---:|---:|
| deepep | 5.366 s | 97,689 / 12,211 | ~31% |
| hybridep | **5.085 s** | **103,081 / 12,885** | - |
| other | 6.1 s | – | - |
"""


def test_two_quantities_of_one_column(tmp_path: Path) -> None:
    (first, bold, missing), _ = read(DISPATCHERS, tmp_path)
    check(first, tokens_per_s=97689.0, tokens_per_s_per_device=12211.0, step_time_s=5.366)
    check(bold, tokens_per_s=103081.0, tokens_per_s_per_device=12885.0)
    check(missing, tokens_per_s=None, tokens_per_s_per_device=None, step_time_s=6.1)


def test_a_heading_of_two_over_single_values_stays_unread(tmp_path: Path) -> None:
    text = DISPATCHERS.replace(" / 12,211", "")
    (first, _, _), _ = read(text, tmp_path)
    check(first, tokens_per_s=None, tokens_per_s_per_device=None)


# a sweep of 35B on 32 H100; its loss is left out
WINNER = """\
# Training throughput sweep

| | |
|---|---|
| tokens/sec (32 GPU) | **236.1K** steady (steps 3–10) |
| tokens/sec/GPU | **7.38K** |
| TFLOPS/GPU / MFU | 145.2 / 14.7% (logical accounting) |
| peak mem | 58.9 GB, 0 allocator retries |
"""


def test_two_quantities_in_a_row_of_one_run(tmp_path: Path) -> None:
    (run,), _ = read(WINNER, tmp_path)
    check(run, tokens_per_s=236100.0, tokens_per_s_per_device=7380.0, tflops=145.2, mfu=0.147)
    check(run, memory=58.9)


# OpenRLHF/OpenRLHF benchmark/README.md; a note on MegaTrain
VARIANTS = """\
# OpenRLHF Benchmark

| Method | Training TFLOPs | Speedup |
|---|---|---|
| OpenRLHF | 115.5 | - |
| OpenRLHF(ray+vllm) | 75.0 | - |
| MegaTrain | >250 | baselines OOM |
"""


def test_a_variant_in_brackets_and_what_others_did(tmp_path: Path) -> None:
    (plain, variant, bound), _ = read(VARIANTS, tmp_path)
    check(plain, framework="OpenRLHF")
    check(variant, framework="OpenRLHF(ray+vllm)")
    check(bound, status="ok", tflops=None)


# PaddlePaddle/PaddleNLP llm/docs/pretrain.rst
PADDLE = """\
预训练性能
----------

- GPU: A100 80G * 8, CUDA 11.8, NCCL 2.15

.. csv-table:: 模型性能测试汇总
    :header: 模型,序列长度,分布式策略,速度 [#]_,显存占用 [#]_,测试时间

    ``facebook/llama-13b``,4096,``tp2sd4_stage2``,1969.64,64278MB,2023-11-27 21:58:03
    ``baichuan-inc/Baichuan2-13B-Base``,4096,``sd8_stage2``,1354.99,74767MB,2023-11-27 21:51:26

..  [#] 速度的单位是``tokens/card/sec``，每张卡每秒需训练的token数。
"""


def test_a_strategy_in_one_word(tmp_path: Path) -> None:
    (both, sharded), _ = read(PADDLE, tmp_path)
    check(both, model="facebook/llama-13b", params_b=13.0, seq_len=4096, memory=64278.0)
    check(both, tp=2, dp_shard=4, zero_stage=2, date="2023-11-27", devices=8)
    check(sharded, tp=None, dp_shard=8, zero_stage=2)
    check(sharded, tokens_per_s_per_device=1354.99, tokens_per_s=None)


def test_a_unit_of_another_column_changes_nothing(tmp_path: Path) -> None:
    text = PADDLE.replace("速度的单位是", "Loss is in ").replace("，每张卡每秒需训练的token数", "")
    (both, _), _ = read(text, tmp_path)
    check(both, tokens_per_s_per_device=None, memory=64278.0)


@pytest.mark.parametrize("unit", ["tokens/s/GPU", "samples/s", "tokens/fortnight"])
def test_a_unit_in_a_sentence_below(unit: str, tmp_path: Path) -> None:
    table = "| GPUs | MBS | Speed |\n|--|--|--|\n| 8 | 4 | 96.5 |\n"
    text = f"## Training\n\n{table}\nSpeed is in {unit}.\n"
    ((run,), _) = read(text, tmp_path)
    device, samples = (96.5 if unit == one else None for one in ("tokens/s/GPU", "samples/s"))
    check(run, tokens_per_s_per_device=device, samples_per_s=samples, tokens_per_s=None)


def test_a_speed_whose_heading_names_its_unit(tmp_path: Path) -> None:
    header = "| GPUs | MBS | Training speed (tokens/s/GPU) |"
    text = f"## Training\n\n{header}\n|--|--|--|\n| 8 | 4 | 96.5 |\n"
    ((run,), _) = read(text, tmp_path)
    check(run, tokens_per_s_per_device=96.5)


# PaddlePaddle/PaddleNLP llm/docs/pretrain.rst
SUPPORTED = """\
## Training
| Model | Data Parallel | Tensor Parallel | Pipeline Parallel |
|---|---|---|---|
| LLaMA-65B | ✅ | ✅ | 🚧 |
| GPT3 | ✅ | ❌ | - |
"""


def test_what_a_program_supports_is_no_run(tmp_path: Path) -> None:
    runs, _ = read(SUPPORTED, tmp_path)
    assert runs == []
    (tmp_path / "sized").mkdir()
    runs, _ = read(SUPPORTED.replace("❌", "2"), tmp_path / "sized")
    assert len(runs) == 2


def test_a_label_names_the_trainer_beside_the_model(tmp_path: Path) -> None:
    head = "# Training\n\n| model | GPUs | samples/s |\n|---|---|---|\n"
    rows = "| megatron bert 345m | 8 | 137.9 |\n| bert 345m with deepspeed zero0 | 8 | 72.8 |\n"
    rows += "| Megatron 8.3B | 8 | 12.5 |\n| bert 345m with deepspeed zero3+offload | 8 | 18.3 |\n"
    (own, zero, whole, offload), _ = read(head + rows, tmp_path)
    check(own, model="bert 345m", framework="megatron")
    check(zero, model="bert 345m", framework="deepspeed", zero_stage=0)
    check(whole, model="Megatron 8.3B", framework=None)  # of that name there is a model
    check(offload, model="bert 345m with offload", zero_stage=3)  # no run of the same settings
