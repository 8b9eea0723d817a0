"""What documents say of their runs in ways of their own: read where it is plain, else empty."""

from __future__ import annotations

import pytest

from bench.ingest.documents.parameter_lists import explained
from bench.ingest.documents.tables import read_markdown
from bench.vocabulary.sizes import parse_size
from tests.documents import runs

BATCHES = """# Training speed

{above}

| GPU | BS | Throughput (samples/s) |
|--|--|--|
| A100 | 32 | 981.6 |
| H100 | 64 | 1835.8 |

</center>

{below}
"""


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("*BS* is the batch size per device.", "mbs"),
        ("`BS` = per-GPU batch size", "mbs"),
        ("(BS: batch size on each card)", "mbs"),
        ("BS denotes the micro batch size.", "mbs"),
        ("Batch sizes are per accelerator.", "mbs"),
        ("BS 指单卡批大小。", "mbs"),
        ("BS is the global batch size.", "gbs"),
        ("**BS** stands for the total batch size of a step.", "gbs"),
        ("We chose BS so that memory is full.", "gbs"),
        ("BS is the batch size per device and the global one where DP is 1.", "gbs"),
    ],
)
def test_a_line_says_what_a_batch_is_of(text: str, field: str) -> None:
    found = runs(BATCHES.format(above="", below=text))
    assert [one.get(field) for one in found] == [32, 64], found


@pytest.mark.parametrize(
    ("above", "dtype"),
    [("All runs were performed in fp32.", "fp32"), ("Sums are kept in fp32.", None)],
)
def test_a_run_in_fp32(above: str, dtype: str | None) -> None:
    found = runs(BATCHES.format(above="", below=above))
    assert {one.get("dtype") for one in found} == {dtype}


COLUMNS = """---
title: "Faster training with Gaudi2"
date: 2022-12-14
---

# Faster training

We show BERT pre-training and T5-3B fine-tuning. {opening}

## {heading}

<center>

|   | {headings} |
|:-:|:-:|:-:|
| Throughput (samples/s) | 19.7 | 8.07 |
| Speedup | x2.44 | x1.0 |

</center>
"""


@pytest.mark.parametrize(
    ("headings", "expected"),
    [
        ("Gaudi2 (BS=1) | A100 (BS=16)", [("Gaudi2", 1), ("A100", 16)]),
        ("Gaudi2 | A100 (BS=16)", [("Gaudi2", None), ("A100", 16)]),
        ("BS=1, Gaudi2 | A100", [("Gaudi2", 1), ("A100", None)]),
        ("H100 80GB (BS 8) | A100 (BS 16)", [("H100 80GB", 8), ("A100", 16)]),
    ],
)
def test_columns_of_runs_that_say_more_or_less(
    headings: str, expected: list[tuple[str, int | None]]
) -> None:
    found = runs(COLUMNS.format(opening="", heading="Fine-tuning", headings=headings))
    assert [(one.get("device"), one.get("gbs")) for one in found] == expected


@pytest.mark.parametrize(
    ("opening", "heading", "size"),
    [
        ("", "Pre-training BERT", None),
        ("We trained T5-3B first.", "Pre-training BERT", None),
        ("We trained T5-3B first.", "Pre-training a GPT-2", None),
        ("", "Fine-tuning T5-3B", 3.0),
    ],
)
def test_a_size_is_of_its_model_alone(opening: str, heading: str, size: float | None) -> None:
    text = COLUMNS.format(opening=opening, heading=heading, headings="Gaudi2 (BS=1) | A100 (BS=16)")
    rows, _ = read_markdown(text, "s")
    models = [str(run["model"] or "") for run in rows.by_table["runs"]]
    assert [("3B" in one) for one in models] == [bool(size)] * 2, models


METHODS = """# Fine-tuning

{lead}

| Model | {heads} |
|--|--|--|
| Llama-7B | {first} |
| Llama-13B | {second} |
"""
GPU = "Consider the GPU memory for fine-tuning on an A100 80GB GPU."


