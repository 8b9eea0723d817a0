"""The reference trainer without torch: sizes, FLOPs, the printed format, what is recorded."""

import json
import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from bench.trainer import environment, flops, log
from bench.trainer.options import Options, parse
from bench.trainer.presets import PRESETS, Shape, shaped
from tests.logs import read

# Presets


@pytest.mark.parametrize(
    ("preset", "millions"),
    [
        ("124m", 124.4),
        ("350m", 354.8),
        ("1.3b", 1315.7),
        ("13b", 12853.4),
        ("30b", 29974.4),
        # As transformers counts TinyLlama-1.1B, Llama-2-7b, Meta-Llama-3-8B and -70B.
        ("llama-1.1b", 1100.05),
        ("llama-7b", 6738.42),
        ("llama-8b", 8030.26),
        ("llama-70b", 70553.71),
        ("mixtral-8x7b", 46702.79),
    ],
)
def test_presets_have_the_size_of_their_name(preset: str, millions: float) -> None:
    assert PRESETS[preset].parameters() / 1e6 == pytest.approx(millions, abs=0.06)


def test_a_preset_that_was_changed_says_so() -> None:
    assert shaped("1.3b", {"layers": 2, "hidden": None, "heads": 32})[1] == "layers 24 -> 2"
    assert shaped("1.3b", {"layers": None})[1] is None
    values = log.arguments(parse(["--preset", "1.3b", "--layers", "2"]), "2.13.0", "cpu", 1)
    assert values["model_preset_changes"] == "layers 24 -> 2"


@pytest.mark.parametrize(("tp", "padded"), [(1, 50304), (2, 50432), (4, 50688), (8, 51200)])
def test_the_vocabulary_is_padded_as_in_megatron(tp: int, padded: int) -> None:
    assert PRESETS["124m"].padded_vocab(tp) == padded


@pytest.mark.parametrize("sizes", [{"kv_heads": 2}, {"ffn_hidden": 100}])
def test_a_gpt2_has_no_sizes_of_a_llama(sizes: dict[str, int]) -> None:
    """Its formula of FLOPs, its count of parameters and its log know none of them."""
    with pytest.raises(ValueError, match="sizes of a Llama"):
        Shape(2, 64, 4, 32, 256, **sizes)


@pytest.mark.parametrize(
    ("preset", "sizes", "why"),
    [
        ("nano", {"top_k": 2}, "top_k 2 has no effect without experts"),
        ("llama-nano", {"top_k": 3}, "top_k 3 has no effect without experts"),
        ("nano", {"experts": 4}, "4 experts in a GPT-2: only a Llama has experts"),
        ("moe-nano", {"top_k": 5}, "top_k 5 exceeds experts 4"),
        ("moe-nano", {"experts": 1}, "top_k 2 exceeds experts 1"),
    ],
)
def test_experts_that_no_token_can_take_are_refused(
    preset: str, sizes: dict[str, int | None], why: str
) -> None:
    with pytest.raises(ValueError, match=f"^{why}$"):
        shaped(preset, sizes)


def test_heads_that_do_not_divide_the_hidden_size_are_refused() -> None:
    with pytest.raises(ValueError, match=r"100 % 3 = 1"):
        Shape(2, 100, 3, 32, 256)


# FLOPs


def test_a_published_log_gives_its_own_tflops() -> None:
    # BigScience's chronicles-prequel.md, 48 nodes of 8 GPUs, MBS 4: 123.69 s, 130.34 TFLOPs.
    shape = Shape(layers=72, hidden=14336, heads=64, seq_len=2048, vocab=250880)
    per_gpu = flops.printed(shape, 2048, 250880, "full") / (123.69 * 48 * 8 * 1e12)
    assert per_gpu == pytest.approx(130.34, abs=0.01)


def test_the_formulas_differ_as_physics_says() -> None:
    small, shape = PRESETS["124m"], replace(PRESETS["1.3b"], seq_len=1024)
    assert flops.model(small, 1, 50304) == pytest.approx(875e9, rel=0.001)
    assert flops.printed(shape, 1, 50304, "full") == pytest.approx(
        flops.printed(shape, 1, 50304, "none") * 4 / 3
    )
    # What V/16 beside a factor of 72 leaves out: 6.8 % of 124M, 1.8 % of 1.3B.
    for size, low in ((small, 0.068), (shape, 0.018)):
        left_out = 1 - flops.printed(size, 1, 50304, "none") / flops.model(size, 1, 50304)
        assert left_out == pytest.approx(low, abs=0.001)
    # Half of the attention, beside the formula as coded: 1.002 and 0.982.
    for size, ratio in ((small, 1.002), (shape, 0.982)):
        found = flops.causal(size, 1, 50304) / flops.printed(size, 1, 50304, "none")
        assert found == pytest.approx(ratio, abs=0.002)


