"""What documents of today write in headings, corners and cells, and what only looks like it."""

from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory
from tests.documents import check, read


def test_a_table_of_numbers_under_unknown_headings_is_no_plan(tmp_path: Path) -> None:
    text = """\
| model | nodes | mbs | graph scope | speedup_pct |
|--|--|--|--|--|
| 8b | 1 | 2 | attn | 2.03 |
"""
    ((run,), _) = read(text, tmp_path)
    check(run, kind="measured", status="ok")


def test_a_rate_of_a_device_is_not_multiplied_by_assumed_processes(tmp_path: Path) -> None:
    text = """\
| model | nodes | tp | pp | mbs | tokens/s/GPU |
|--|--|--|--|--|--|
| 8b | 1 | 1 | 1 | 2 | 10990 |
| 32b | 4 | 4 | 1 | 1 | 1908 |
"""
    (tmp_path / "a.md").write_text(text, "utf-8")
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path / "a.md"], tmp_path)
        assert warehouse.rows("SELECT value FROM token_rates") == []


def test_a_count_of_devices_in_a_heading(tmp_path: Path) -> None:
    text = """\
The throughput is measured for the first 5 training steps.

| Setup | Throughput on 8 A100 |
|--|--|
| 64K, data parallel | 10240 tokens/s |
| LoRA, 100K | 1603 tokens/s |
"""
    (first, second), _ = read(text, tmp_path)
    check(first, devices=8, device="A100", seq_len=65536)
    check(second, devices=8, seq_len=None)  # whether thousands or 1024s, nobody says


def test_devices_beside_a_unit_in_a_heading(tmp_path: Path) -> None:
    text = "| Model | MBS | Throughput (8xH100, tok/s) |\n|--|--|--|\n| 7B | 1 | 80000 |\n"
    ((run,), _) = read(text, tmp_path)
    check(run, devices=8, device="H100", tokens_per_s=80000.0)


def test_a_table_of_two_sides(tmp_path: Path) -> None:
    text = """\
# Training report

Number of samples trained per second

| model \\ num_node * num_gpus | 1*8 | 4*8 |
|--|--|--|
| bert 345m with zero3+offload | 18.3 | 46.9 |
"""
    (one, four), _ = read(text, tmp_path)
    check(one, nodes=1, devices=8, samples_per_s=18.3, zero_stage=3)
    check(four, nodes=4, devices=32, samples_per_s=46.9, zero_stage=3)


FRESH = """\
# Training results on Intel Max 1550

| Workload | LBS | GBS | TPS/GPU | Peak logged memory |
|--|--|--|--|--|
| `agpt_2b` (LBS=1) | 1 | 1 536 | ~6,100 | 40 GiB |
| llama3.1 8B | 2 | 48 | 5,100 | 67.7+73.1 |

## Best training throughput of each count

| GPUs | Best config | Time (hrs) | tok/s | Peak active / reserved |
|--|--|--|--|--|
| 1 | 7B, single GPU | 4.2 | 10,471 | 200.8 / 203.7 GiB |
| 16 | llama-13b, TP=4+FSDP=4 | 2.1 | 53,814 | 70.5 / 71 GiB |
| 32 | 300B tokens, TP=4 | 2.1 | 83,814 | 70.6 / 71 GiB |
"""


def test_what_documents_of_today_write(tmp_path: Path) -> None:
    (first, second, seven, llama, tokens), _ = read(FRESH, tmp_path)
    check(first, device="Max 1550", devices=None, gbs=1536, params_b=2.0, model="`agpt_2b` (LBS=1)")
    check(second, params_b=8.0, memory=None, tokens_per_s_per_device=5100.0)
    check(seven, memory=200.8, memory_reserved=203.7)
    check(seven, model="7B", devices=1, train_time_s=4.2 * 3600)
    check(llama, model="llama-13b", params_b=13.0, tp=4, dp_shard=4)
    check(tokens, model=None, tp=4)


