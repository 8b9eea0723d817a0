"""One thing in many words: each is read as that, and what may be something else stays empty."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.ingest.documents.ambiguous_columns import decided
from bench.ingest.documents.grid import Table
from bench.ingest.documents.markdown import blocks
from bench.ingest.documents.prose import lead_facts
from bench.ingest.documents.techniques import recompute_named
from bench.ingest.documents.unlisted_framework import tool_defined, tool_used
from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory
from bench.vocabulary.headings import column_of, columns_of

HEADINGS = {
    "hfu": "MFU (hw)|MFU (hardware)|HW MFU|Hardware MFU|HFU per GPU",
    "grad_accum": "GradAccm|train.gradient_accumulation_steps|Grad. Accum.|GradAcc|grad_accum_steps"
    "|Accum. steps|acc steps|GA steps"
    "|Gradient accumulation factor|gradient_accum_every|accumulate_grad_batches|梯度累加|累积步数"
    "|梯度累积步数",
    "mbs": "Per-core batch|Batch size per core"
    "|每卡批大小|单卡批次|微批次大小|微批大小|Batch size per rank|Microbatch/GPU|Local/GPU",
    "step_time": "Batch time|Time per batch|Time/batch (ms)|s/batch|Batch latency|迭代耗时"
    "|每步时间（秒）|Wall time per step|Warm seconds/update|iter_dt|Step wall (s)",
    "seq_len": "n_ctx|model_max_length|Tokens per sample|上下文长度|最大长度|序列长",
    "tokens_per_s": "tokens/秒|每秒token数|Warm tokens/s"
    "|Tokens/s (8×H100)|tok/s (mean ± std)|final tok/s",
    "agg_pflops": "Aggregate TF/s|Total TFLOP/s",
    "samples_per_s": "样本/秒|每秒样本数",
    "devices": "GPU数量|GPU 数量|卡数量",
    "nodes": "节点数量|机器数量",
    "mem": "peak GiB|Peak GB|max GiB|Reserved GiB|显存峰值|峰值显存占用（GiB）|显存占用",
    "mfu": "MFU/GPU|per-GPU MFU|per-GCD MFU|MFU (model)|Model MFU|模型算力利用率|MFU利用率",
    "recompute": "Block checkpointing|激活重计算|是否重计算|梯度检查点",
    "": "Accumulation|Micro-steps|Per replica batch|Per-worker batch size|Mini-batch time"
    "|Time per micro-batch|Time per sample (ms)|Tokens/batch|Memory/batch|Loss per batch"
    "|TFLOPs/batch|Data time/batch|acc. step time (s)|tokens/s/core|序列并行|训练时长|算力"
    "|rollout.tensor_parallel_size|Energy (J/token)|Cost ($/h)|Step time std (ms)|Update"
    "|Update (ms)|Update time (s)|Optimizer update (ms)|Final loss",
}


@pytest.mark.parametrize(
    ("name", "heading"),
    [(name, one) for name, every in HEADINGS.items() for one in every.split("|")],
)
def test_headings(name: str, heading: str) -> None:
    column = column_of(heading)
    assert (column.name if column else "") == name


TECHNIQUES = {
    "full": "Full checkpointing|+ Activation Checkpointing|[+ Activation Checkpointing](https://x.org/a.html#b)"
    "|FSDP + AC|full recompute|TP2, gradient checkpointing|act ckpt|激活重计算|+ remat"
    "|Activation checkpointing: on|with gradient checkpointing",
    "selective": "Selective activation recomputation|activation checkpointing (selective)"
    "|TP + 选择性重计算|FSDP2 + SAC|Selective checkpointing",
    "none": "FSDP2 + no AC|w/o gradient checkpointing|gradient checkpointing off|recompute=none"
    "|Disable activation checkpointing",
    "": "+ Activation Offloading|- Activation checkpointing|Checkpointing|async checkpointing"
    "|Activation checkpointing every 2 layers|Gradient accumulation|AC|no AC|AC power"
    "|with activation checkpointing; without activation checkpointing",
}


@pytest.mark.parametrize(
    ("kind", "words"),
    [(kind, one) for kind, every in TECHNIQUES.items() for one in every.split("|")],
)
def test_techniques_of_a_row(kind: str, words: str) -> None:
    assert (recompute_named(words) or "") == kind


@pytest.mark.parametrize(
    ("text", "mbs"),
    [
        ("Recipe=full_finetune_single_device, Model=Llama 3.2 3B, Batch size=2", "2"),
        ("on a single GPU with a batch size of 4", "4"),
        ("1x H100, batch size 4", "4"),
        ("one GPU, batch size 8 without gradient accumulation", "8"),
        ("单卡, batch size 8", "8"),
        ("single GPU, global batch size 64", None),
        ("from a single GPU to 8 GPUs with batch size 4", None),
        ("on one GPU, batch size 64 using gradient accumulation", None),
        ("on one GPU, batch size 8, gradient_accumulation_steps=4", None),
        ("on one GPU, batch size 8, grad-acc 4", None),
        ("single node, batch size 8", None),
        ("Single GPU: batch size 1, 2 and 4", None),
        ("one GPU of 4 GPUs, batch size 8", None),
        ("batch size 512k tokens on one GPU", None),
    ],
)
def test_a_batch_on_one_device(text: str, mbs: str | None) -> None:
    assert {fact.field: fact.value for fact in lead_facts(text, 1)}.get("mbs") == mbs


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "Modalities is a PyTorch-native framework for distributed training of LLMs.",
            "Modalities",
        ),
        ("**Pai-Megatron-Patch** is a deep learning training toolkit.", "Pai-Megatron-Patch"),
        ("LMFlow is an efficient toolbox for finetuning large models", "LMFlow"),
        ("Liger Kernel is a collection of Triton kernels for LLM training.", None),
        ("FlashAttention is a library of attention kernels for training.", None),
        ("The Stack is a dataset for training code models", None),
        ("WandB is a platform for tracking training", None),
        ("Bagua is a training acceleration framework for PyTorch", None),
        ("It is a framework for training", None),
        ("DeepSpeed is a deep learning optimization library", None),
    ],
)
def test_a_document_defines_its_tool(text: str, name: str | None) -> None:
    assert tool_defined(text) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Below are performance benchmarks for various models using DFM framework.", "DFM"),
        ("We train with our ABC codebase.", "ABC"),
        ("with the PyTorch framework", None),
        ("using the Foo framework and the Bar framework", None),
    ],
)
def test_a_sentence_names_its_framework(text: str, name: str | None) -> None:
    assert tool_used(text) == name


@pytest.mark.parametrize(
    ("read", "text"),
    [(recompute_named, f"no{chr(160) * 20_000}x"), (tool_used, "A" * 20_000)],
)
def test_long_texts_take_no_longer_than_their_length(
    read: Callable[[str], object], text: str
) -> None:
    begun = time.process_time()
    assert read(text) is None
    assert time.process_time() - begun < 0.5


def settled(text: str, accumulations: set[int]) -> list[str]:
    [table] = [one for one in blocks(text) if isinstance(one, Table)]
    columns, _ = decided(table, columns_of(table.header.cells), accumulations)
    return [column.name if column else "" for column in columns]


RATES = "| Hardware | Batch size | samples/s | steps/s |\n|--|--|--|--|\n"


@pytest.mark.parametrize(
    ("row", "accumulations", "name"),
    [
        ("| A100 | 32 | 64 | 2 |", set(), "gbs"),
        ("| A100 | 32 | 64 | 2 |", {4}, "gbs"),  # the row says so
        ("| 1 x A100 | 8 | 64 | 2 |", set(), "mbs"),
        ("| 4 x A100 | 8 | 64 | 2 |", set(), "mbs"),  # one of each device
        ("| 8 x A100 | 8 | 64 | 2 |", set(), ""),  # of half a device, or of several steps
        ("| A100 | 8 | 64 | 2 |", set(), ""),  # of how many devices, nobody says
        ("| 1 x A100 | 8 | - | - |", {16}, "mbs"),  # less than 16 micro-batches
        ("| 1 x A100 | 32 | - | - |", {16}, ""),
        ("| 8 x A100 | 8 | - | - |", {16}, ""),
        ("| 1 x A100 | 8 | - | - |", set(), "gbs"),
        ("| 128 x A100 | 2 | - | - |", set(), ""),  # not one for each device
    ],
)
def test_a_bare_batch(row: str, accumulations: set[int], name: str) -> None:
    assert settled(f"{RATES}{row}\n", accumulations)[1] == name


def test_a_batch_smaller_than_the_replicas_is_that_of_each() -> None:
    head = "| Sharding | GPUs | TP | Batch size | Tokens/s/GPU |\n|--|--|--|--|--|\n"
    assert settled(f"{head}| FSDP | 128 | | 2 | 4550 |\n", set())[3] == "device_batch"
    assert settled(f"{head}| FSDP | 128 | 8 | 16 | 4550 |\n", set())[3] == "gbs"
    assert settled(f"{head}| FSDP | 128 | 8 | 2 | 4550 |\n", set())[3] == "device_batch"
    assert settled(f"{head}| 3D | 128 | 8 | 2 | 4550 |\n", set())[3] == ""
    both = f"{head}| FSDP | 128 | | 2 | 4550 |\n| 3D | 128 | | 2 | 4550 |\n"
    assert settled(both, set())[3] == "", "one of them does not say so"


def test_a_bare_batch_is_the_same_in_the_next_table(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    first = "| Model | Sharding | GPUs | Batch Size | Tokens/s/GPU |\n|--|--|--|--|--|\n"
    then = "| Model | Batch size | MFU |\n|--|--|--|\n| 7B | 2 | 0.68 |\n"
    page.write_text(f"# Training\n\n{first}| 7B | FSDP | 128 | 2 | 4550 |\n\n{then}")
    with in_memory() as warehouse:
        ingest_into(warehouse, [page], tmp_path)
        rows = warehouse.rows("SELECT gbs, device_batch FROM configurations ORDER BY line")
    assert rows == [(None, 2), (None, 2)]


@pytest.mark.parametrize(
    ("head", "rows", "accumulations", "name"),
    [
        ("latency | samples/s", ["400 ms | 5", "500 ms | 32", "250 ms | 64"], set(), "step_time"),
        ("lantency | samples/s", ["400 ms | 5", "500 ms | 32", "250 ms | 64"], set(), "step_time"),
        ("Latency (ms) | samples/s | GBS", ["400 | 5 | 2"], set(), "step_time"),
        ("Latency (ms) | samples/s | GBS", ["400 | 5 | 8"], set(), ""),
        ("Latency | samples/s", ["410 ms | 5.3", "500 ms | 33.3", "250 ms | 66.6"], set(), ""),
        ("Latency | samples/s", ["400 ms | 5", "500 ms | 32", "250 ms | 64"], {8}, ""),
        ("Latency | tokens/s", ["400 ms | 5", "500 ms | 32", "250 ms | 64"], set(), ""),
        ("Batch time (s) | MBS", ["1.5 | 4"], set(), "step_time"),
        ("Batch time (s) | MBS", ["1.5 | 4"], {8}, ""),
        ("Batch time (s) | GAS", ["1.5 | 4"], set(), ""),
        ("Batch time (s) | GAS", ["1.5 | 1"], set(), "step_time"),
        ("Block size | MBS", ["1024 | 4"], set(), "seq_len"),
        ("Block size | MBS", ["128 | 4"], set(), ""),
        (
            "BS | ga | nodes",
            ["4 | 1 | 10", "4 | 4 | 10"],
            set(),
            "mbs",
        ),  # ten nodes, four sequences
        ("BS | ga | nodes | TP", ["4 | 1 | 10 | 16"], set(), "gbs"),
        (
            "Time (s) | samples/s | MBS",
            ["314 | 0.35 | 1", "181 | 1.22 | 2"],
            set(),
            "",
        ),  # 110 steps
        ("Time (s) | samples/s | MBS", ["3.14 | 0.35 | 1", "1.81 | 1.22 | 2"], set(), "step_time"),
        ("tokens / samples | MBS", ["24,000 / 48 | 1", "48,000 / 96 | 1"], set(), ""),
    ],
)
def test_what_the_rows_settle(
    head: str, rows: list[str], accumulations: set[int], name: str
) -> None:
    line = "|".join(["--"] * len(head.split("|")))
    text = "\n".join(f"| {one} |" for one in (head, line, *rows))
    assert settled(text, accumulations)[0] == name
