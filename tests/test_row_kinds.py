"""What rows are runs of: experts and adapters count no dense FLOPs, inference is no training."""

from pathlib import Path

import pytest

from bench.ingest.documents.document import read_document
from bench.ingest.documents.row_kinds import sums_up
from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory
from bench.vocabulary.experts import has_experts

HEADINGS = ["Model", "GPUs", "GBS", "Seq len", "Step time (s)", "TFLOPs/GPU", "Tokens/s/GPU"]
HEAD = f"| {' | '.join(HEADINGS)} |\n|{'---|' * len(HEADINGS)}\n"


def read(tmp_path: Path, text: str, query: str) -> list[tuple[object, ...]]:
    (tmp_path / "x.md").write_text(text)
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path / "x.md"], tmp_path)
        return list(warehouse.rows(query))


@pytest.mark.parametrize(
    ("row", "counted"),
    [
        ("GPT-OSS 120B | 64 | 512 | 4096 | 4.30 | 231 | 7626", False),
        ("Qwen3-30B-A3B | 8 | 512 | 4096 | 21.8 | 277 | 12040", False),
        # Nothing but its own numbers: 4B of 26B parameters.
        ("model-26b | 64 | 2048 | 4096 | 5.53 | 593.59 | 23707", False),
        ("Llama3 70B | 64 | 256 | 8192 | 12.2 | 1207 | 2687", True),
    ],
)
def test_experts_count_no_dense_flops(tmp_path: Path, row: str, counted: bool) -> None:
    found = read(tmp_path, f"# Training\n\n{HEAD}| {row} |\n", "SELECT flops FROM model_flops")
    assert bool(found) is counted


@pytest.mark.parametrize(
    "name",
    [
        "mixtral-8x7b",
        "DeepSeek-V3",
        "Kimi K2",
        "DeepSeek-R1",
        "Llama 4 Maverick",
        "Llama-4-Scout-17B-16E",
    ],
)
def test_names_of_models_with_experts(name: str) -> None:
    assert has_experts(name)


@pytest.mark.parametrize(
    "name",
    [
        "Llama-405B",
        "Llama 43M",
        "grok 15B",
        "Llama-3-8B",
        "DeepSeek-R1-Distill-Llama-8B",
        "gemma-2-9b",
        "GPT-3",
    ],
)
def test_names_of_dense_models(name: str) -> None:
    assert not has_experts(name)


@pytest.mark.parametrize(
    ("heading", "models", "counted"),
    [
        ("Finetuning (LoRA)", ("Llama3 70B", "Llama3 8B"), 0),
        ("Finetuning", ("Llama3 70B (LoRA)", "Llama3 8B (LoRA)"), 0),
        ("Finetuning", ("Llama3 70B", "Llama3 8B (LoRA)"), 1),
        ("Finetuning", ("Llama3 70B", "Llama3 8B"), 2),
    ],
)
def test_adapters_count_no_flops_of_all_weights(
    tmp_path: Path, heading: str, models: tuple[str, str], counted: int
) -> None:
    rows = "".join(f"| {model} | 8 | 32 | 4096 | 26.9 |  |  |\n" for model in models)
    found = read(tmp_path, f"# {heading}\n\n{HEAD}{rows}", "SELECT flops FROM model_flops")
    assert len(found) == counted


