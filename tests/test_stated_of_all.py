"""What a line, a heading or a legend states of all rows of a table, and rows that differ."""

from __future__ import annotations

import pytest

from bench.ingest.documents.frameworks import frameworks_heading
from bench.vocabulary.cells import parse_cell
from bench.vocabulary.headings import column_of, columns_of
from tests.documents import runs

HEAD = "| Batch Size | Step time (s) |\n|--|--|\n"
ROWS = "| 4 | 1.2 |\n| 8 | 2.2 |\n"


def of_batches(text: str) -> list[dict[str, object]]:
    """The batches of each run of a document."""
    names = ("mbs", "gbs", "device_batch")
    return [{name: run[name] for name in names if name in run} for run in runs(text)]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("Listed batch size is per GPU.", "mbs"),
        ("- Means of 100 steps. Batch size is the global batch.", "gbs"),
    ],
)
def test_a_line_above_explains_the_batch_of_all_tables(line: str, field: str) -> None:
    text = f"# GPT 1.3B on 4 V100\n\n{line}\n\n## FSDP\n\n{HEAD}{ROWS}"
    assert of_batches(text) == [{field: 4}, {field: 8}]


def test_two_meanings_of_a_batch_explain_none() -> None:
    text = (
        f"# GPT 1.3B\n\nBatch size is per GPU.\n\n## Later\n\nBatch size is global.\n\n{HEAD}{ROWS}"
    )
    assert of_batches(text) == [{"gbs": 4}, {"gbs": 8}]


def test_a_star_behind_a_number_is_a_mark() -> None:
    cell = parse_cell("16 ★", columns_of(["Micro batch size"])[0])
    assert (cell.kind, cell.value) == ("number", 16)


FORMATS = """\
# Runs

Llama 7B {format} pretrain on 8 H100, MBS 8, GBS 512, seq 4096.

Means of iterations 11-20.

| run | what | ms/iter | TFLOP/s/GPU |
|--|--|--|--|
| a | fused act | 7915.6 | 753.5 |
| b | + `use_fp8_permute` | 7643.5 | 780.3 |
| c | {other} | 8353.4 | 681.1 |
"""


@pytest.mark.parametrize(
    ("stated", "other", "expected"),
    [
        ("FP8", "attention in bf16", ["fp8", "fp8", "bf16"]),
        ("BF16", "MLP in fp8", ["bf16", "fp8", "fp8"]),
        ("FP8", "+ fp8", [None, "fp8", "fp8"]),  # then the others may have another
        ("FP8", "MXFP8 recipe", ["fp8", "fp8", "fp8"]),
    ],
)
def test_a_row_that_names_another_format_is_an_exception(
    stated: str, other: str, expected: list[str | None]
) -> None:
    found = [run.get("dtype") for run in runs(FORMATS.format(format=stated, other=other))]
    assert found == expected


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("FSDP + Activation Checkpointing", "full"),
        ("DDP + gradient checkpointing + compile", "full"),
        ("FSDP + no AC", "none"),
        ("Activation Checkpointing", None),
        ("FSDP + checkpointing every 2nd layer", None),
    ],
)
def test_a_heading_adds_recompute_to_its_table(heading: str, kind: str | None) -> None:
    [one, two] = runs(f"# GPT 1.3B on 4 V100\n\n## {heading}\n\n{HEAD}{ROWS}")
    assert one.get("recompute") == two.get("recompute") == kind


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("Max model size (B)", "size"),
        ("단계 시간 (ms)", "step_time"),
        ("배치 크기", "gbs"),
        ("시퀀스 길이", "seq_len"),
        ("노드 수", "nodes"),
        ("메모리 사용량 (GB)", "mem"),
        ("학습 속도 (tokens/s)", "tokens_per_s"),
        ("バッチサイズ", "gbs"),
        ("ステップ時間 (ms)", "step_time"),
        ("メモリ使用量", "mem"),
        ("步耗时 (ms)", "step_time"),
        ("训练吞吐 (tokens/s)", "tokens_per_s"),
        ("全局批大小", "gbs"),
    ],
)
def test_headings_of_other_languages(heading: str, name: str) -> None:
    column = column_of(heading)
    assert column and column.name == name


STEADY = """\
# Tuning of GDN 1B training on MI300X

| # | Setup | Result | {heading} |
|--|--|--|--|
| 0 | baseline | OK | 2768 ms (+19.8%) |
| 1 | + overlap | **OK** | **2415 ms** |
| 2 | + logging off | OK | about the same |
| 3 | + larger workspace | **OOM iter 1** | {last} |
"""


@pytest.mark.parametrize("heading", ["Steady-state", "full-rate step", "Typical iteration"])
def test_steps_that_are_steady_have_a_time(heading: str) -> None:
    found = runs(STEADY.format(heading=heading, last="(failed)"))
    times = [run.get("step_time_s") for run in found]
    assert times[:2] == pytest.approx([2.768, 2.415]) and times[2:] == [None, None]
    assert found[3]["status"] == "oom"


def test_a_column_with_other_numbers_is_no_step_time() -> None:
    assert runs(STEADY.format(heading="Steady-state", last="12 of 40")) == []


WORDS = """\
# Fine-tuning of Llama 3 8B

| | Tokens/s |
|--|--|
| FSDP on A100-SXM4-80GB x1 (batch: 8) | 3550.48 |
| FSDP on A100-SXM4-80GB x2 (batch: {two}) | 6346.00 |
| FSDP on A100-SXM4-80GB x4 (batch: {four}) | 12688.44 |
"""


def test_a_bare_batch_that_more_devices_share_may_be_of_each() -> None:
    grown = [run.get("gbs") for run in runs(WORDS.format(two=16, four=32))]
    assert grown == [8, 16, 32]
    assert [run.get("gbs") for run in runs(WORDS.format(two=8, four=8))] == [8, None, None]


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("VERL Experiments with Qwen Models", ["VERL"]),
        ("FSDP Baseline", ["FSDP"]),
        ("Megatron-LM with DeepSpeed", ["Megatron-LM with DeepSpeed"]),
        ("NeMo for everybody", []),
    ],
)
def test_a_heading_is_about_a_framework(heading: str, names: list[str]) -> None:
    assert [fact.value for fact in frameworks_heading(heading, 1)] == names
