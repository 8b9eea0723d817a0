"""Counts, headings, labels and tables in the further forms in which documents write them."""

from pathlib import Path

import pytest

from bench.ingest.documents.device_counts import counted
from bench.ingest.documents.frameworks import frameworks_heading
from bench.ingest.documents.grid import Table
from bench.ingest.documents.markdown import blocks
from bench.ingest.documents.secret_columns import without_secrets
from bench.ingest.documents.setting_columns import is_setting
from bench.ingest.documents.setting_phrases import named_numbers
from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory
from bench.vocabulary.cells import parse_cell
from bench.vocabulary.headings import column_of, columns, columns_of
from bench.vocabulary.parallelism import open_batch_in, sizes_in
from bench.vocabulary.sizes import binary_length
from tests.documents import check, read


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("Hardware: 2x H100-SXM5-80GB nodes, 16 GPUs", {"nodes": "2", "devices": "16"}),
        ("on a single A100 40GB, bf16", {"devices": "1"}),
        ("isolated single GPU, no data path", {"devices": "1"}),
        ("on an RTX PRO 4500", {"devices": "1"}),
        ("trained on an A100 cluster", {}),
        ("`7b_12gpu_tp4.toml`", {"devices": "12"}),
        ("GPU: NVIDIA RTX 4090 (24GB) x 2", {"devices": "2"}),
        (
            "on an 8xA100-80GB machine with FSDP",
            {"nodes": "1", "devices_per_node": "8", "devices": "8"},
        ),
        ("4 nodes, 8 GPUs per node", {"nodes": "4", "devices_per_node": "8", "devices": "32"}),
        ("an idle Apple M5 (10 GPU cores)", {}),
        ("a budget of 96 GPU-hours", {}),
        ("Iteration results x8 H100", {"devices": "8"}),
        ("DGX x8 H100 speed-up, 4 x8 lanes", {"devices": "8"}),
        ("TPU v5p-256 with MaxText", {"devices": "128"}),
        ("a v5litepod-16 slice", {"devices": "16"}),
        ("4 台各配置了 8 张 V100", {"nodes": "4", "devices_per_node": "8", "devices": "32"}),
    ],
)
def test_counts(text: str, counts: dict[str, str]) -> None:
    assert {one.field: one.value for one in counted(text, 1)} == counts


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("seq4096, MB16, GA8", {"seq_len": 4096, "mbs": 16, "grad_accum": 8}),
        ("sequence length of 8k", {"seq_len": 8192}),
        ("sequence length 12 000", {"seq_len": 12000}),
        ("sequence length 100k", {}),  # may be 100,000 or 102,400
    ],
)
def test_numbers_with_names(text: str, numbers: dict[str, int]) -> None:
    assert {name: int(value) for name, _, value in named_numbers(text)} == numbers


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("FSDP2, bf16", {}),
        ("FSDP=4", {"dp_shard": 4}),
        ("HSDP 2×8", {"dp_replicate": 2, "dp_shard": 8}),
        ("seq 8 k", {}),
    ],
)
def test_sizes(text: str, sizes: dict[str, int]) -> None:
    assert sizes_in(text) == sizes
    assert open_batch_in("bs=16, cf=1.25, 8N") == 16


@pytest.mark.parametrize(
    ("headings", "names"),
    [
        (["VRAM", "Peak VRAM used"], [None, "mem"]),
        (["Platform", "GPU"], [None, "device"]),
        (["alloc", "resv", "%HBM"], ["mem", "mem_reserved", None]),
        (["Seconds per step (lower is better)", "achieved"], ["step_time", "throughput"]),
        (["mbsz", "cutoff_len", "AC"], ["mbs", "seq_len", "recompute"]),
    ],
)
def test_headings(headings: list[str], names: list[str | None]) -> None:
    assert [column and column.name for column in columns_of(headings)] == names


