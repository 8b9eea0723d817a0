"""The command line: model, grid, duration."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from .grid import Grid, GridError
from .presets import PRESETS, SIZES, Shape, shaped


@dataclass(frozen=True, slots=True)
class Options:
    """Validated options: the grid fits the model and the batch."""

    preset: str
    changes: str | None
    shape: Shape
    grid: Grid
    mbs: int
    gbs: int
    micro_batches: int
    iters: int
    schedule: str
    sequence_parallel: bool
    zero: int
    overlap_grad_reduce: bool
    bucket_size: int
    recompute: str
    dtype: str
    params_dtype: str
    compile: bool
    attention: str
    device: str
    lr: float
    weight_decay: float
    clip_grad: float
    seed: int
    threads: int | None

    @property
    def vocab(self) -> int:
        """Rows of the embedding over all tensor-parallel ranks, including dummy tokens."""
        return self.shape.padded_vocab(self.grid.tp)

    @property
    def length(self) -> int:
        """Tokens of a sequence on one rank."""
        return self.shape.seq_len // self.grid.cp

    @property
    def bucket(self) -> int:
        """Elements per bucket of gradients: without overlap, all are reduced together."""
        return self.bucket_size if self.overlap_grad_reduce else sys.maxsize


def parser(
    kind: type[argparse.ArgumentParser] = argparse.ArgumentParser,
) -> argparse.ArgumentParser:
    """The parser of the flags."""
    flags = kind(
        prog="python -m bench.trainer.train",
        description="Train a GPT-2 or a Llama on synthetic tokens and print a Megatron-DeepSpeed "
        "log. Starts its own processes on this machine; under torchrun (RANK is set) it is one of "
        "them.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    model = flags.add_argument_group("model", "a preset, and what to change of it by hand")
    model.add_argument("--preset", choices=PRESETS, default="nano", help="size of the model")
    model.add_argument("--layers", type=int, help="transformer layers")
    model.add_argument("--hidden", type=int, help="hidden size")
    model.add_argument("--heads", type=int, help="attention heads")
    model.add_argument("--seq-len", type=int, help="tokens of a sequence")
    model.add_argument("--vocab", type=int, help="tokens of the vocabulary, before padding")
    model.add_argument("--kv-heads", type=int, help="heads of keys and values, of a Llama")
    model.add_argument("--ffn-hidden", type=int, help="width of an MLP, of a Llama")
    model.add_argument("--experts", type=int, help="MLPs of a layer of a Llama: a mixture of them")
    model.add_argument("--top-k", type=int, help="experts that a token takes (default: 2)")
    grid = flags.add_argument_group("grid", "DP x TP x PP x CP processes")
    grid.add_argument("--dp", type=int, default=1, help="data-parallel size")
    grid.add_argument("--tp", type=int, default=1, help="tensor-parallel size")
    grid.add_argument("--pp", type=int, default=1, help="pipeline-parallel size")
    grid.add_argument("--cp", type=int, default=1, help="context-parallel size")
    grid.add_argument("--ep", type=int, default=1, help="expert-parallel size, of DP x CP")
    grid.add_argument("--schedule", choices=("1f1b", "gpipe"), default="1f1b", help="for PP > 1")
    grid.add_argument("--vpp", type=int, default=1, help="stages a rank, interleaved; with 1f1b")
    grid.add_argument("--sequence-parallel", action="store_true", help="with TP > 1")
    grid.add_argument("--zero", type=int, choices=range(4), default=0, help="ZeRO stage")
    grid.add_argument(
        "--overlap-grad-reduce", action="store_true", help="with the backward pass; ZeRO 0 or 1"
    )
    grid.add_argument(
        "--bucket-size", type=int, default=40_000_000, help="gradients reduced at once, in overlap"
    )
    step = flags.add_argument_group("step")
    step.add_argument("--mbs", type=int, default=1, help="micro batch in sequences, per replica")
    step.add_argument("--gbs", type=int, help="sequences of one step (default: MBS x DP x PP)")
    step.add_argument("--iters", type=int, default=10, help="steps")
    step.add_argument("--recompute", choices=("none", "full"), default="none", help="activations")
    step.add_argument("--dtype", choices=("fp32", "bf16"), default="fp32", help="of the products")
    step.add_argument(
        "--params-dtype", choices=("fp32", "bf16"), default="fp32",
        help="of parameters and activations; the optimizer keeps fp32",
    )  # fmt: skip
    step.add_argument("--compile", action="store_true", help="layers by torch.compile")
    step.add_argument(
        "--attention", choices=("auto", "flash", "efficient", "cudnn", "math"), default="auto",
        help="kernel of scaled_dot_product_attention",
    )  # fmt: skip
    step.add_argument("--lr", type=float, default=1e-3, help="learning rate, constant")
    step.add_argument("--weight-decay", type=float, default=0.1, help="of matrices, not vectors")
    step.add_argument("--clip-grad", type=float, default=1.0, help="largest norm; 0 for no limit")
    step.add_argument("--seed", type=int, default=1234, help="of parameters and samples")
    where = flags.add_argument_group("machine")
    where.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="where")
    where.add_argument("--threads", type=int, help="per process (default: OMP_NUM_THREADS)")
    return flags


def parse(words: Sequence[str]) -> Options:
    """Parse flags; ends the program with the numbers if they do not fit together."""
    flags = parser()
    given = flags.parse_args(words)
    try:
        return options(given)
    except ValueError as error:  # GridError is one
        flags.error(str(error))


def allow_kernel(kernel: str, device: str, dtype: str) -> None:
    """Refuse an attention kernel that the device lacks; only a rank knows its "auto" device.

    Processors have a flash kernel, too, for any dtype.
    """
    if device == "cpu" and kernel in ("efficient", "cudnn"):
        raise GridError(f"--attention {kernel} needs a GPU; processors have flash and math")
    if device == "cuda" and kernel in ("flash", "cudnn") and dtype == "fp32":
        raise GridError(f"--attention {kernel} on a GPU needs --dtype bf16")


def options(namespace: argparse.Namespace) -> Options:
    """Parsed flags, checked against each other."""
    shape, changes = shaped(namespace.preset, {name: getattr(namespace, name) for name in SIZES})
    grid = Grid(namespace.dp, namespace.tp, namespace.pp, namespace.cp, namespace.ep, namespace.vpp)
    grid.fit(shape, namespace.sequence_parallel)
    grid.allow_zero(namespace.zero)
    gbs = namespace.mbs * grid.dp * grid.pp if namespace.gbs is None else namespace.gbs
    schedule = namespace.schedule if grid.pp > 1 else "none"
    micro_batches = grid.micro_batches(gbs, namespace.mbs, schedule)
    for name in ("iters", "threads", "bucket_size"):
        if (count := getattr(namespace, name)) is not None and count < 1:
            raise GridError(f"{name} {count}: it is at least 1")
    for name in ("lr", "weight_decay", "clip_grad"):
        if not 0 <= getattr(namespace, name) < math.inf:  # NaN is neither
            raise GridError(f"{name} {getattr(namespace, name)}: it is a number of at least 0")
    if namespace.params_dtype == "bf16" != namespace.dtype:
        raise GridError("parameters in bf16 multiply in bf16: --dtype bf16")
    if namespace.overlap_grad_reduce and namespace.zero >= 2:
        raise GridError(
            f"ZeRO-{namespace.zero} reduces gradients within the backward pass by itself"
        )
    allow_kernel(namespace.attention, namespace.device, namespace.dtype)
    known: dict[str, Any] = {"changes": changes, "shape": shape, "grid": grid, "gbs": gbs}
    known |= {"micro_batches": micro_batches, "schedule": schedule}
    known |= {"overlap_grad_reduce": namespace.overlap_grad_reduce and grid.replicas > 1}
    as_given: dict[str, Any] = {
        field.name: getattr(namespace, field.name, None) for field in fields(Options)
    }
    return Options(**(as_given | known))