@pytest.mark.parametrize(
    ("heading", "column", "cells", "counted"),
    [
        ("Finetuning", "LoRA", ("no", "yes"), [5]),
        ("Finetuning", "LoRA", ("", "✓"), [5]),
        ("Finetuning", "Note", ("no LoRA, all weights", "LoRA, not QLoRA"), [5]),
        ("LoRA is not used here", "Note", ("", ""), [5, 6]),
        ("Finetuning", "Adapter", ("ConnectX-7", "ConnectX-6"), [5, 6]),
        ("LoRA", "Note", ("Ethernet adapter", "all weights (no adapters)"), [6]),
        ("Finetuning", "LoRA rank", ("16", "16"), []),
    ],
)
def test_adapters_that_are_none(
    tmp_path: Path, heading: str, column: str, cells: tuple[str, str], counted: list[int]
) -> None:
    head = HEAD.replace("\n", f" {column} |\n", 1).replace("|\n|---", "|\n|---|---", 1)
    rows = "".join(f"| 8B | 8 | 32 | 4096 | 26.9 |  |  | {cell} |\n" for cell in cells)
    found = read(tmp_path, f"# {heading}\n\n{head}{rows}",
                 "SELECT line FROM model_flops JOIN runs USING (run_id) ORDER BY line")  # fmt: skip
    assert [line for (line,) in found] == counted


def test_the_split_of_a_row_refuses_another_from_afar(tmp_path: Path) -> None:
    document = (
        "# Training\n\n- Strategies: single, PP=2, EP=2\n\n## Mixed\n\nOn 4 GPUs:\n\n"
        "| Strategy | Tokens/s | Peak memory |\n|-|-|-|\n| TP2+DP2 | 37000 | 2 GiB |\n"
    )
    assert read(tmp_path, document, "SELECT dp, tp, pp, devices FROM configurations") == [
        (2, 2, None, 4)
    ]


def test_a_row_is_without_the_split_that_others_name(tmp_path: Path) -> None:
    document = (
        "# Training on 8 GPUs\n\nMinimum TP8; TP4-PP2 works, too.\n\n"
        "| Parallelism | Tokens/s | Peak memory |\n|-|-|-|\n"
        "| TP8 | 37000 | 2 GiB |\n| TP4-PP2 | 32000 | 2 GiB |\n"
    )
    found = read(tmp_path, document, "SELECT tp, pp FROM configurations ORDER BY line")
    assert found == [(8, None), (4, 2)]


def test_rows_of_inference_are_no_runs(tmp_path: Path) -> None:
    text = "# Training\n\n| Config | GPUs | Tokens/s | Phase |\n|---|---|---|---|\n"
    rows = "| 7B | 8 | 900 | Finetune |\n| 7B | 8 | 800 | Predict |\n"
    assert read(tmp_path, text + rows, "SELECT line FROM runs") == [(5,)]
    found = read(tmp_path, text + rows, "SELECT line, message FROM warnings ORDER BY line")
    assert found[-1] == (6, "a row of 'Predict' is no run of training")
    other = (text + rows).replace("Phase", "Task")
    assert read(tmp_path, other, "SELECT line FROM runs ORDER BY line") == [(5,), (6,)]
    served = "# Training\n\n| Size | Batch | Throughput (tok/s) | Acceptance Rate |\n|-|-|-|-|\n"
    assert not read(tmp_path, f"{served}| 7B | 1 | 150 | 70% |\n", "SELECT line FROM runs")


def test_rows_of_differences_are_no_runs(tmp_path: Path) -> None:
    head = "# Training\n\n| Version | TFLOPS/GPU | MFU | vs first |\n|---|---|---|---|\n"
    rows = (
        "| first | 229.64 | 14.60% | - |\n| **总计提升** | **+2.80** | **+0.18%** | **+1.2%** |\n"
    )
    assert read(tmp_path, head + rows, "SELECT line FROM runs") == [(5,)]
    gain = (head + rows).replace("**总计提升**", "with gains")  # the name of a run
    assert read(tmp_path, gain, "SELECT line FROM runs ORDER BY line") == [(5,), (6,)]