def test_a_first_heading_says_more_of_the_rows(tmp_path: Path) -> None:
    text = """\
# Training

| 4-GPU run, micro-batch 4 | Step med | MFU |
|---|---|---|
| DDP | 0.21 s | 41.2% |
| OOM case | OOM | - |
"""
    first, second = read(text, tmp_path)[0]
    check(first, devices=4, mbs=4, status="ok")
    check(second, devices=4, status="oom")


def test_a_table_printed_in_code(tmp_path: Path) -> None:
    text = """\
# Training throughput of Llama-3 8B, bf16

```
GPUs   MBS   tokens/s   MFU
----   ---   --------   -----
8      2     61,200     41.2%
16     2     121,400    40.9%
```
"""
    runs = read(text, tmp_path)[0]
    assert [run["mbs"] for run in runs] == [2, 2]


def test_what_devices_have_is_no_memory_used(tmp_path: Path) -> None:
    text = """\
# Fine-tuning

| GPU | VRAM | MBS | tok/s |
|---|---|---|---|
| A100 | 80 GB | 4 | 4,120 |
| RTX 4090 | 24 GB | 1 | 1,980 |
"""
    runs = read(text, tmp_path)[0]
    assert [run.get("memory") for run in runs] == [None, None]


def test_bare_shares_are_no_memory(tmp_path: Path) -> None:
    rows = "| PP=4/VPP=4 | 346.6 | 2459.8 | {} |\n| PP=4/VPP=2 | 342.6 | 2488.9 | {} |\n"
    head = "# Training\n\n| shape | TFLOP/s/GPU | ms/iter | mem |\n|---|---|---|---|\n"
    shares = read(head + rows.format("0.6063", "0.6248"), tmp_path)[0]
    assert [run.get("memory") for run in shares] == [None, None]
    sizes = read(head + rows.format("0.6 GiB", "0.7 GiB"), tmp_path)[0]
    assert [run.get("memory") for run in sizes] == [0.6, 0.7]


def test_flops_of_the_job_are_no_rate_of_a_device(tmp_path: Path) -> None:
    text = """\
# Training

| Metric | Value |
|---|---|
| Per-GPU throughput (median) | 1,905 TFLOPS/GPU |
| Aggregate throughput | 487,680 TFLOPS |
| Step time | 1.535s |
"""
    [run] = read(text, tmp_path)[0]
    check(run, tflops=1905.0, aggregate_pflops=487.68, step_time_s=1.535)


def test_a_ranking_is_no_list_of_processes(tmp_path: Path) -> None:
    text = """\
# Training sweep

| Rank | TP | PP | TFLOPs/GPU |
|---|---|---|---|
| 1 | 2 | 4 | 210 |
| 2 | 4 | 2 | 190 |
"""
    assert len(read(text, tmp_path)[0]) == 2
    assert not read(text.replace("| 1 |", "| 0 |").replace("| 2 | 4 | 2", "| 1 | 4 | 2"), tmp_path)[
        0
    ]


@pytest.mark.parametrize(
    ("cell", "length"), [("8K", 8192), ("262K", 262_144), ("65.5k", 65_536), ("100k", 100_000)]
)
def test_thousands_of_a_length_may_be_a_power_of_two(cell: str, length: int) -> None:
    assert parse_cell(cell, columns()["seq_len"]).value == length


@pytest.mark.parametrize(
    ("raw", "value"), [("5.834 ↑", 5.834), ("61.2 🏆", 61.2), ("↑", None), ("9.1 ❌", None)]
)
def test_arrows_and_awards_behind_a_number_are_no_words(raw: str, value: float | None) -> None:
    cell = parse_cell(raw, column_of("Throughput (samples/s)"))
    assert (None if cell.invalid else cell.value) == value


@pytest.mark.parametrize(
    ("words", "stage"),
    [
        ("**ZeRO Stage 1**", 1),
        ("ZeRO-Stage-2", 2),
        ("ZeRO stages 1 and 2", None),
        ("stage 3", None),
    ],
)
def test_stages_in_words(words: str, stage: int | None) -> None:
    assert sizes_in(words).get("zero_stage") == stage


