"""Lines as trainers print them, for logs that are generated."""

from __future__ import annotations

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