def test_means_of_other_rows_are_no_runs(tmp_path: Path) -> None:
    head = "# Training\n\n| Arm | Seed | Tokens/s | MFU |\n|---|---|---|---|\n"
    rows = "| a | 0 | 112,765 | 41.2% |\n| a | 1 | 111,069 | 40.6% |\n"
    for mean in (
        "| | **mean** | **111,917** | **40.9%** |\n",
        "| **Mean of seeds** | | 111,917 | |\n",
    ):
        found = read(tmp_path, head + rows + mean, "SELECT line FROM runs ORDER BY line")
        assert found == [(5,), (6,)]
    named = "| mean pooling | 0 | 111,917 | 40.9% |\n"
    assert len(read(tmp_path, head + rows + named, "SELECT line FROM runs")) == 3
    assert not sums_up([["mean", "111,917"], ["median", "111,900"], ["p90", "2"]])
    assert not sums_up([["mean", "111,917"]])


def test_inference_among_workloads_is_no_run(tmp_path: Path) -> None:
    head = "# Training\n\n| Workload | GPUs | Peak VRAM | Tokens/s |\n|---|---|---|---|\n"
    rows = "| Zero-shot inference, 0.8B | 1 | 1.8 GB | 99 |\n| LoRA training | 1 | 3.3 GB | 50 |\n"
    assert read(tmp_path, head + rows, "SELECT line FROM runs") == [(6,)]
    tuned = rows.replace("Zero-shot inference", "Training for inference")
    assert len(read(tmp_path, head + tuned, "SELECT line FROM runs")) == 2


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("## Performance targets\n\n### Throughput", "planned"),
        ("## Throughput expectations", "planned"),
        ("## Targets of the compiler", "measured"),
        ("## Expected performance", "measured"),  # to be had by who runs it again
    ],
)
def test_targets_are_no_measurements(tmp_path: Path, heading: str, kind: str) -> None:
    rows = "\n\n| GPUs | Tokens/s/GPU | Tokens/s |\n|---|---|---|\n| 64 | 450 | 28,800 |\n"
    assert read(tmp_path, f"# Training\n\n{heading}{rows}", "SELECT kind FROM runs") == [(kind,)]


def test_rounded_numbers_that_are_expected_are_no_measurements(tmp_path: Path) -> None:
    head = "# Training\n\n## Expected results\n\n| GPUs | Tokens/s/GPU | Memory |\n|---|---|---|\n"
    rows = "| 8 | ~50k | ~40 GB |\n| 4 | 48,211 | ~40 GB |\n"
    found = read(tmp_path, head + rows, "SELECT kind FROM runs ORDER BY line")
    assert found == [("planned",), ("measured",)]


def test_how_a_row_ended_without_a_number_of_its_own(tmp_path: Path) -> None:
    head = "# Training\n\n| Job | Nodes | MBS | Status | Step time |\n|---|---|---|---|---|\n"
    rows = "| P8 | 10 | 4 | **DONE: 192 samp/s** | |\n| P9 | 10 | 4 | queued | |\n"
    told = "| P7 | 8 | 4 | | 0.58 s → with saves ~0.8 s |\n| P6 | 8 | 4 | | later |\n"
    found = read(tmp_path, head + rows + told, "SELECT status FROM runs ORDER BY line")
    assert [status for (status,) in found] == ["ok", "not_run", "ok", "not_run"]


@pytest.mark.parametrize(
    ("setup", "row", "dtype", "devices"),
    [
        ("Single RTX 5090, FP8 training", "BF16 (no FP8) | 175", "bf16", 1),
        ("FP8 training", "BF16 vs FP8 | 175", None, None),
        ("One H100, fp16, batch 60", "dense | 175", "fp16", 1),
        ("Seq 4096, bf16, 4 nodes × 8", "dense | 175", "bf16", 32),
    ],
)
def test_what_rows_and_fragments_say(
    tmp_path: Path, setup: str, row: str, dtype: str | None, devices: int | None
) -> None:
    text = f"# Training of 7B\n\n{setup}:\n\n| Recipe | Tokens/s/GPU |\n|-|-|\n| {row} |\n"
    found = read(tmp_path, text, "SELECT dtype, devices, model FROM configurations")
    assert found == [(dtype, devices, "7B")]