# The printed format


def printed(options: Options, steps: list[log.Step]) -> str:
    """What rank 0 prints, with figures of our own."""
    now = datetime(2026, 11, 20, 9, 0, 0)
    memory = {"used": 2103.1, "total": 24105.56, "max rss": 612.5}
    lines = [
        log.world_line(options),
        log.arguments_block(log.arguments(options, "2.13.0", "cpu", 1)),
        environment.line({"torch": "2.13.0"}, 1),
        log.model_lines(options, {(0, 0): 107, (1, 0): 107}),
        "training ...",
        log.phase_line(log.STARTED, now),
    ]
    for step in steps:
        lines += [log.iteration_line(options, step), log.time_line({"optimizer": 5.031})]
    lines += [log.memory_line(0, 1, "CPU memory", memory), log.phase_line(log.DONE, now)]
    return "\n".join(lines) + "\n"


WORDS = "--preset 10m --dp 2 --tp 2 --sequence-parallel --gbs 8 --mbs 2 --iters 2 --dtype bf16"


def test_the_log_is_read_back_whole() -> None:
    options = parse([*WORDS.split(), "--recompute", "full", "--zero", "1", "--vocab", "8000"])
    steps = [
        log.Step(1, 0.5, 9.0109, 1.25, skipped=False, nan=False),
        log.Step(2, 0.25, 8.99, 1.0, skipped=False, nan=False),
    ]
    tables = read(printed(options, steps)).rows.by_table
    (run,) = tables["runs"]
    (topology,) = tables["topology"]
    shape = {"layers": 6, "hidden": 320, "heads": 8, "seq_len": 256, "vocab": 8192}
    assert {name: run[name] for name in shape} == shape
    assert (run["status"], run["dtype"], run["recompute"]) == ("ok", "bf16", "full")
    assert run["params_stated"] == options.shape.parameters()
    grid = {"ranks": 4, "dp": 2, "tp": 2, "pp": 1, "mbs": 2, "gbs": 8, "grad_accum": 2}
    assert {name: topology[name] for name in grid} == grid
    assert topology["sequence_parallel"] is True
    first, second = tables["iterations"]
    assert (first["step_time_s"], first["loss"], first["grad_norm"]) == (0.5, 9.0109, 1.25)
    assert (second["consumed_samples"], second["consumed_tokens"]) == (16, 16 * 256)
    per_process = flops.printed(options.shape, 8, 8192, "full") / (0.25 * 4 * 1e12)
    assert second["tflops"] == pytest.approx(per_process, abs=5e-5)
    assert second["samples_per_s"] == 32.0
    facts = {row["field"]: row["value"] for row in tables["facts"]}
    assert facts["zero_optimization_stage"] == "1"
    assert facts["tflops_formula"] == "96 B s L h^2 (1 + s/(6h) + V/(16Lh)) / (T x processes)"
    assert not tables.get("warnings")


def test_the_log_of_a_llama_is_read_back_whole() -> None:
    words = "--preset llama-nano --layers 4 --tp 2 --gbs 8 --iters 1"
    options = parse(words.split())
    step = log.Step(1, 0.5, 5.5, 1.0, skipped=False, nan=False)
    tables = read(printed(options, [step])).rows.by_table
    (run,) = tables["runs"]
    shape = {"layers": 4, "heads": 4, "kv_heads": 2, "ffn_hidden": 160, "swiglu": True}
    assert {name: run[name] for name in shape} == shape
    # A layer: 128 x 64 of attention's way in, 64 x 64 out, three of 160 x 64, two norms of 64.
    layer = 128 * 64 + 64 * 64 + 3 * 160 * 64 + 2 * 64
    assert run["params_stated"] == options.shape.parameters() == 4 * layer + 2 * 256 * 64 + 64
    facts = {row["field"]: row["value"] for row in tables["facts"]}
    assert facts["tflops_formula"] == "6 B s (1 L (2h^2 + 2hk + 3hf + 2sh) + hV) / (T x processes)"
    (iteration,) = tables["iterations"]
    s, h = 32, 64
    work = 2 * h * h + 2 * h * 32 + 3 * h * 160 + 2 * s * h
    flop = 6 * 8 * s * (4 * work + h * options.vocab)
    assert iteration["tflops"] == pytest.approx(flop / (0.5 * 2 * 1e12), abs=5e-5)


