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