def test_active_parameters_are_no_size(tmp_path: Path) -> None:
    text = "# Training\n\nMFU counts 6 x active params (21.5B) on 8x B300.\n\n"
    rows = "| Run | Step time (s) | Tokens/s/GPU |\n|-|-|-|\n| a | 5.04 | 3253 |\n"
    assert read(tmp_path, text + rows, "SELECT model FROM runs") == [(None,)]


def test_memory_of_each_device(tmp_path: Path) -> None:
    text = "# Training\n\n| Setup | GPUs | Samples/s | Memory (GB) |\n|-|-|-|-|\n"
    text += "| ZeRO-2 | 4 | 9600 | 0.3 per GPU |\n"
    query = "SELECT value FROM measurements WHERE metric = 'memory'"
    assert read(tmp_path, text, query) == [(0.3,)]


def test_a_table_with_tabs(tmp_path: Path) -> None:
    rows = ["micro_bsz GA ckpt bf16 step_ms", "1 2 F T 477", "4 8 T F 5998"]
    text = "Training on 8x A100\n\n" + "\n".join(rows).replace(" ", "\t")
    found = read(
        tmp_path, text, "SELECT mbs, grad_accum, recompute, dtype FROM configurations ORDER BY line"
    )
    assert found == [(1, 2, "none", "bf16"), (4, 8, "full", None)]


def test_a_row_of_a_single_cell_ends_no_table_with_tabs(tmp_path: Path) -> None:
    rows = ["Model GPUs step_ms", "30B  ", "7B 8 477", "Done", "13B 8 900"]
    text = "Training on A100\n\n" + "\n".join(rows).replace(" ", "\t")
    query = "SELECT line, model FROM configurations WHERE devices = 8"
    assert read(tmp_path, text, query) == [(5, "7B")]


def test_models_cut_to_fewer_layers_have_no_size_of_the_whole_one(tmp_path: Path) -> None:
    table = "| Layers | GPUs | MBS | Step time (s) |\n|---|---|---|---|\n"
    text = f"# Training of 80B\n\n## A\n\n{table}| 8 | 8 | 1 | 2.5 |\n\n## B\n\n{table}"
    found = read(tmp_path, text + "| 48 | 8 | 1 | 9.5 |\n", "SELECT params_b FROM runs")
    assert found == [(None,), (None,)]
    found = read(tmp_path, text + "| 8 | 8 | 1 | 9.5 |\n", "SELECT model FROM runs")
    assert found == [("80B",), ("80B",)]
    rows = "| 48 | 8 | 1 | 9.5 |\n| 20 | 8 | 1 | 4.5 |\n"
    found = read(tmp_path, text.replace("| 8 |", "| 48 |", 1) + rows, "SELECT model FROM runs")
    assert found == [("80B",), ("80B",), (None,)]
    text = text.replace("\n\n## B", "\n| 8 | 16 | 1 | 2.5 |\n\n## B")
    found = read(tmp_path, text + "| 48 | 8 | 1 | 9.5 |\n", "SELECT model FROM runs")
    assert found == [(None,)] * 3, "most are cut"


def test_settings_before_the_text_are_no_title() -> None:
    text = "---\ntitle: >-\n  Old\n{{ x }}\n---\n\n# Training\n"
    assert read_document(text).title == "Training"


def test_a_list_of_settings_in_the_form_of_a_table(tmp_path: Path) -> None:
    settings = "| 参数 | 值 |\n|---|---|\n| GPU 数量 | 8 |\n| 精度 | BF16 |\n"
    text = f"# Test\n\n## 硬件配置\n\n{settings}\n## 结果\n\n"
    rows = "| Model | MBS | Step time (s) |\n|---|---|---|\n| 8B | 1 | 2.5 |\n"
    found = read(tmp_path, text + rows, "SELECT devices, dtype FROM configurations")
    assert found == [(8, "bf16")]