def test_a_cell_that_is_not_read_loses_itself_alone(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(FRESH, "utf-8")
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path / "a.md"], tmp_path)
        assert warehouse.rows("SELECT * FROM left_out") == []


@pytest.mark.parametrize(
    ("heading", "cell", "seconds"),
    [("it/s", "2.0", 0.5), ("it/s", "1.3s/it", 1.3), ("it/s", "4 it/s", 0.25),
     ("s/it", "2 it/s", 0.5), ("Step time (ms)", "1300", 1.3), ("s/it", "1.3", 1.3)],
)  # fmt: skip
def test_a_bar_turns_its_unit_round(
    tmp_path: Path, heading: str, cell: str, seconds: float
) -> None:
    text = f"| GPUs | TP | {heading} |\n|--|--|--|\n| 8 | 1 | {cell} |\n"
    ((run,), _) = read(text, tmp_path)
    check(run, step_time_s=seconds, flags=[])


@pytest.mark.parametrize(
    ("heading", "cells", "expected"),
    [
        ("GPU", ("8", "16"), {"devices": 8, "device": None}),
        ("Instance", ("1", "2"), {"nodes": 1, "device": None}),
        ("GPU", ("4090", "3090"), {"devices": None, "device": "4090"}),
        ("GPU", ("A100", "8"), {"devices": None, "device": "A100"}),
        ("GPU", ("1", "2", "3"), {"devices": None}),  # the first one, the second one
        ("GPU", ("0", "1"), {"devices": None}),
        ("Chip", ("910", "910"), {"devices": None}),
        ("GPU", ("1660", "7900"), {"devices": None}),
        ("GPU", ("A100", "H100 NVL"), {"device": "A100"}),
    ],
)
def test_numbers_under_the_name_of_a_device_count(
    tmp_path: Path, heading: str, cells: tuple[str, ...], expected: dict[str, object]
) -> None:
    text = f"| Model | {heading} | TP | Tokens/s/GPU |\n|--|--|--|--|\n"
    text += "".join(f"| 7B | {cell} | 1 | 4000 |\n" for cell in cells)
    (run, *_), _ = read(text, tmp_path)
    check(run, **expected)


@pytest.mark.parametrize("corner", ["GPUs/node", "tokens/GPUs", "GPUs / node"])
def test_a_unit_is_no_corner(tmp_path: Path, corner: str) -> None:
    text = f"Tokens/s of Llama 7B\n\n| {corner} | 1 | 2 |\n|--|--|--|\n| 8 | 18.3 | 46.9 |\n"
    assert all(run["nodes"] is None for run in read(text, tmp_path)[0])


def test_a_corner_with_an_x_in_its_words(tmp_path: Path) -> None:
    text = """\
# Training report

Number of samples trained per second

| model \\ context length | 2048 | 4096 |
|--|--|--|
| 7B | 18.3 | 16.9 |
"""
    runs, _ = read(text, tmp_path)
    assert [run["seq_len"] for run in runs] == [2048, 4096]


@pytest.mark.parametrize("said", ["BPE, 32k", "tiktoken, 128k", "warmup, 2k"])
def test_a_number_of_thousands_is_no_length(tmp_path: Path, said: str) -> None:
    text = f"| Model | Setup | GPUs | Tokens/s |\n|--|--|--|--|\n| 7B | {said} | 8 | 4000 |\n"
    ((run,), _) = read(text, tmp_path)
    check(run, seq_len=None)


def test_a_claim_of_storage_and_the_make_of_a_chip_are_no_device_or_model(tmp_path: Path) -> None:
    text = """\
Checkpoints are written to a PVC.

| GPU | Architecture | TP | Tokens/s/GPU |
|--|--|--|--|
| H100 NVL | Hopper | 1 | 4000 |
|  | Ampere | 1 | 4000 |
"""
    (first, second), _ = read(text, tmp_path)
    check(first, device="H100 NVL", model=None)
    check(second, device=None, model=None)
