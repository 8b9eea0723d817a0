"""F3, F6 and F8 to F13 against figures that are published."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bench.schema.opening import in_memory
from bench.schema.warehouse import Warehouse


@pytest.fixture(scope="module")
def warehouse() -> Iterator[Warehouse]:
    with in_memory() as made:
        yield made


def one(warehouse: Warehouse, expression: str, *values: object) -> Any:
    [(value,)] = warehouse.rows(f"SELECT {expression}", list(values))
    return value


@pytest.mark.parametrize(
    ("layers", "seconds", "gpus", "tp", "pp", "printed"),
    # The six log lines of bigscience chronicles-prequel.md, 2022-02-17: hidden 14400, GBS 2048.
    [
        (8, 769.99, 8, 8, 1, 108.47),
        (80, 844.81, 80, 8, 10, 98.87),
        (80, 430.21, 160, 8, 10, 97.07),
        (8, 777.09, 8, 8, 1, 107.48),
        (80, 853.81, 80, 8, 10, 97.82),
        (80, 434.14, 160, 8, 10, 96.19),
    ],
)
def test_f3_is_what_bigscience_printed(
    warehouse: Warehouse, layers: int, seconds: float, gpus: int, tp: int, pp: int, printed: float
) -> None:
    flops = one(warehouse, "f3(2048, 2048, ?, 14400, ?, ?, 4)", layers, tp, pp)
    assert flops / seconds / gpus / 1e12 == pytest.approx(printed, abs=0.006)
    # Without counting biases and norms once a rank it misses the last digit.
    plain = 8 * one(warehouse, "p1n(?, 14400)", layers) * 2048 * 2048
    assert abs(plain / seconds / gpus / 1e12 - printed) > 0.02


def test_f3_and_eq3_differ_as_documents_found(warehouse: Warehouse) -> None:
    for hidden, layers, pp, ratio in ((14400, 80, 10, 1.037), (14336, 72, 12, 1.039),
                                      (12288, 96, 6, 1.041), (14400, 8, 1, 1.159)):  # fmt: skip
        f1 = one(warehouse, "f1(2048, 2048, ?, ?, 250880)", layers, hidden)
        f3 = one(warehouse, "f3(2048, 2048, ?, ?, 8, ?, 4)", layers, hidden, pp)
        assert f1 / f3 == pytest.approx(ratio, abs=6e-4)


def test_f6_is_eight_times_parameters_and_tokens(warehouse: Warehouse) -> None:
    assert one(warehouse, "f6(1.3e9, 512, 2048)") == one(warehouse, "f4(1.3e9, 512 * 2048)")


@pytest.mark.parametrize(
    ("layers", "hidden", "heads", "vocab", "seq_len", "ratio"),
    # F8 over F2 without recompute, worked out by hand from the two formulas.
    [
        (12, 768, 12, 50304, 1024, 1.002),
        (24, 2048, 32, 50304, 1024, 0.982),
        (72, 14336, 64, 250880, 2048, 0.993),
    ],
)
def test_f8_halves_the_core_attention(
    warehouse: Warehouse,
    layers: int,
    hidden: int,
    heads: int,
    vocab: int,
    seq_len: int,
    ratio: float,
) -> None:
    f8 = one(
        warehouse, "f8(1, ?, ?, ?, ?, ?, ?, ?, ?, 2, 1)",
        seq_len, layers, hidden, vocab, heads, heads, hidden // heads, 4 * hidden,
    )  # fmt: skip
    f2 = one(warehouse, "f2(1, ?, ?, ?, ?, 3)", seq_len, layers, hidden, vocab)
    assert f8 / f2 == pytest.approx(ratio, abs=1.5e-3)
    f7 = one(warehouse, "f7(1, ?, ?, ?, ?, ?, ?)", seq_len, layers, hidden, vocab, heads, heads)
    assert f7 - f8 == pytest.approx(6 * seq_len**2 * layers * hidden)


def test_f8_counts_what_llama_3_has(warehouse: Warehouse) -> None:
    # Llama 3 8B: 32 layers of 4096, 32 heads in 8 groups, SwiGLU of 14336, vocabulary 128256.
    flops = one(warehouse, "f8(1, 8192, 32, 4096, 128256, 32, 8, 128, 14336, 3, 1)")
    matrices = 32 * (4096 * 128 * (32 + 16) + 4096 * 4096 + 3 * 4096 * 14336) + 4096 * 128256
    assert matrices == pytest.approx(7.5e9, rel=1e-2), "8.03e9 less one embedding"
    assert flops == pytest.approx(6 * 8192 * matrices + 6 * 8192**2 * 32 * 4096)


@pytest.mark.parametrize(
    ("layers", "hidden", "gbs", "gpus", "seconds", "mfu", "hfu"),
    # 2205.05198 table 5: 175B and 530B on A100 with selective recompute; GPT-3 175B takes 13.75 s.
    [(96, 12288, 64, 64, 13.75, 0.514, 0.528), (105, 20480, 280, 280, 37.83, 0.560, 0.570)],
)
def test_f9_and_f7_are_korthikantis_utilisations(
    warehouse: Warehouse,
    layers: int,
    hidden: int,
    gbs: int,
    gpus: int,
    seconds: float,
    mfu: float,
    hfu: float,
) -> None:
    peak = seconds * gpus * 312e12
    model = one(warehouse, "f7(?, 2048, ?, ?, 51200, 1, 1)", gbs, layers, hidden)
    hardware = one(warehouse, "f9(?, 2048, ?, ?, 51200)", gbs, layers, hidden)
    assert model / peak == pytest.approx(mfu, abs=4e-3)
    assert hardware / peak == pytest.approx(hfu, abs=5e-3)


@pytest.mark.parametrize(
    ("params", "layers", "hidden", "seq_len", "rate", "printed"),
    # llm-foundry benchmarking/README.md: tokens/s a GPU on H100 and A100, and Model TFLOP.
    [
        (64862437376, 80, 8192, 2048, 1039, 421.2583),
        (12853954560, 40, 5120, 2048, 2262, 185.8556),
        (6658859008, 32, 4096, 2048, 4641, 200.3836),
    ],
)
def test_f10_is_llm_foundrys_model_flops(
    warehouse: Warehouse,
    params: int,
    layers: int,
    hidden: int,
    seq_len: int,
    rate: int,
    printed: float,
) -> None:
    flops = one(warehouse, "f10(?, 1, ?, ?, ?)", params, seq_len, layers, hidden)
    assert flops / seq_len * rate / 1e12 == pytest.approx(printed, rel=1e-3)


def test_f11_is_three_times_the_forward_pass(warehouse: Warehouse) -> None:
    assert one(warehouse, "f11(5e9)") == 3e10


def test_f12_is_four_thirds_of_f2(warehouse: Warehouse) -> None:
    f12 = one(warehouse, "f12(8, 2048, 24, 2048, 50304, 4)")
    assert f12 == pytest.approx(4 / 3 * one(warehouse, "f2(8, 2048, 24, 2048, 50304, 4)"))


def test_f13_is_f7_with_a_gate_and_groups(warehouse: Warehouse) -> None:
    plain = one(warehouse, "f13(8, 2048, 24, 2048, 50304, 16, 16, 128, 8192, 2, 1)")
    assert plain == pytest.approx(one(warehouse, "f7(8, 2048, 24, 2048, 50304, 16, 16)"))
    # A step of the reference trainer's llama-1.1b on a H200: 0.8883 s, 539.5964 TFLOP/s printed.
    llama = one(warehouse, "f13(32, 2048, 22, 2048, 32000, 32, 4, 64, 5632, 3, 1)")
    assert llama / 0.8883 / 1e12 == pytest.approx(539.5964, rel=1e-4)