def test_the_log_of_a_mixture_is_read_back_with_all_axes() -> None:
    words = "--preset moe-nano --layers 4 --cp 2 --ep 2 --pp 2 --vpp 2 --gbs 8 --iters 1"
    options = parse(words.split())
    step = log.Step(1, 0.5, 5.5, 1.0, skipped=False, nan=False)
    tables = read(printed(options, [step])).rows.by_table
    ((run,), (topology,), (iteration,)) = (tables[n] for n in ("runs", "topology", "iterations"))
    assert (run["experts"], run["ffn_hidden"], run["swiglu"]) == (4, 96, True)
    axes = {"ranks": 4, "dp": 1, "tp": 1, "pp": 2, "cp": 2, "ep": 2, "vpp": 2}
    assert {name: topology[name] for name in axes} == axes
    s, h = 32, 64
    layer = 2 * h * h + 2 * h * 32 + 4 * 3 * h * 96 + 4 * h + 2 * h  # 4 experts and a router
    assert run["params_stated"] == 4 * layer + 2 * 256 * h + h
    assert options.shape.active() == run["params_stated"] - 4 * 2 * 3 * h * 96
    work = 2 * h * h + 2 * h * 32 + 2 * 3 * h * 96 + 2 * s * h  # a token goes through two
    flop = 6 * 8 * s * (4 * work + h * options.vocab)
    assert iteration["tflops"] == pytest.approx(flop / (0.5 * 4 * 1e12), abs=5e-5)


def test_a_step_without_a_number_is_counted() -> None:
    options = parse(["--iters", "1"])
    step = log.Step(1, 0.5, float("nan"), None, skipped=True, nan=True)
    line = log.iteration_line(options, step)
    assert "lm loss" not in line and "grad norm" not in line
    (row,) = read(printed(options, [step])).rows.by_table["iterations"]
    assert (row["skipped"], row["nan"], row.get("loss")) == (1, 1, None)


# The environment


def test_secrets_are_not_recorded() -> None:
    found = environment.flags(
        {
            "NCCL_SOCKET_IFNAME": "eth0",
            "OMP_NUM_THREADS": "2",
            "SLURM_JWT": "abc",
            "NCCL_AUTH_KEY": "abc",
            "TORCH_HUB_TOKEN": "abc",
            "MALLOC_CONF": "http://me:pw@host/x",
            "CUDA_NOTE": "hf_abcdefghijklmnop",
            "MY_PASSWORD": "abc",
            "HOME": "/root",
        }
    )
    assert found == {
        "CUDA_NOTE": "[redacted]",
        "MALLOC_CONF": "http://[redacted]@host/x",
        "NCCL_AUTH_KEY": "[redacted]",
        "NCCL_SOCKET_IFNAME": "eth0",
        "OMP_NUM_THREADS": "2",
        "SLURM_JWT": "[redacted]",
        "TORCH_HUB_TOKEN": "[redacted]",
    }


def test_the_allocator_is_the_one_that_is_loaded() -> None:
    row = "7f00-7f01 r-xp 00000000 08:01 12 /usr/lib/x86_64-linux-gnu/{}\n"
    plain = row.format("libc.so.6") + "7ffc-7ffd rw-p 00000000 00:00 0 [stack]\n"
    assert environment.allocator(plain) == "libc"
    name = "libtcmalloc_minimal.so.4.5.10"
    assert environment.allocator(plain + row.format(name)) == name


def test_the_environment_is_one_line_of_json() -> None:
    line = environment.line({"torch": "2.13.0"}, 2, ["NVIDIA H200, 143771 MB"])
    assert "\n" not in line and line.startswith(environment.LABEL)
    facts = json.loads(line.removeprefix(environment.LABEL))
    assert facts["versions"]["torch"] == "2.13.0"
    assert facts["threads"] == 2 and facts["gpus"] == ["NVIDIA H200, 143771 MB"]
    assert len(facts["load_average"]) == 3
    assert {"cpu", "clock_mhz", "memory_mb", "allocator", "flags", "command"} <= facts.keys()


def test_a_tool_that_cannot_be_started_tells_nothing_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (
        ("broken", b"#!/no/such/shell\n"),
        ("latin", b"#!/bin/sh\nprintf '\\351'\n"),
    ):
        (tmp_path / name).write_bytes(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert environment.output("broken") == ""
    assert environment.output("latin") == "\N{REPLACEMENT CHARACTER}"


def test_the_kernels_files_are_read() -> None:
    assert environment.clock("cpu MHz\t\t: 2596.142\ncpu MHz\t\t: 3000\n") == {
        "min": 2596.142,
        "max": 3000.0,
    }
    assert environment.clock("") is None
    assert environment.memory("MemTotal:  2048 kB\nMemAvailable:  1024 kB\n") == {
        "total": 2,
        "available": 1,
    }
    assert environment.lscpu("CPU(s):   2\nModel name:  AMD EPYC\nFlags: fpu\n") == {
        "cpus": "2",
        "model": "AMD EPYC",
    }