@pytest.mark.parametrize(
    ("lead", "heads", "first", "second", "metric", "values"),
    [
        (GPU, "Full | LoRA", "47.1GB GPU / 2.9GB CPU | 14GB GPU / 3GB CPU",
         "OOM GPU | 56GB GPU / 3GB CPU", "memory", [47.1, 14, None, 56]),
        (GPU, "Full | QLoRA", "60 GB | 6 GB", "120 GB | 12 GB", "memory", [60, 6, 120, 12]),
        ("Fine-tuning:", "DDP | FSDP", "30 GiB (GPU) + 4 GiB (CPU) | 20 GiB (GPU)",
         "OOM | 31 GiB (GPU)", "memory", [30, 20, None, 31]),
        ("Peak VRAM of fine-tuning:", "Baseline | + Flash Attention", "~40GB | ~30 GB", "- | 60GB",
         "memory", [40, 30, 60]),
        ("Speed:", "DDP | DeepSpeed", "1200 tok/s | 1500 tok/s", "OOM | 700 tok/s",
         "tokens_per_s", [1200, 1500, None, 700]),
        ("", "LoRA | LoRA with gradient checkpointing", "2.5 s/it | 3.1 s/it", "4 s/it | 5 s/it",
         "step_time_s", [2.5, 3.1, 4, 5]),
        ("Size of the adapter on disk:", "Full | LoRA", "14 GB | 19 MB", "26 GB | 30 MB", "", []),
        ("Estimated GPU memory:", "Full | LoRA", "60 GB | 16 GB", "120 GB | 32 GB", "", []),
        (GPU, "Weights | Activations", "14 GB | 20 GB", "26 GB | 30 GB", "", []),
        (GPU, "Full | Saved", "14 GB | 20 GB", "26 GB | 30 GB", "", []),
        (GPU, "Full | LoRA", "14 GB | fast", "26 GB | slow", "", []),
    ],
)  # fmt: skip
def test_a_method_a_column(
    lead: str, heads: str, first: str, second: str, metric: str, values: list[float | None]
) -> None:
    found = runs(METHODS.format(lead=lead, heads=heads, first=first, second=second))
    assert [one.get(metric) for one in found] == values, found
    if "checkpointing" in heads:
        assert [one.get("recompute") for one in found] == [None, "full"] * 2


def test_a_count_that_is_called_one_says_more_than_a_name() -> None:
    assert parse_size("bigscience/bloomz-7b1 (7B params)") == 7
    assert parse_size("Qwen3-30B-A3B (3B active params)") == 30


LATEX = r"""Training throughput:

\begin{tabular}{lrrr}
\toprule
HEAD \\
\midrule
7B & 8$\times$A100 & 57\% & 3,200 \\
13B & 16 A100 & 52\% & 1,750 \\
70B & 10,000+ H100 & 45\% & 380 \\
\bottomrule
\end{tabular}
"""


@pytest.mark.parametrize(
    "head",
    [
        r"Model & Hardware & MFU & Tokens/s/GPU",
        "\\textbf{Model} & \\textbf{Hardware} & \\textbf{MFU} & \\textbf{Tokens/sec/GPU} \\\\\n"
        "\\textbf{模型} & \\textbf{硬件} & \\textbf{MFU} & \\textbf{每秒每 GPU 令牌数}",
        "模型 & 硬件 & MFU & 每秒 \\\\ \nModel & Hardware & MFU & Tokens/s/GPU",
        "Model & Hardware & \\multicolumn{2}{c}{} \\\\ \\cmidrule{3-4}\n & & MFU & Tokens/s/GPU",
        "Model & Hardware & MFU & Tokens/s \\\\\n & & & per GPU",
    ],
)
def test_headings_of_latex_in_several_rows(head: str) -> None:
    found = runs(LATEX.replace("HEAD", head))
    assert [one.get("tokens_per_s_per_device") for one in found] == [3200, 1750, 380], found
    named = [(one.get("device"), one.get("devices")) for one in found]
    assert named == [("A100", 8), ("A100", 16), ("H100", None)]


