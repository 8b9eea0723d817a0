"""Cells that assign settings state them, whatever their heading is."""

import pytest

from bench.ingest.documents.row_words import numbers_in_words
from tests.documents import runs


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("per_device_bs=4, accumulate=32", {"mbs": 4, "grad_accum": 32}),
        ('sharding="stage1", sharding_degree=4', {"zero_stage": 1, "dp_shard": 4}),
        ("pipline_parallel_degree=4", {"pp": 4}),
        ("micro_bs=2; seq_length=4096", {"mbs": 2, "seq_len": 4096}),
        ("zero_stage=3", {"zero_stage": 3}),
        ("num_workers=4, warmup_steps=100, lora_r=16, num_experts=8", {}),
        ("micro_bs=2 * 4", {}),
        ("sharding=4", {}),  # of what?
        ("micro_bs=2, micro_bs=4", {}),
        ("d512 L8", {"layers": 8, "hidden": 512}),
        ("L12 H768, MHA", {"layers": 12, "hidden": 768}),
        ("11L/512d", {"layers": 11, "hidden": 512}),
        ("24 layers, 1024 hidden", {"layers": 24, "hidden": 1024}),
        ("512h", {}),  # hours
        ("d512, on an L4", {}),
    ],
)
def test_names_of_settings_in_words(text: str, settings: dict[str, int]) -> None:
    assert numbers_in_words(text) == settings


def test_a_cell_of_assignments_under_an_unknown_heading() -> None:
    [run] = runs(
        "# Training\n\n| Setting | fix_hp | tokens/s |\n|--|--|--|\n"
        "| A100 8 GPUs (1x8*80G) | per_device_bs=4, accumulate=32 | 35280 |\n"
    )
    assert (run["mbs"], run["grad_accum"], run["devices"]) == (4, 32, 8)


def test_a_unit_in_the_caption_is_that_of_its_column() -> None:
    [run] = runs(
        "# Training on 8 A100\n\nTable 2: Throughput in tokens/s and memory in GB.\n\n"
        "| Method | GPUs | Throughput | Memory |\n|--|--|--|--|\n| FSDP | 8 | 20000 | 40 |\n"
    )
    assert (run["tokens_per_s"], run["memory"]) == (20000, 40)


def test_a_training_is_timed_next_to_the_speed_of_what_was_trained() -> None:
    run, _ = runs(
        "# SFT\n\n| Method | Peak memory | Training time | Inference speed |\n|--|--|--|--|\n"
        "| LoRA | 5.2 GB | 2.5 hrs | 7.95 tok/s |\n| QLoRA | 4.7 GB | 1 hr | 8.73 tok/s |\n"
    )
    assert (run["train_time_s"], run.get("tokens_per_s")) == (9000, None)