def test_a_row_of_ratios_is_no_run(tmp_path: Path) -> None:
    text = """\
# Training on A100

| Configuration | Throughput | Time/step | Memory/GPU |
|--|--|--|--|
| 4 GPUs | 142K tok/s | 3680 ms | 16.93 GB |
| 16 GPUs | 438K tok/s | 1197 ms | 5.82 GB |
| **Speedup** | **3.08×** | **3.08× faster** | **2.91× less** |
"""
    runs, _ = read(text, tmp_path)
    assert [run["line"] for run in runs] == [5, 6]


@pytest.mark.parametrize(
    ("heading", "cell", "kept"),
    [
        ("Active/Token", "96M (66%)", True),
        ("Bytes per token", "1,024", True),
        ("Auth/token", "9f86d081884c7d65", False),
        ("API token", "1234", False),
    ],
)
def test_numbers_of_a_token_are_no_secret(heading: str, cell: str, kept: bool) -> None:
    rows = f"| Model | {heading} | tok/s |\n|--|--|--|\n| 7B | {cell} | 120 |\n"
    [table] = [block for block in blocks(rows) if isinstance(block, Table)]
    assert (without_secrets(table).rows[0].cells[1] == cell) is kept


def test_two_remarked_results_of_a_cell_are_two_runs(tmp_path: Path) -> None:
    text = """\
# Training, 454M

| precision | ms/step | tok/s |
|--|--|--|
| fp32 | 1764 | 3.5K |
| bf16 | 297 (eager) / **165 (compiled)** | 37K |
"""
    first, *others = read(text, tmp_path)[0]
    check(first, step_time_s=1.764, tokens_per_s=3500.0)
    found = {run["step_time_s"]: (run["line"], run.get("tokens_per_s")) for run in others}
    assert found == {0.297: (6, None), 0.165: (6, None)}


@pytest.mark.parametrize(("words", "layers"), [("BDH-HRM (3H×2L)", None), ("tiny (6L/6H/384d)", 6)])
def test_a_product_of_codes_is_no_count_of_layers(words: str, layers: int | None) -> None:
    found = {name: int(value) for name, _, value in named_numbers(words)}
    assert found.get("layers") == layers


@pytest.mark.parametrize(
    ("heading", "named"),
    [("FSDP from scratch", 0), ("DeepSpeed in practice", 0), ("Megatron + Deepspeed 3D (new)", 1)],
)
def test_a_topic_is_no_framework(heading: str, named: int) -> None:
    assert len(frameworks_heading(heading, 1)) == named


@pytest.mark.parametrize(
    ("thousands", "tokens"), [(8, 8192), (96, 98_304), (262, 262_144), (40, None), (200, None)]
)
def test_a_round_length_may_be_decimal(thousands: int, tokens: int | None) -> None:
    assert binary_length(thousands) == tokens


SCALED = "| 策略 | GPU 数 | Tokens/sec |\n|--|--:|--:|\n| DDP | 1 | 34794 |\n| DDP | 8 | {} |\n"


@pytest.mark.parametrize(
    ("rate", "metric"),
    [
        ("225918", "tokens_per_s"),
        ("31000", None),  # of a device, or of a job that does not scale
        ("60000", None),
    ],
)
def test_a_rate_that_grows_with_the_devices_is_of_the_job(
    rate: str, metric: str | None, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text(f"# 训练\n\n{SCALED.format(rate)}", "utf-8")
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path / "a.md"], tmp_path)
        found = warehouse.rows("SELECT DISTINCT scope FROM measurements WHERE line = 6")
    assert found == [("job" if metric else None,)]


def test_words_under_a_heading_in_another_script_set_rows_apart() -> None:
    assert is_setting("策略", ["DDP", "FSDP"])
    assert is_setting("**设定**", ["eager", "16 卡 compile"])
    for heading, cells in (("扩展效率", ["100%", "81%"]), ("备注", ["好", "慢"]), ("±", ["a"])):
        assert not is_setting(heading, cells)