@pytest.mark.parametrize(
    ("item", "field", "value"),
    [
        (
            "1. local_batchsize(micro_batchsize)，简写为LBS，为config.py中所写，在本case中默认为1",
            "mbs",
            1,
        ),
        ("2. seqlength(max_position_embedding)，即序列长度，在本case中默认为4096", "seq_len", 4096),
        ("- `micro_batch_size` (MBS): sequences of a device; 2 in this benchmark", "mbs", 2),
        ("* seq_length: the length of a sequence, here 4096", "seq_len", 4096),
        ("1) gradient_accumulate_steps, abbreviated GAS, set to 44", "grad_accum", 44),
        ("- **global_batch_size** – sequences a step. We use 1,024.", "gbs", 1024),
        ("- 微批大小 micro_batch_size：每卡的样本数，本例取 2", "mbs", 2),
        ("- tp — how tensors are split (in all experiments: 4)", "tp", 4),
        ("- `micro_batch_size`: samples of a device, 1 by default", "mbs", None),
        ("- seq_length: e.g. 4096 here", "seq_len", None),
        ("- tp: set to 1, 2 or 4 in this test", "tp", None),
        ("- tp: 2 and 4 in this test", "tp", None),
        ("- tp (GAS): which of both is open, here 4", "tp", None),
    ],
)
def test_an_item_explains_a_parameter_and_says_it(item: str, field: str, value: int | None) -> None:
    assert [one.value for one in explained(item, 1)] == ([] if value is None else [str(value)])
    assert all(one.field == field for one in explained(item, 1))


CODED = """# Training

| Item | Value | Notes |
|--|--|--|
| Model | llama2_70b | |
| Sequence length | 4096 | of the benchmark |

Results:

| Setup | parallel | tokens/s/GPU | mem |
|--|--|--|--|
| H800 (4x8) | {cell} | 253.6 | {mem} |
"""


@pytest.mark.parametrize(
    ("cell", "mem", "sizes"),
    [
        ("TP8PP4DP1", "77/80", (8, 4, 1, 32)),
        ("TP8xPP4xDP1", "77 / 80 GB", (8, 4, 1, 32)),
        ("TP8-PP4-DP1", "77GB/80GB", (8, 4, 1, 32)),
        ("TP8_PP4_DP1", "77 of 80 GB", (8, 4, 1, 32)),
        ("tp8·pp4·dp1", "77 GB", (8, 4, 1, 32)),
        ("TP=8, PP=4, DP=1", "77", (8, 4, 1, 32)),
        ("TP8PP4DP2", "77", (8, 4, 2, None)),
        ("T8P4", "81/80", (None, None, None, None)),
    ],
)
def test_a_cell_of_sizes_run_together(cell: str, mem: str, sizes: tuple[int | None, ...]) -> None:
    [run] = runs(CODED.format(cell=cell, mem=mem))
    assert tuple(run.get(one) for one in ("tp", "pp", "dp", "devices")) == sizes
    assert run.get("memory") == (None if "81" in mem else 77)
    assert (run.get("model"), run.get("seq_len")) == ("llama2_70b", 4096)


@pytest.mark.parametrize(
    ("lines", "mbs"),
    [
        ("- Batch size: 2\n- Gradient accumulation: 32", 2),
        ("- Batch size: 2\n- Gradient accumulation:\n  - Full: 1\n  - LoRA: 32", 2),
        ("* **Batch size**: 4\n* 8 gradient accumulation steps", 4),
        ("Batch_size = 1\n\ngradient_accumulation_steps=16", 1),
        ("1. `batch size`: 2\n2. grad_accum: 4", 2),
        ("- Batch size: 64\n- Gradient accumulation: 32", None),
        ("- Batch size: 2", None),
        ("- Batch size: 2\n- Gradient accumulation: 1", None),
        ("- Batch size: 2\n- Batch size: 4\n- Gradient accumulation: 32", None),
        ("- Batch size: 2\n- Layers:\n  - Full: 1\n  - LoRA: 32", None),
    ],
)
def test_a_batch_below_its_accumulation_is_a_micro_batch(lines: str, mbs: int | None) -> None:
    text = f"# Fine-tuning\n\nConditions:\n\n{lines}\n\n| Model | GPU | Sec/step |\n|--|--|--|\n"
    [run] = runs(f"{text}| Llama 8B | H100 x 1 | 4.7 |\n")
    assert (run.get("mbs"), run.get("gbs")) == (mbs, None)
