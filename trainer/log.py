"""The log format: Megatron-DeepSpeed's lines, one function each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from .flops import as_printed, printed
from .options import Options
from .presets import Shape

STARTED = "[before the start of training step]"
DONE = "[after training is done]"
TORCH = {"fp32": "torch.float32", "bf16": "torch.bfloat16"}


@dataclass(frozen=True, slots=True)
class Step:
    """Results of one iteration; the norm is None if the step was skipped."""

    iteration: int
    seconds: float
    loss: float
    grad_norm: float | None
    skipped: bool
    nan: bool
    joules: float | None = None  # of a process, if the processors count them


def world_line(options: Options) -> str:
    """World size and parallel sizes."""
    grid = options.grid
    return (
        f"using world size: {grid.world}, data-parallel-size: {grid.dp}, "
        f"tensor-model-parallel size: {grid.tp}, pipeline-model-parallel size: {grid.pp} "
    )


def arguments(options: Options, torch_version: str, device: str, threads: int) -> dict[str, object]:
    """The options of the run under Megatron's names, or ours where Megatron has none."""
    grid, shape = options.grid, options.shape
    return {
        "adam_beta1": 0.9,
        "adam_beta2": 0.95,
        "adam_eps": 1e-08,
        "attention_backend": options.attention,
        "bf16": options.dtype == "bf16",
        "checkpoint_activations": options.recompute == "full",
        "clip_grad": options.clip_grad,
        "context_parallel_size": grid.cp,
        "data_parallel_size": grid.dp,
        "ddp_bucket_size": options.bucket_size if options.overlap_grad_reduce else None,
        "device": device,
        "distributed_backend": "nccl" if device == "cuda" else "gloo",
        "expert_model_parallel_size": grid.ep,
        "ffn_hidden_size": shape.ffn,
        "framework": "bench.trainer",
        "global_batch_size": options.gbs,
        "hidden_size": shape.hidden,
        "lr": options.lr,
        "max_position_embeddings": shape.seq_len,
        "micro_batch_size": options.mbs,
        "model_preset": options.preset,
        "model_preset_changes": options.changes,
        "num_attention_heads": shape.heads,
        "num_layers": shape.layers,
        "overlap_grad_reduce": options.overlap_grad_reduce,
        "padded_vocab_size": options.vocab,
        "params_dtype": TORCH[options.params_dtype],
        "pipeline_model_parallel_size": grid.pp,
        "pipeline_schedule": options.schedule,
        "recompute_granularity": "full" if options.recompute == "full" else None,
        "seed": options.seed,
        "seq_length": shape.seq_len,
        "sequence_parallel": options.sequence_parallel,
        "tensor_model_parallel_size": grid.tp,
        "tflops_formula": as_printed(shape, options.recompute),
        "threads_per_process": threads,
        "torch_compile": options.compile,
        "torch_version": torch_version,
        "train_iters": options.iters,
        "virtual_pipeline_model_parallel_size": grid.vpp if grid.vpp > 1 else None,
        "vocab_size": shape.vocab,
        "weight_decay": options.weight_decay,
        "world_size": grid.world,
        "zero_optimization_stage": options.zero,
        **(_of_llama(shape) if shape.is_llama else {}),
        **(_of_mixture(shape) if shape.experts else {}),
    }


def _of_llama(shape: Shape) -> dict[str, object]:
    """Megatron's additional arguments of a Llama."""
    return {
        "add_bias_linear": False,
        "group_query_attention": shape.kv < shape.heads,
        "normalization": "RMSNorm",
        "num_query_groups": shape.kv,
        "position_embedding_type": "rope",
        "rotary_base": shape.rotary_base,
        "swiglu": True,
        "untie_embeddings_and_output_weights": True,
    }


def _of_mixture(shape: Shape) -> dict[str, object]:
    """Megatron's additional arguments of a mixture of experts."""
    return {
        "moe_ffn_hidden_size": shape.ffn,
        "moe_router_load_balancing_type": "none",
        "moe_router_topk": shape.chosen,
        "moe_token_dispatcher_type": "alltoall",
        "num_experts": shape.experts,
    }


def arguments_block(values: Mapping[str, object]) -> str:
    """The block between two rules, names padded with dots."""
    lines = ["------------------------ arguments ------------------------"]
    for name in sorted(values, key=str.lower):
        lines.append(f"  {name} {'.' * (48 - len(name))} {values[name]}")
    return "\n".join([*lines, "-------------------- end of arguments ---------------------"])


def model_lines(options: Options, on_ranks: Mapping[tuple[int, int], int]) -> str:
    """Micro-batches, vocabulary, and parameters by (tensor, pipeline) rank."""
    vocab, padded = options.shape.vocab, options.vocab
    lines = [
        f"setting number of micro-batches to constant {options.micro_batches}",
        f" > padded vocab (size: {vocab}) with {padded - vocab} dummy tokens (new size: {padded})",
        f" > number of parameters: {options.shape.parameters()}",
    ]
    for rank, count in sorted(on_ranks.items()):
        where = "(tensor, pipeline) model parallel rank"
        lines.append(f" > number of parameters on {where} {rank}: {count}")
    return "\n".join(lines)


def phase_line(phase: str, now: datetime) -> str:
    """Megatron's phase markers, `STARTED` and `DONE`."""
    return f"{phase} datetime: {now:%Y-%m-%d %H:%M:%S} "


def iteration_line(options: Options, step: Step) -> str:
    """One iteration. As in Megatron, a NaN loss is left out and counted."""
    samples = step.iteration * options.gbs
    flops = printed(options.shape, options.gbs, options.vocab, options.recompute)
    cells = [
        f" iteration {step.iteration:8d}/{options.iters:8d}",
        f"consumed samples: {samples:12d}",
        f"consumed tokens: {samples * options.shape.seq_len:12d}",
        f"elapsed time per iteration (ms): {step.seconds * 1000:.1f}",
        f"learning rate: {options.lr:.3E}",
        f"global batch size: {options.gbs:5d}",
    ]
    if not step.nan:
        cells.append(f"lm loss: {step.loss:.6E}")
    cells.append("loss scale: 1.0")
    if step.grad_norm is not None:
        cells.append(f"grad norm: {step.grad_norm:.3f}")
    cells += [
        f"actual seqlen: {options.shape.seq_len:5d}",
        f"number of skipped iterations: {step.skipped:3d}",
        f"number of nan iterations: {step.nan:3d}",
        f"samples per second: {options.gbs / step.seconds:.3f}",
        f"TFLOPs: {flops / (step.seconds * options.grid.world * 1e12):.4f}",
    ]
    if step.joules is not None:  # Megatron's statistics of a device
        cells.append(f"energy per GPU (J/iter/GPU): {step.joules:.3f}")
        cells.append(f"power per GPU (W/GPU): {step.joules / step.seconds:.3f}")
    return " | ".join(cells) + " |"


def time_line(milliseconds: Mapping[str, float]) -> str:
    """The timers of the iteration on the printing rank."""
    cells = [f"{name}: {value:.2f}" for name, value in milliseconds.items()]
    return " | ".join(["time (ms)", *cells])


def memory_line(rank: int, iteration: int, kind: str, megabytes: Mapping[str, float]) -> str:
    """Memory of one rank, kind `CPU memory` or `memory` (of the GPU); a MB is 1024^2 bytes."""
    cells = [f"{name}: {value:.2f}" for name, value in megabytes.items()]
    return " | ".join([f"[Rank {rank}] (after {iteration} iterations) {kind} (MB)", *cells])
