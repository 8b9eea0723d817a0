"""Logs and tables that are generated: lines as trainers print them, rows of a sweep."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product

STEP = (
    " iteration {n:8d}/{of:8d} | consumed samples: {samples:12d} | consumed tokens: {tokens:14d} |"
    " elapsed time per iteration (ms): {ms:.1f} | learning rate: {lr:.3E} |"
    " global batch size:  2048 | lm loss: {loss:.6E} | loss scale: 1.0 | grad norm: {norm:.3f} |"
    " num zeros: 0.0 | number of skipped iterations:   0 | number of nan iterations:   0 |"
    " samples per second: {speed:.3f} | TFLOPs: {tflops:.2f} |"
)
OWN_STEP = (
    "step {n}/{of} | loss: {loss:.6f} | lr: {lr:.3e} | grad_norm: {norm:.3f} | dt: {ms:.1f}ms |"
    " samples/s: {speed:.3f} | seen: {samples:,}"
)
NOISE = (
    "node-{a}:{b}:{b} [{c}] NCCL INFO Channel {c:02d}/08 : {a}[{c}] -> {c}[{c}] via P2P/IPC",
    "/opt/torch/autograd/graph.py:{b}: UserWarning: tensor {a} is not contiguous in memory",
    "  warnings.warn(f'rank {c}: buffer {b} of {a} will be allocated')",
    '  File "/opt/megatron/model/transformer.py", line {b}, in forward',
    "[rank{c}]: step of the allocator {b}: {a} blocks kept, {c} given back",
)
MEMORY = (
    "[Rank 0] (after {n} iterations) memory (MB) | allocated: 12{mb:03d}.5 |"
    " max allocated: 24{mb:03d}.5 | reserved: 26000.0 | max reserved: 26000.0"
)
SETUP = (
    "using world size: 256, data-parallel-size: 256, tensor-model-parallel size: 1,"
    " pipeline-model-parallel size: 1\n"
)
SHORT_STEP = (
    " iteration {at:8d}/{of:8d} | consumed samples: {samples:12d} | elapsed time per iteration "
    "(ms): {ms:.1f} | learning rate: 1.000E-04 | global batch size:   256 | lm loss: {loss:.6E} | "
    "loss scale: 1.0 | grad norm: 1.000 | number of skipped iterations:   0 | "
    "number of nan iterations:   0 |\n"
)
HEADER = (
    "| Nodes | Size | DP | TP | PP | MBS | GBS | Mem | Sec/it | TFLOPs | Notes |\n"
    "| ----: | ---: | -: | -: | -: | --: | --: | --: | -----: | -----: | ----: |\n"
)
# Configurations of a sweep: TP, PP, DP, MBS, GBS; unique within a table.
SETUPS = list(product((1, 2, 4, 8), (1, 2, 4), (8, 16, 32), (1, 2, 4), (1024, 2048, 4096)))


def log(
    steps: int,
    of: int = 1000,
    ms: Callable[[int], float] = lambda at: 9000 + at % 7 * 11,
    loss: Callable[[int], float] = lambda at: 8 - at / 400,
) -> str:
    """The steps of a log of Megatron-LM; `ms` and `loss` are functions of the step."""
    return "".join(
        SHORT_STEP.format(at=at, of=of, samples=at * 256, ms=ms(at), loss=loss(at))
        for at in range(1, steps + 1)
    )


def row(
    rng: random.Random,
    model: tuple[str, int, int, float],
    tp: int,
    pp: int,
    dp: int,
    mbs: int,
    gbs: int,
    noise: float = 0.1,
) -> str:
    """One row with TFLOPs by F2; one in 50 is wrong. Rates of jobs differ by `noise`, a share."""
    (label, h, layers, params), world, s = model, tp * pp * dp, 2048
    vocab = -(-50257 // (128 * tp)) * 128 * tp
    flops = 96 * gbs * s * layers * h * h * (1 + s / (6 * h) + vocab / (16 * layers * h))
    slots = gbs / (mbs * dp)  # pipeline bubbles; the rest is noise between jobs
    rate = (110 + 7 * mbs - 4 * tp) * slots / (slots + pp - 1) * rng.uniform(1 - noise, 1 + noise)
    seconds = round(flops / (rate * 1e12 * world), 3)
    shown = flops / (seconds * 1e12 * world) * (1.1 if rng.random() < 0.02 else 1)
    memory = min(10 + params * 18 / (tp * pp) / 1e9 + 3 * mbs, 70)
    return (
        f"| {world // 8 or 1} | {label} | {dp} | {tp} | {pp} | {mbs} | {gbs} | {memory:.0f}GB | "
        f"{seconds} | {shown:.2f} | |\n"
    )
