"""Floating-point operations of one training step, as counted by Megatron-DeepSpeed and others.

For a mixture of experts, a token's active MLPs count, and the router does not, as in Megatron-LM.
"""

from __future__ import annotations

from .presets import Shape

_GPT = "{} B s L h^2 (1 + s/(6h) + V/(16Lh)) / (T x processes)"
_LLAMA = "6 B s ({} L (2h^2 + 2hk + {} + 2sh) + hV) / (T x processes)"


def as_printed(shape: Shape, recompute: str) -> str:
    """The formula of the log's TFLOPs as text; k is the total width of keys, f that of an MLP."""
    full = recompute == "full"
    if shape.is_llama:
        mlps = f"{shape.chosen} x 3hf" if shape.experts else "3hf"
        return _LLAMA.format("4/3" if full else 1, mlps)
    return _GPT.format(96 if full else 72)


def printed(shape: Shape, gbs: int, vocab: int, recompute: str) -> float:
    """Operations in the log's TFLOPs: for GPT-2, exactly Megatron-DeepSpeed's formula.

    arXiv 2104.04473, equation 3, as coded in bigscience-workshop/Megatron-DeepSpeed ae6277f5: with
    recomputation the forward pass counts twice. Without, the code keeps the term V/16, so the
    output layer counts 4.5 B s h V instead of 6, and small models are some percent too low.
    For a Llama it is `model`, with the layers' forward pass twice for recomputation.
    """
    if shape.is_llama:
        again = _layers(shape, gbs) / 3 if recompute == "full" else 0.0
        return model(shape, gbs, vocab) + again
    passes = 4 if recompute == "full" else 3
    s, layers, h = shape.seq_len, shape.layers, shape.hidden
    return 24 * passes * gbs * s * layers * h * h * (1 + s / (6 * h) + vocab / (16 * layers * h))


def model(shape: Shape, gbs: int, vocab: int) -> float:
    """Model FLOPs: no recomputation, full attention.

    Megatron-LM 2748e7c7 (`--log-throughput`): 72 B s L h^2 (1 + s/(6h) + V/(12Lh)), and since
    num_floating_point_operations also with fewer keys than heads and a gate in the MLP.
    """
    return _layers(shape, gbs) + 6 * gbs * shape.seq_len * shape.hidden * vocab


def _layers(shape: Shape, gbs: int) -> float:
    """Forward and backward (twice the forward) of all layers: two operations per weight and token,
    and two per pair of tokens and unit of scores and of values."""
    s, h = shape.seq_len, shape.hidden
    mlp = (3 if shape.is_llama else 2) * h * shape.ffn * shape.chosen
    weights = 2 * h * h + 2 * h * shape.kv * shape.head + mlp
    return 6.0 * gbs * s * shape.layers * (weights + 2 * s * h)


def causal(shape: Shape, gbs: int, vocab: int) -> float:
    """Model FLOPs with half of the attention, for causal masks.

    Megatron-LM since March 2025 (num_floating_point_operations).
    """
    s, layers, h = shape.seq_len, shape.layers, shape.hidden
    return model(shape, gbs, vocab) - 6 * gbs * layers * h * s * s
