"""What a site has is not what a run had, and names in rows are read as their authors mean them."""

from __future__ import annotations

import pytest

from bench.ingest.documents.techniques import recompute_named
from tests.documents import runs

PAGE = """# Training on Arch

{said}

## Results

| Training config. | tokens/s/GPU | s/step |
|--|--|--|
| {first} | 2040 | 130 |
| {second} | 1910 | 140 |
"""
SITES = (
    "Arch is a supercomputer that has a total of 168 GH200 superchips (42 nodes x 4 GH200s).",
    "We ran on Arch, a supercomputer with 42 nodes of 4 GH200 each.",
    "Our cluster has 168 GH200 in total.",
    "The machine consists of 42 nodes with a total of 168 GH200 GPUs.",
    "The system is equipped with 42 nodes, for a total of 168 GH200.",
)


@pytest.mark.parametrize("said", SITES)
@pytest.mark.parametrize("rows", [("5 nodes", "40 nodes"), ("1% masked", "95% masked")])
def test_a_site_lends_its_size_to_no_run(said: str, rows: tuple[str, str]) -> None:
    found = runs(PAGE.format(said=said, first=rows[0], second=rows[1]))
    assert not {168, 42} & {one.get(name) for one in found for name in ("devices", "nodes")}, found


@pytest.mark.parametrize("said", ["All runs used 168 GH200 GPUs.", "We train on 168 GH200 GPUs."])
def test_rows_that_count_nodes_take_no_count_of_devices(said: str) -> None:
    assert [one.get("devices") for one in runs(PAGE.format(said=said, first="A", second="B"))] == [
        168,
        168,
    ]
    found = runs(PAGE.format(said=said, first="5 nodes", second="40 nodes"))
    assert [(one.get("nodes"), one.get("devices")) for one in found] == [(5, None), (40, None)]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("prime-rl, Mega MoE, full AC", "full"),
        ("prime-rl, selective AC", "selective"),
        ("prime-rl, AC", None),
        ("no AC", None),
    ],
)
def test_two_letters_with_their_kind(words: str, kind: str | None) -> None:
    assert recompute_named(words) == kind


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("qwen3_235b_a22b_primerl_bench_4n_s16k_fullac_bal", None),
        ("qwen3_235b_a22b", "qwen3_235b_a22b"),
        ("Llama-3-8B-Instruct", "Llama-3-8B-Instruct"),
    ],
)
def test_the_name_of_a_configuration_is_no_model(name: str, model: str | None) -> None:
    found = runs(PAGE.format(said="", first=name, second="B"))
    assert found[0].get("model") == model
